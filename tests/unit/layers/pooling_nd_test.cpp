// Pooling over any number of axes, and stochastic pooling.
#include <cmath>
#include <limits>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields, const std::string& rest = "",
                  const std::string& tops = R"(top: "y")") {
  return R"(name: "pool" type: "Pooling" bottom: "x" )" + tops + " pooling_param { " + fields +
         " } " + rest;
}
const char* const kTwoTops = R"(top: "y" top: "mask")";

TEST(PoolingNd, IsPlanarPoolingForTwoAxes) {
  // A third axis of size 1 takes the general loops; the planar ones must agree.
  const Blob flat = spread({2, 3, 5, 8}), deep = {{2, 3, 5, 8, 1}, flat.values};
  for (const char* pool : {"MAX", "AVE"}) {
    for (const auto& [planar, general] : std::vector<std::pair<std::string, std::string>>{
             {"kernel_size: 3 stride: 2",
              "kernel_size_3d: 3 kernel_size_3d: 3 kernel_size_3d: 1 stride_3d: 2 stride_3d: 2 "
              "stride_3d: 1"},
             {"kernel_size: 3 stride: 2 pad: 1",
              "kernel_size_3d: 3 kernel_size_3d: 3 kernel_size_3d: 1 stride_3d: 2 stride_3d: 2 "
              "stride_3d: 1 pad_3d: 1 pad_3d: 1 pad_3d: 0"},
             {"kernel_h: 4 kernel_w: 2 stride: 3 pad_h: 2 pad_w: 1 round_mode: FLOOR",
              "kernel_size_3d: 4 kernel_size_3d: 2 kernel_size_3d: 1 stride_3d: 3 pad_3d: 2 "
              "pad_3d: 1 pad_3d: 0 round_mode: FLOOR"}}) {
      SCOPED_TRACE(general);
      const std::string method = std::string("pool: ") + pool + " ";
      const bool max = method == "pool: MAX ";
      const char* const tops = max ? kTwoTops : R"(top: "y")";
      const auto one = make(layer(method + planar, "", tops));
      const auto other = make(layer(method + general, "", tops));
      Blob dy = spread(one->infer({flat.shape}).tops[0]);
      const Result expected = run(*one, {flat}, {}, {dy});
      std::vector<std::int64_t> dims(dy.shape.dims().begin(), dy.shape.dims().end());
      dims.push_back(1);
      dy.shape = Shape(dims);
      const Result got = run(*other, {deep}, {}, {dy});
      EXPECT_EQ(got.tops[0].shape, dy.shape);
      expect_near(got.tops[0], {dy.shape, expected.tops[0].values}, 1e-6, "y");
      expect_near(got.bottom_gradients[0], {deep.shape, expected.bottom_gradients[0].values}, 1e-6,
                  "dx");
      if (max) {
        EXPECT_EQ(got.tops[1].values, expected.tops[1].values);
      }
    }
  }
}

TEST(PoolingNd, FourAxesTakeThePlanarLoops) {
  const Blob image = spread({2, 3, 6, 6});
  const Result planar = run(*make(layer("kernel_size: 2 stride: 2")), {image}, {}, {});
  const Result general = run(*make(layer("kernel_size_3d: 2 stride_3d: 2")), {image}, {}, {});
  EXPECT_EQ(planar.tops[0].values, general.tops[0].values);
  EXPECT_EQ(planar.engine, general.engine);
}

TEST(PoolingNd, ByHand) {
  const Result max = run(*make(layer("kernel_size_3d: 2 stride_3d: 2", "", kTwoTops)),
                         {blob({1, 1, 5}, {1, 2, 4, 4, 3})}, {}, {blob({1, 1, 3}, {1, 2, 3})});
  EXPECT_THAT(max.tops[0].values, testing::ElementsAre(2, 4, 3));
  EXPECT_THAT(max.tops[1].values, testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(max.bottom_gradients[0].values, testing::ElementsAre(0, 1, 2, 0, 3));
  // Padding counts in the divisor, but not past in + pad.
  const Result average = run(*make(layer("pool: AVE kernel_size_3d: 3 stride_3d: 2 pad_3d: 1")),
                             {blob({1, 1, 4}, {1, 2, 3, 4})}, {}, {blob({1, 1, 3}, {3, 3, 2})});
  expect_near(average.tops[0], blob({1, 1, 3}, {1, 3, 2}), 1e-6, "y");
  expect_near(average.bottom_gradients[0], blob({1, 1, 4}, {1, 2, 1, 2}), 1e-6, "dx");
}

TEST(PoolingNd, Grid) {
  for (const char* pool : {"MAX", "AVE"}) {
    const std::string method = std::string("pool: ") + pool + " ";
    check_layer(layer(method + "kernel_size_3d: 3 stride_3d: 2 pad_3d: 1"), {spread({2, 2, 9})}, {},
                2e-3, 5e-3);
    check_layer(layer(method + "kernel_size_3d: 2 stride_3d: 2"), {spread({1, 2, 3, 4, 5})}, {},
                2e-3, 5e-3);
    check_layer(layer(method + "kernel_size_3d: 2 kernel_size_3d: 1 kernel_size_3d: 3 "
                               "kernel_size_3d: 2 pad_3d: 1 pad_3d: 0 pad_3d: 2 pad_3d: 0"),
                {spread({1, 1, 2, 3, 3, 2})}, {}, 2e-3, 5e-3);
  }
  check_layer(layer("kernel_size_3d: 2", "", kTwoTops), {spread({2, 2, 3, 3, 3})}, {}, 0);
  EXPECT_EQ(make(layer("kernel_size_3d: 2"))->infer({{0, 2, 3, 3, 3}}).tops[0],
            Shape({0, 2, 2, 2, 2}));
}

TEST(PoolingNd, NanWinsNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Result result = run(*make(layer("kernel_size_3d: 2 stride_3d: 2", "", kTwoTops)),
                            {blob({1, 1, 4}, {nan, 1, nan, nan})}, {}, {blob({1, 1, 2}, {1, 2})});
  EXPECT_THAT(result.tops[1].values, testing::ElementsAre(1, -1));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(0, 1, 0, 0));
}

TEST(PoolingNd, Errors) {
  const auto error = [](const std::string& fields) {
    return infer_error(layer(fields), {{2, 3, 4, 5, 6}});
  };
  EXPECT_EQ(error("kernel_size_3d: 2 kernel_size_3d: 2"),
            "pooling_param.kernel_size_3d is given 2 times for 3 spatial axes; give it once or "
            "once an axis");
  EXPECT_EQ(error("kernel_size_3d: 0"), "pooling_param.kernel_size_3d is 0, it must be at least 1");
  EXPECT_EQ(error("kernel_size_3d: 2 stride_3d: 0"),
            "pooling_param.stride_3d is 0, it must be at least 1");
  EXPECT_EQ(error("kernel_size_3d: 2 pad_3d: 2"),
            "pooling_param.pad_3d 2 is not smaller than the kernel 2");
  EXPECT_EQ(error("kernel_size_3d: 2 stride: 2"),
            "pooling_param.kernel_size_3d, stride_3d and pad_3d stand in place of kernel_size, "
            "stride, pad and their _h and _w forms; give one kind only");
  EXPECT_EQ(error("stride_3d: 2"), "pooling_param.kernel_size_3d is missing");
  EXPECT_EQ(error("kernel_size_3d: 2 global_pooling: true"),
            "pooling_param.global_pooling is for 4 axes, without _3d fields");
  EXPECT_EQ(error("kernel_size_3d: 5"),
            "the kernel 5 is larger than the padded input: axis 2 of size 4, pad 0 on both sides");
  EXPECT_EQ(
      error("kernel_size_3d: 1 stride_3d: 4"),
      "the last window lies outside of the image: it starts at 4 of axis 2 of size 4 (stride 4 is "
      "larger than the kernel 1); use round_mode: FLOOR");
  EXPECT_EQ(infer_error(layer("kernel_size_3d: 1"), {{2, 3}}),
            "the bottom must have 3 axes or more (N x C x spatial), not 2 (2x3)");
  EXPECT_EQ(infer_error(layer("kernel_size_3d: 1"), {{0, 1, 1 << 16, 1 << 15, 1}}),
            "an image of 2^31 elements or more is too large (0x1x65536x32768x1)");
}

TEST(StochasticPooling, DrawsByProbability) {
  // One window of 1, 2, 0 and 5: drawn with probability 1/8, 1/4, 0 and 5/8.
  const int count = 4000;
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.insert(values.end(), {1, 2, 0, 5});
  const auto made = make(layer("pool: STOCHASTIC kernel_size: 2"));
  const Result result = run(*made, {blob({count, 1, 2, 2}, values)}, {},
                            {blob({count, 1, 1, 1}, std::vector<float>(count, 1.0f))});
  double drawn[6] = {};
  for (const float y : result.tops[0].values) {
    ASSERT_TRUE(y == 1 || y == 2 || y == 5) << y;
    drawn[static_cast<int>(y)] += 1.0 / count;
  }
  EXPECT_NEAR(drawn[1], 0.125, 0.02);
  EXPECT_NEAR(drawn[2], 0.25, 0.025);
  EXPECT_NEAR(drawn[5], 0.625, 0.03);
  // The gradient goes to what was drawn.
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<std::size_t>(4 * i);
    float sum = 0, chosen = 0;
    for (std::size_t k = first; k < first + 4; ++k) {
      sum += result.bottom_gradients[0].values[k];
      chosen += result.bottom_gradients[0].values[k] * values[k];
    }
    ASSERT_EQ(sum, 1);
    ASSERT_EQ(chosen, result.tops[0].values[static_cast<std::size_t>(i)]);
  }
  RunOptions options;
  options.backward = false;
  options.pass = 1;
  EXPECT_NE(run(*made, {blob({count, 1, 2, 2}, values)}, {}, {}, options).tops[0].values,
            result.tops[0].values);
  options.pass = 0;
  options.threads = 3;
  EXPECT_EQ(run(*made, {blob({count, 1, 2, 2}, values)}, {}, {}, options).tops[0].values,
            result.tops[0].values);
}

TEST(StochasticPooling, Grid) {
  // What is drawn may change with the input, so that finite differences are for TEST alone.
  for (const char* fields : {"kernel_size: 3 stride: 2", "kernel_size: 3 stride: 2 pad: 1",
                             "global_pooling: true", "kernel_size_3d: 2"}) {
    const std::string text = std::string("pool: STOCHASTIC ") + fields;
    check_layer(layer(text), {spread({2, 3, 5, 8}, 0, 1)}, {}, 0);
    check_layer(layer(text, "phase: TEST"), {spread({2, 3, 5, 8}, 0.2f, 1)}, {}, 2e-3, 5e-3);
  }
  check_layer(layer("pool: STOCHASTIC kernel_size_3d: 2", "phase: TEST"),
              {spread({2, 2, 3, 4, 3}, 0.2f, 1)}, {}, 2e-3, 5e-3);
}

TEST(StochasticPooling, TestIsTheMean) {
  const auto made = make(layer("pool: STOCHASTIC kernel_size: 2 stride: 2", "phase: TEST"));
  const Result result =
      run(*made, {blob({1, 1, 2, 4}, {1, 2, 0, 0, 0, 5, 0, 0})}, {}, {blob({1, 1, 1, 2}, {8, 1})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(30.0f / 8, 0));
  // (2x - y) dy / sum
  expect_near(result.bottom_gradients[0],
              blob({1, 1, 2, 4}, {-1.75f, 0.25f, 0, 0, -3.75f, 6.25f, 0, 0}), 1e-5, "dx");
}

TEST(StochasticPooling, ZerosAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Result result =
      run(*make(layer("pool: STOCHASTIC kernel_size: 2 stride: 2")),
          {blob({1, 1, 2, 4}, {0, 0, 1, nan, 0, 0, 1, 1})}, {}, {blob({1, 1, 1, 2}, {1, 1})});
  EXPECT_EQ(result.tops[0].values[0], 0);
  EXPECT_TRUE(std::isnan(result.tops[0].values[1]));
}

TEST(StochasticPooling, Errors) {
  EXPECT_EQ(infer_error(layer("pool: STOCHASTIC kernel_size: 2", "", kTwoTops), {{2, 4, 5, 5}}),
            "a second top (the index of the maximum) is for MAX pooling only");
}

}  // namespace
}  // namespace crema::test
