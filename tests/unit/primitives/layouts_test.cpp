#include "primitives/layouts.h"

#include "primitives/convolution.h"
#include "support.h"

namespace crema {
namespace {

using testing::Blob;
using testing::random_values;

TEST(Layouts, ChannelsLastIsPlainWhereTheMemoryIsTheSame) {
  EXPECT_TRUE(channels_last({4, 1, 5, 5}).is_plain());
  EXPECT_TRUE(channels_last({4, 7, 1, 1}).is_plain());
  EXPECT_TRUE(channels_last({4, 7}).is_plain());
  EXPECT_TRUE(channels_last({0, 7, 2, 2}).is_plain());
  EXPECT_TRUE(channels_last({2, 3, 2, 2, 2, 2}).is_plain());
  EXPECT_TRUE(is_channels_last(channels_last({4, 7, 3})));
  EXPECT_TRUE(is_channels_last(channels_last({4, 7, 3, 2})));
  EXPECT_TRUE(is_channels_last(channels_last({4, 7, 3, 2, 2})));
  EXPECT_FALSE(is_channels_last(Layout()));
  EXPECT_TRUE(channels_last_weights(10, {4, 7, 1, 1}).is_plain());
  EXPECT_FALSE(is_channels_last(channels_last_weights(10, {4, 7, 2, 1})));
}

TEST(Layouts, Compare) {
  EXPECT_EQ(channels_last({4, 7, 3, 2}), channels_last({4, 7, 3, 2}));
  EXPECT_FALSE(channels_last({4, 7, 3, 2}) == channels_last({4, 7, 3, 3}));
  EXPECT_FALSE(channels_last({4, 7, 3, 2}) == channels_last_weights(4, {1, 7, 3, 2}));
  EXPECT_FALSE(channels_last({4, 7, 3, 2}) == Layout());
  EXPECT_EQ(channels_last({4, 7, 3, 2}).name(), "channels-last");
  EXPECT_EQ(channels_last_weights(4, {1, 7, 3, 2}).name(), "channels-last weights");
}

TEST(Layouts, ChannelsLastOrder) {
  const auto device = make_cpu_device(1);
  const Blob blob(*device, {1, 2, 1, 3}, channels_last({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(blob.raw(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Layouts, WeightsFollowChannelsLastInput) {
  // y = W x must not change when both are permuted.
  const auto device = make_cpu_device(1);
  const Shape bottom{1, 5, 3, 2};
  const auto x = random_values(30, 1);
  const auto w = random_values(4 * 30, 2);
  const Blob last(*device, bottom, channels_last(bottom), x);
  const Blob weights(*device, {4, 30}, channels_last_weights(4, bottom), w);
  for (std::size_t o = 0; o < 4; ++o) {
    double plain = 0, permuted = 0;
    for (std::size_t i = 0; i < 30; ++i) {
      plain += static_cast<double>(x[i] * w[o * 30 + i]);
      permuted += static_cast<double>(last.raw()[i] * weights.raw()[o * 30 + i]);
    }
    EXPECT_NEAR(plain, permuted, 1e-5);
  }
}

TEST(Layouts, RoundTrips) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 5, 4}, Shape{1, 17, 3, 2, 5},
                               Shape{3, 96, 27, 27}, Shape{1, 2, 1, 2}, Shape{5, 1, 3, 3}}) {
      const auto values = random_values(shape.count(), 3);
      const Blob blob(*device, shape, channels_last(shape), values);
      EXPECT_EQ(blob.plain(), values) << shape.str();
      const Blob copy(*device, shape, channels_last(shape));
      reorder(blob.tensor(), copy.tensor());
      EXPECT_EQ(copy.raw(), blob.raw());
    }
  }
}

TEST(Layouts, PackedWeightsRoundTripAndTheirPaddingIsZero) {
  if (!testing::onednn_is_fast()) GTEST_SKIP() << "oneDNN runs im2col on this processor";
  const auto device = make_cpu_device(2);
  for (const std::int64_t groups : {1, 2}) {
    ConvolutionShape s;
    s.batch = 2;
    s.in_channels = 20 * groups;
    s.out_channels = 50 * groups;
    s.groups = groups;
    s.in = {12, 12};
    s.out = {8, 8};
    s.kernel = {5, 5};
    s.stride = s.dilation = {1, 1};
    s.pad = {0, 0};
    const Layout packed = convolution_layouts(*device, s).front().weights;
    ASSERT_FALSE(packed.is_plain());
    EXPECT_EQ(packed.name().substr(0, 7), "onednn ");
    const auto values = random_values(s.weights().count(), 4, 1, 2);
    Blob blob(*device, s.weights(), packed, values);
    EXPECT_EQ(blob.plain(), values);
    const auto zeros = packed.elements(s.weights()) - s.weights().count();
    const auto raw = blob.raw();
    EXPECT_EQ(std::count(raw.begin(), raw.end(), 0.0f), zeros);
    // Also over memory that held something else.
    blob.fill(NAN);
    const Blob plain(*device, s.weights(), Layout(), values);
    reorder(plain.tensor(), blob.tensor());
    EXPECT_EQ(blob.raw(), raw);
  }
}

}  // namespace
}  // namespace crema
