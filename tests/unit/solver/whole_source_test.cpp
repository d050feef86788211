// Tests that cover each record of their source once.
#include "solver/whole_source.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "data/batch_reader.h"
#include "solver/score_sums.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(WholeSourceTest, WhatAsksForIt) {
  const auto who = [](const std::string& text) { return tests_whole_sources(solver_of(text)); };
  EXPECT_EQ(who("test_all: true"), "test_all");
  EXPECT_EQ(who("test_all: true test_iter: 3 test_epochs: 1"), "test_all");
  EXPECT_EQ(who("test_epochs: 1"), "test_epochs without test_iter");
  EXPECT_EQ(who("test_epochs: 1 test_iter: 3"), "");
  EXPECT_EQ(who("test_interval: 3 test_iter: 3"), "");
}

class WholeSource23 : public ::testing::Test {
 protected:
  /// Scores that are means over other things than records: labels that are not ignored, the items
  /// of a class, pixels.
  std::string scores(const std::string& rows, int batch, bool shuffle = false) const {
    return R"(layer { name: "data" type: "HDF5Data" top: "data" top: "label" hdf5_data_param { )" +
           fmt::format("source: \"{}\" batch_size: {} shuffle: {} }} }}", rows, batch, shuffle) +
           R"(
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
              inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
      layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
              top: "classes" accuracy_param { ignore_label: 1 } }
      layer { name: "valid" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "valid"
              loss_param { ignore_label: 1 } loss_weight: 0.5 }
      layer { name: "full" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "full"
              loss_param { ignore_label: 1 normalization: FULL } }
      layer { name: "batch" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "batch"
              loss_param { ignore_label: 1 normalization: BATCH_SIZE } }
      layer { name: "one" type: "Slice" bottom: "ip" top: "x" top: "rest"
              slice_param { slice_point: 1 } }
      layer { name: "quiet" type: "Silence" bottom: "rest" }
      layer { name: "sigmoid" type: "SigmoidCrossEntropyLoss" bottom: "x" bottom: "label"
              top: "sigmoid" loss_param { ignore_label: 2 normalization: VALID } })";
  }

  std::unique_ptr<Net> net(int batch, bool shuffle = false) {
    NetOptions options;
    options.state.set_phase(caffe::TEST);
    options.seed = 4;
    return std::make_unique<Net>(parse_net(scores(rows_, batch, shuffle), "net.prototxt"), *device_,
                                 options);
  }

  Scratch scratch_;
  const std::string rows_ = make_rows(scratch_);
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(WholeSource23, ScoresAreThoseOfOneBatchOfAllRecords) {
  const auto one = net(23);
  const float loss = one->forward();
  const std::vector<OutputValue> expected = outputs_of(*one);
  ASSERT_EQ(expected.size(), 6u);
  for (const int batch : {1, 2, 5, 22, 23, 100}) {
    const auto net = this->net(batch);
    ScoreSums sums;
    std::vector<int> sizes;
    for (WholePass pass(*net, "test"); pass.next();) {
      sums.add_records(*net, net->forward(), pass.records());
      sizes.push_back(pass.records());
    }
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), 23);
    const std::vector<OutputValue> means = sums.mean();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(means[i].name, expected[i].name);
      for (std::size_t j = 0; j < expected[i].values.size(); ++j) {
        EXPECT_NEAR(means[i].values[j], expected[i].values[j], 1e-6)
            << expected[i].name << " in batches of " << batch;
      }
    }
    EXPECT_NEAR(sums.mean_loss(), loss, 2e-6) << batch;
  }
}

TEST_F(WholeSource23, WithTestIterBatchesCountTheSameAsInCaffe) {
  const auto net = this->net(5);
  ScoreSums sums;
  std::map<std::string, double> plain;
  for (int i = 0; i < 4; ++i) {
    sums.add_batch(*net, net->forward());
    for (const OutputValue& output : outputs_of(*net)) plain[output.name] += output.values[0] / 4;
  }
  for (const OutputValue& mean : sums.mean()) {
    EXPECT_NEAR(mean.values[0], plain[mean.name], 1e-6) << mean.name;
  }
}

TEST_F(WholeSource23, NothingCountedIsZero) {
  // One batch of the one record whose label is ignored.
  const auto net = this->net(1);
  while (true) {
    net->forward();
    if (net->mean_over("accuracy") == std::vector<double>{0}) break;
  }
  ScoreSums sums;
  sums.add_records(*net, 0, 1);
  EXPECT_THAT(sums.mean()[0].values, ElementsAre(0));
  EXPECT_THAT(net->mean_over("classes"), ElementsAre(0, 0, 0));
  EXPECT_THAT(net->mean_over("full"), ElementsAre(1));
}

TEST_F(WholeSource23, BeginsWithAnEpoch) {
  // In another order every epoch, half an epoch would cover some rows twice.
  const auto net = this->net(4, true);
  for (int i = 0; i < 3; ++i) net->forward();
  ASSERT_EQ(net->readers()[0].second->position(), 12u);
  std::map<std::string, int> seen;
  for (WholePass pass(*net, "test"); pass.next();) {
    net->forward();
    for (int i = 0; i < pass.records(); ++i) ++seen[net->readers()[0].second->describe(i)];
  }
  EXPECT_EQ(seen.size(), 23u);
  EXPECT_EQ(net->readers()[0].second->position(), 46u);
  EXPECT_EQ(net->shape("ip")[0], 4);
}

TEST_F(WholeSource23, LeavingInTheMiddleRestoresTheBatch) {
  const auto net = this->net(20);
  for (WholePass pass(*net, "test"); pass.next();) {
    net->forward();
    if (pass.records() == 3) break;
  }
  EXPECT_EQ(net->readers()[0].second->batch_size(), 20);
}

class TestAll : public ::testing::Test {
 protected:
  std::unique_ptr<Solver> solver(const std::string& text) {
    SolverOptions options;
    options.listeners = {&recorder_};
    return std::make_unique<Solver>(
        solver_of("base_lr: 0.1 lr_policy: \"fixed\" random_seed: 1 snapshot_after_train: false "
                  "test_all: true test_interval: 2 max_iter: 4 " +
                  text),
        *device_, options);
  }

  Scratch scratch_;
  const std::string rows_ = make_rows(scratch_);
  Recorder recorder_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

TEST_F(TestAll, WhateverTestIterSays) {
  std::vector<std::vector<float>> scores;
  for (const char* iterations : {"", "test_iter: 1", "test_iter: 50"}) {
    recorder_.tests.clear();
    const auto run =
        solver("net_param { " + classifier(rows_) + " } test_compute_loss: true " + iterations);
    run->solve();
    ASSERT_EQ(recorder_.tests.size(), 3u);
    // The last scores by hand: 23 batches of one row.
    Net& net = run->test_net(0);
    net.set_batch(1);
    double accuracy = 0, loss = 0;
    for (int i = 0; i < 23; ++i) {
      loss += net.forward();
      accuracy += net.read_blob("accuracy")[0];
    }
    const TestScores& last = recorder_.tests.back();
    EXPECT_NEAR(last.outputs[0].values[0], accuracy / 23, 1e-6);
    EXPECT_NEAR(last.outputs[1].values[0], loss / 23, 1e-6);
    EXPECT_NEAR(*last.loss, loss / 23, 1e-6);
    scores.push_back({last.outputs[0].values[0], last.outputs[1].values[0]});
  }
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_EQ(scores[0], scores[2]);
}

TEST_F(TestAll, EveryTestNetNeedsASource) {
  const std::string made_up = R"(
      layer { name: "data" type: "DummyData" top: "data" top: "label"
              dummy_data_param { shape { dim: 2 dim: 6 } shape { dim: 2 } } })";
  const std::string tail =
      classifier(rows_).substr(classifier(rows_).find("layer { name: \"ip1\""));
  EXPECT_EQ(solver_error([&] {
              solver("net_param { " + classifier(rows_) + " } test_net_param { " +
                     classifier(rows_) + " } test_net_param { " + made_up + tail + " }");
            }),
            "test net #1: test_all needs a net with a data layer; this one has none");
}

TEST_F(TestAll, ItsDataLayersMustAgree) {
  const auto layer = [&](const std::string& top, int batch) {
    return fmt::format(
        "layer {{ name: \"{0}\" type: \"HDF5Data\" top: \"{0}\" hdf5_data_param {{ source: "
        "\"{1}\" batch_size: {2} }} }}",
        top, rows_, batch);
  };
  EXPECT_EQ(solver_error([&] {
              solver("net_param { " + classifier(rows_) + " } test_net_param { " +
                     layer("data", 5) + layer("label", 4) + " }");
            }),
            "test net #0: test_all: layers \"data\" and \"label\" read 23 and 23 records in "
            "batches of 5 and 4; they must agree");
}

}  // namespace
}  // namespace crema
