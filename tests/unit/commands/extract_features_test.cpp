#include "commands/extract_features.h"

#include <gmock/gmock.h>

#include "../data/fixtures.h"
#include "data/lmdb.h"
#include "net/net.h"
#include "proto/io.h"
#include "proto/weights.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class ExtractFeatures : public ::testing::Test {
 protected:
  ExtractFeatures() : there_(folder_.path()) {
    testing::Records records;
    for (int i = 0; i < 5; ++i) {
      records.emplace_back(fmt::format("{}", i),
                           testing::byte_datum(1, 2, 1, 2 * i, i).SerializeAsString());
    }
    testing::make_lmdb("data", records);
    testing::write_file(
        "net.prototxt",
        "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { source: 'data' "
        "batch_size: 2 backend: LMDB } }\n"
        "layer { name: 'f' type: 'InnerProduct' bottom: 'data' top: 'f' inner_product_param { "
        "num_output: 2 weight_filler { value: 1 } } }\n"
        "layer { name: 'r' type: 'ReLU' bottom: 'f' top: 'f' }\n");
    const std::unique_ptr<Device> device = make_cpu_device(1);
    NetOptions net_options;
    net_options.state.set_phase(caffe::TEST);
    const Net net(read_net("net.prototxt"), *device, net_options);
    write_weights(net.to_proto(), "w.caffemodel", WeightFormat::kBinary);
    options_.weights = "w.caffemodel";
    options_.model = "net.prototxt";
    options_.blobs = {"f", "data"};
    options_.databases = {"f_db", "data_db"};
    options_.batches = 2;
    options_.device.threads = 1;
  }

  static std::vector<std::vector<float>> rows(const std::string& path) {
    std::vector<std::vector<float>> rows;
    LmdbReader reader(path);
    while (reader.next()) {
      EXPECT_EQ(reader.key(), fmt::format("{:010}", rows.size()));
      caffe::Datum datum;
      EXPECT_TRUE(datum.ParseFromString(std::string(reader.value())));
      EXPECT_EQ(datum.channels() * datum.height() * datum.width(), datum.float_data_size());
      rows.emplace_back(datum.float_data().begin(), datum.float_data().end());
    }
    return rows;
  }

  std::string failure() {
    const std::string text = error_of([&] { extract_features(options_); });
    for (const std::string& path : options_.databases) {
      EXPECT_FALSE(boost::filesystem::exists(path));
    }
    return text;
  }

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  ExtractFeaturesOptions options_;
};

TEST_F(ExtractFeatures, OneRecordAnItem) {
  EXPECT_EQ(extract_features(options_), 0);
  EXPECT_THAT(rows("f_db"), ElementsAre(ElementsAre(1, 1), ElementsAre(5, 5), ElementsAre(9, 9),
                                        ElementsAre(13, 13)));
  EXPECT_THAT(rows("data_db"), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5),
                                           ElementsAre(6, 7)));
}

TEST_F(ExtractFeatures, AllMeansEachRecordOnce) {
  options_.batches = 0;
  EXPECT_EQ(extract_features(options_), 0);
  EXPECT_EQ(rows("f_db").size(), 5u);
  EXPECT_THAT(rows("data_db").back(), ElementsAre(8, 9));
}

TEST_F(ExtractFeatures, Errors) {
  options_.blobs[1] = "dta";
  EXPECT_EQ(failure(), "the net has no blob \"dta\"; did you mean \"data\"?");
  options_.blobs[1] = "data";
  options_.databases[1] = "no/folder";
  EXPECT_THAT(failure(), HasSubstr("cannot create no/folder"));
  options_.databases[1] = "f_db";
  EXPECT_EQ(failure(), "two blobs have the same data base");
  options_.databases[1] = "data_db";
  options_.weights = "none.caffemodel";
  EXPECT_THAT(failure(), HasSubstr("none.caffemodel"));
}

}  // namespace
}  // namespace crema
