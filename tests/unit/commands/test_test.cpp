#include "commands/test.h"

#include <gmock/gmock.h>

#include <cmath>

#include "../base/log_lines.h"
#include "../data/fixtures.h"
#include "base/tool.h"
#include "data/batch_reader.h"
#include "proto/io.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// `records` records of one value each: 0, 1, 2, … The label says whether it is even.
void make_numbers(const std::string& path, int records) {
  testing::Records entries;
  for (int i = 0; i < records; ++i) {
    caffe::Datum datum;
    datum.set_channels(1);
    datum.set_height(1);
    datum.set_width(1);
    datum.add_float_data(static_cast<float>(i));
    datum.add_label(i % 2 == 0 ? 1 : 0);
    entries.emplace_back(fmt::format("{:08}", i), datum.SerializeAsString());
  }
  testing::make_lmdb(path, entries);
}

std::string data_layer(const std::string& name, const std::string& path, int batch) {
  return fmt::format(
      "layer {{ name: \"{0}\" type: \"Data\" top: \"{0}\" top: \"{0}_label\" data_param {{ source: "
      "\"{1}\" batch_size: {2} backend: LMDB }} }}\n",
      name, path, batch);
}

// Half of the mean square of value - label: a mean over the records of each batch.
const char* const kScore =
    "layer { name: \"f\" type: \"InnerProduct\" bottom: \"d\" top: \"f\" "
    "inner_product_param { num_output: 1 bias_term: false weight_filler { value: 1 } } }\n"
    "layer { name: \"score\" type: \"EuclideanLoss\" bottom: \"f\" bottom: \"d_label\" "
    "top: \"score\" }\n";

double expected_score(int records) {
  double sum = 0;
  for (int i = 0; i < records; ++i) sum += (i - (1 - i % 2)) * (i - (1 - i % 2)) / 2.0;
  return sum / records;
}

class ScoreTest : public ::testing::Test {
 protected:
  ScoreTest() { make_numbers(folder_ / "ten", 10); }

  std::unique_ptr<Net> net(const std::string& text) {
    NetOptions options;
    options.state.set_phase(caffe::TEST);
    return std::make_unique<Net>(parse_net(text, "net.prototxt"), *device_, options);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(ScoreTest, EveryRecordCountsOnceWhateverTheBatch) {
  for (const int batch : {1, 3, 4, 5, 10, 64}) {
    const auto net = this->net(data_layer("d", folder_ / "ten", batch) + kScore);
    const Scores scores = score_all_records(*net);
    EXPECT_EQ(scores.records, 10);
    ASSERT_EQ(scores.outputs.size(), 1u);
    EXPECT_EQ(scores.outputs[0].name, "score");
    EXPECT_NEAR(scores.outputs[0].values[0], expected_score(10), 1e-4) << batch;
    EXPECT_NEAR(scores.loss, expected_score(10), 1e-4) << batch;
    // The batch is what it was, for whoever goes on.
    EXPECT_EQ(net->shape("d")[0], batch);
    EXPECT_EQ(net->readers()[0].second->position(), 10u);
  }
}

TEST_F(ScoreTest, BatchesAreAveragedEqually) {
  const auto net = this->net(data_layer("d", folder_ / "ten", 5) + kScore);
  const Scores scores = score_batches(*net, 2);
  EXPECT_EQ(scores.records, 10);
  EXPECT_NEAR(scores.outputs[0].values[0], expected_score(10), 1e-4);
  // Around the end of the source as well.
  EXPECT_NEAR(score_batches(*net, 4).loss, expected_score(10), 1e-4);
}

TEST_F(ScoreTest, AllNeedsADataLayer) {
  const auto net = this->net(
      "layer { name: \"x\" type: \"Input\" top: \"x\" input_param { shape { dim: 1 } } }");
  EXPECT_EQ(error_of([&] { score_all_records(*net); }),
            "--all needs a net with a data layer; this one has none");
  EXPECT_EQ(score_batches(*net, 3).records, 0);
}

TEST_F(ScoreTest, AllNeedsSourcesOfOneLength) {
  make_numbers(folder_ / "seven", 7);
  const auto net =
      this->net(data_layer("d", folder_ / "ten", 4) + data_layer("e", folder_ / "seven", 4));
  EXPECT_EQ(error_of([&] { score_all_records(*net); }),
            "--all: layers \"d\" and \"e\" read 10 and 7 records in batches of 4 and 4; they must "
            "agree");
}

TEST_F(ScoreTest, OutputsThatGrowWithTheBatchHaveNoMean) {
  const auto net = this->net(data_layer("d", folder_ / "ten", 4));
  EXPECT_THAT(error_of([&] { score_all_records(*net); }), HasSubstr("so it has no mean"));
}

TEST(TestCommandTest, WantsAModelWithWeightsOrASolverWithASnapshot) {
  const auto refused = [](const TestOptions& options) {
    try {
      test(options);
    } catch (const UsageError&) {
      return true;
    }
    return false;
  };
  TestOptions options;
  EXPECT_TRUE(refused(options));
  options.model = "m";
  EXPECT_TRUE(refused(options));
  options.solver = "s";
  options.weights = "w";
  EXPECT_TRUE(refused(options));
  options.snapshot = "n";
  EXPECT_TRUE(refused(options));
  options.model = "";
  EXPECT_TRUE(refused(options));  // weights besides a snapshot
}

TEST_F(ScoreTest, BrokenWeightsAreScoredWithWarnings) {
  const std::string model = folder_ / "net.prototxt", weights = folder_ / "w.caffemodel";
  caffe::NetParameter net = parse_net(data_layer("d", folder_ / "ten", 5) + kScore, "n");
  write_text(net, model);
  caffe::LayerParameter& layer = *net.mutable_layer(1);
  layer.add_blobs()->mutable_shape()->add_dim(1);
  layer.mutable_blobs(0)->mutable_shape()->add_dim(1);
  layer.mutable_blobs(0)->add_data(std::nanf(""));
  write_binary(net, weights);
  TestOptions options;
  options.model = model;
  options.weights = weights;
  options.iterations = 1;
  options.device.threads = 1;
  const testing::LogLines log;
  EXPECT_EQ(test(options), 0);
  EXPECT_THAT(log.warnings,
              ElementsAre(weights + ": layer \"f\", blob 0: 1 of 1 values are NaN or infinite",
                          "\"score\" is not a finite number: it says nothing about the net"));
}

}  // namespace
}  // namespace crema
