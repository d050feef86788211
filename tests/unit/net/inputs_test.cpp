// Nets whose data change their size from batch to batch, and nets that a program feeds.
#include <gmock/gmock.h>

#include "../data/fixtures.h"
#include "data/batch_reader.h"
#include "net/net.h"
#include "proto/io.h"

namespace crema {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::noise;
using testing::TemporaryFolder;

class Inputs : public ::testing::Test {
 protected:
  std::unique_ptr<Net> net(const std::string& text, bool backward = false) {
    NetOptions options;
    options.state.set_phase(caffe::TRAIN);
    options.keep_all = true;
    options.backward = backward;
    return std::make_unique<Net>(parse_net(text, "net.prototxt"), *device_, options);
  }

  std::unique_ptr<Device> device_ = make_cpu_device(1);
};

class ImageSizes : public Inputs {
 protected:
  ImageSizes() : there_(folder_.path()) {
    for (int i = 0; i < 3; ++i) {
      images_.push_back(noise(3, 8 + i, 9 - i, static_cast<unsigned>(i)));
      testing::write_png(fmt::format("{}.png", i), images_.back());
    }
    testing::write_file("list", "0.png 0\n1.png 1\n2.png 2\n");
  }

  static constexpr const char* kData =
      "layer { name: 'd' type: 'ImageData' top: 'data' top: 'label' "
      "image_data_param { source: 'list' } }\n";

  TemporaryFolder folder_;
  testing::WorkingFolder there_;
  std::vector<Image> images_;
};

TEST_F(ImageSizes, TheNetFollows) {
  // The mean of each image by a global average, which takes any size.
  const auto net =
      this->net(std::string(kData) +
                    "layer { name: 'p' type: 'Pooling' bottom: 'data' top: 'pool' "
                    "pooling_param { pool: AVE global_pooling: true } }\n"
                    "layer { name: 'f' type: 'InnerProduct' bottom: 'pool' top: 'f' "
                    "inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }\n"
                    "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'f' bottom: 'label' "
                    "top: 'l' }\n",
                true);
  for (int pass = 0; pass < 7; ++pass) {
    const Image& image = images_[static_cast<std::size_t>(pass % 3)];
    net->clear_gradients();
    net->forward();
    net->backward();
    EXPECT_EQ(net->shape("data"), (Shape{1, 3, image.height, image.width}));
    EXPECT_EQ(net->read_blob("label")[0], static_cast<float>(pass % 3));
    const std::vector<float> data = net->read_blob("data");
    for (std::size_t i = 0; i < image.bytes.size(); ++i) ASSERT_EQ(data[i], image.bytes[i]);
    const std::vector<float> means = net->read_blob("pool");
    const std::size_t plane = image.bytes.size() / 3;
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < plane; ++i) sum += image.bytes[c * plane + i];
      EXPECT_NEAR(means[c], sum / static_cast<double>(plane), 1e-3);
    }
  }
}

TEST_F(ImageSizes, WhatCannotFollowIsAnErrorEveryTime) {
  const auto net = this->net(std::string(kData) +
                             "layer { name: 'f' type: 'InnerProduct' bottom: 'data' top: 'f' "
                             "inner_product_param { num_output: 3 } }\n");
  net->forward();
  net->forward();  // 9 x 8 instead of 8 x 9: as many values
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        error_of([&] { net->forward(); }),
        HasSubstr("for the next batch, whose images have another size (it begins with 2.png "
                  "(list:3)): net.prototxt:2: layer \"f\""));
  }
  // After the position is changed all is well again.
  net->readers()[0].second->seek(0);
  net->forward();
  EXPECT_EQ(net->read_blob("label")[0], 0);
}

TEST_F(Inputs, MemoryDataHoldsWhatWasWritten) {
  const auto net = this->net(
      "layer { name: 'm' type: 'MemoryData' top: 'data' top: 'label' memory_data_param { "
      "batch_size: 2 channels: 1 height: 1 width: 3 } }\n"
      "layer { name: 'f' type: 'InnerProduct' bottom: 'data' top: 'f' inner_product_param { "
      "num_output: 1 weight_filler { value: 1 } } }\n"
      "layer { name: 'l' type: 'EuclideanLoss' bottom: 'f' bottom: 'label' top: 'l' }\n");
  EXPECT_EQ(net->inputs(), (std::vector<std::string>{"data", "label"}));
  EXPECT_THAT(
      error_of([&] { net->forward(); }),
      HasSubstr("layer \"m\" (MemoryData): top \"data\" holds nothing: the program that runs "
                "the net has to write its values"));
  net->write_blob("data", {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error_of([&] { net->forward(); }), HasSubstr("top \"label\" holds nothing"));
  net->write_blob("label", {5, 17});
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(net->forward(), (1 + 4) / 4.0f);
  EXPECT_EQ(net->passes(), 2u);
  net->reshape({{"data", {1, 1, 1, 3}}, {"label", {1}}});
  EXPECT_THAT(error_of([&] { net->forward(); }), HasSubstr("holds nothing"));
  net->write_blob("data", {1, 2, 3});
  net->write_blob("label", {6});
  EXPECT_EQ(net->forward(), 0);
}

}  // namespace
}  // namespace crema
