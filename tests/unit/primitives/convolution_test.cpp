#include "primitives/convolution.h"

#include <gmock/gmock.h>

#include <thread>

#include "support.h"

namespace crema {
namespace {

using testing::Blob;
using testing::distance;
using testing::in_double;
using testing::inner;
using testing::random_values;

struct Case {
  std::string name;
  ConvolutionShape shape;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Sizes as Caffe computes them.
ConvolutionShape make(std::int64_t batch, std::int64_t in_channels, std::int64_t out_channels,
                      std::int64_t groups, std::vector<std::int64_t> in,
                      std::vector<std::int64_t> kernel, std::vector<std::int64_t> stride,
                      std::vector<std::int64_t> pad, std::vector<std::int64_t> dilation,
                      bool bias = true) {
  ConvolutionShape s;
  s.batch = batch;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.groups = groups;
  for (std::size_t i = 0; i < in.size(); ++i) {
    s.out.push_back((in[i] + 2 * pad[i] - (dilation[i] * (kernel[i] - 1) + 1)) / stride[i] + 1);
  }
  s.in = std::move(in);
  s.kernel = std::move(kernel);
  s.stride = std::move(stride);
  s.pad = std::move(pad);
  s.dilation = std::move(dilation);
  s.bias = bias;
  return s;
}

ConvolutionShape square(std::int64_t batch, std::int64_t in_channels, std::int64_t out_channels,
                        std::int64_t groups, std::int64_t in, std::int64_t kernel,
                        std::int64_t stride = 1, std::int64_t pad = 0, std::int64_t dilation = 1,
                        bool bias = true) {
  return make(batch, in_channels, out_channels, groups, {in, in}, {kernel, kernel},
              {stride, stride}, {pad, pad}, {dilation, dilation}, bias);
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"lenet1", square(3, 1, 20, 1, 28, 5)},
      {"lenet2", square(2, 20, 50, 1, 12, 5)},
      {"alexnet1", square(1, 3, 16, 1, 31, 11, 4)},
      {"alexnet2", square(2, 32, 64, 2, 9, 5, 1, 2)},
      {"no_bias", square(2, 16, 32, 1, 8, 3, 1, 1, 1, false)},
      {"pointwise", square(2, 24, 40, 1, 7, 1)},
      {"pointwise_strided", square(2, 24, 40, 1, 7, 1, 2)},
      {"pointwise_strided_few", square(2, 5, 9, 1, 7, 1, 2)},
      {"depthwise", square(2, 32, 32, 32, 10, 3, 1, 1)},
      {"depthwise_strided", square(2, 13, 13, 13, 11, 3, 2, 1)},
      {"depthwise_multiplied", square(2, 8, 16, 8, 9, 3, 1, 1)},
      {"groups_odd", square(2, 12, 20, 4, 9, 3, 1, 1)},
      {"dilated", square(2, 16, 16, 1, 14, 3, 1, 2, 2)},
      {"dilated_strided", square(2, 7, 11, 1, 15, 3, 2, 3, 3)},
      {"batch_one", square(1, 16, 16, 1, 13, 3, 1, 1)},
      {"one_channel_out", square(2, 6, 1, 1, 9, 3, 1, 1)},
      {"whole_image", square(2, 6, 10, 1, 5, 5)},
      {"kernel_beyond_image", square(2, 4, 6, 1, 3, 5, 3, 0)},
      {"rest_unseen", square(2, 4, 6, 1, 12, 3, 4, 0)},
      {"much_padding", square(2, 4, 6, 1, 4, 3, 1, 4)},
      {"rectangular", make(2, 5, 7, 1, {9, 12}, {3, 5}, {2, 1}, {0, 2}, {1, 2})},
      {"one_d", make(2, 6, 10, 1, {17}, {3}, {2}, {1}, {1})},
      {"three_d", make(2, 4, 6, 2, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2})},
      {"four_d",
       make(1, 3, 4, 1, {4, 3, 5, 4}, {2, 3, 2, 1}, {1, 1, 2, 1}, {0, 1, 1, 0}, {1, 1, 1, 1})},
      {"zero_d", make(3, 6, 4, 2, {}, {}, {}, {}, {})},
      {"empty_batch", square(0, 4, 6, 1, 5, 3)},
  };
  std::mt19937 engine(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  while (all.size() < 120) {
    const std::int64_t groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
    const std::int64_t kernel = pick(1, 5), stride = pick(1, 3), dilation = pick(1, 2);
    const std::int64_t pad = pick(0, 3), in = pick(3, 15);
    if (in + 2 * pad < dilation * (kernel - 1) + 1) continue;
    all.push_back({"random" + std::to_string(all.size()),
                   square(pick(1, 3), groups * pick(1, 20), groups * pick(1, 20), groups, in,
                          kernel, stride, pad, dilation, pick(0, 3) > 0)});
  }
  return all;
}

/// The reference in double, all passes.
struct Reference {
  Reference(const ConvolutionShape& s, unsigned seed)
      : x(random_values(s.bottom().count(), seed)),
        w(random_values(s.weights().count(), seed + 1)),
        b(random_values(s.out_channels, seed + 2)),
        dy(random_values(s.top().count(), seed + 3)) {
    const auto device = make_cpu_device(1);
    const auto dx_ = in_double(x), dw_ = in_double(w), db_ = in_double(b), ddy_ = in_double(dy);
    std::vector<double> columns(static_cast<std::size_t>(loop_columns(s)));
    y.resize(dy.size());
    dx.resize(x.size());
    dw.resize(w.size());
    db.resize(b.size());
    convolution_forward_loop(*device, s, dx_.data(), dw_.data(), s.bias ? db_.data() : nullptr,
                             y.data(), columns.data());
    convolution_backward_bottom_loop(*device, s, ddy_.data(), dw_.data(), dx.data(),
                                     columns.data());
    convolution_backward_params_loop(*device, s, dx_.data(), ddy_.data(), dw.data(), db.data(),
                                     columns.data());
  }
  std::vector<float> x, w, b, dy;
  std::vector<double> y, dx, dw, db;
};

/// The definition, position by position, 2-D.
std::vector<double> by_definition(const ConvolutionShape& s, const Reference& r) {
  std::vector<double> y;
  const std::int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t o = 0; o < s.out_channels; ++o) {
      for (std::int64_t p = 0; p < s.out[0]; ++p) {
        for (std::int64_t q = 0; q < s.out[1]; ++q) {
          double sum = s.bias ? static_cast<double>(r.b[static_cast<std::size_t>(o)]) : 0.0;
          for (std::int64_t c = 0; c < in_group; ++c) {
            for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
              for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
                const std::int64_t h = p * s.stride[0] - s.pad[0] + i * s.dilation[0];
                const std::int64_t w = q * s.stride[1] - s.pad[1] + j * s.dilation[1];
                if (h < 0 || h >= s.in[0] || w < 0 || w >= s.in[1]) continue;
                const std::int64_t channel = o / out_group * in_group + c;
                sum += static_cast<double>(r.w[static_cast<std::size_t>(
                           ((o * in_group + c) * s.kernel[0] + i) * s.kernel[1] + j)]) *
                       static_cast<double>(r.x[static_cast<std::size_t>(
                           ((n * s.in_channels + channel) * s.in[0] + h) * s.in[1] + w)]);
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

class ConvolutionTest : public ::testing::TestWithParam<Case> {};

TEST_P(ConvolutionTest, LoopIsTheDefinition) {
  const ConvolutionShape& s = GetParam().shape;
  const Reference r(s, 11);
  if (s.in.size() == 2) {
    EXPECT_LT(distance(r.y, by_definition(s, r)), 1e-12);
  }
  // y without bias is linear in x and in w, so that the gradients are its transposes.
  std::vector<double> y = r.y;
  const auto positions = static_cast<std::size_t>(Shape(s.out).count());
  double bias_part = 0;
  if (s.bias && !y.empty()) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float b = r.b[i / positions % static_cast<std::size_t>(s.out_channels)];
      y[i] -= static_cast<double>(b);
      bias_part += static_cast<double>(b) * static_cast<double>(r.dy[i]);
    }
    EXPECT_NEAR(inner(r.db, in_double(r.b)), bias_part, 1e-9);
  }
  const double value = inner(y, in_double(r.dy));
  EXPECT_NEAR(inner(r.dx, in_double(r.x)), value, 1e-9 * (1 + std::abs(value)));
  EXPECT_NEAR(inner(r.dw, in_double(r.w)), value, 1e-9 * (1 + std::abs(value)));
}

/// All passes of one plan.
struct Results {
  std::vector<float> y, dx, dw, db, dw_raw;
  std::string engine;
};

Results run(Device& device, const ConvolutionShape& s, const ConvolutionLayouts& layouts,
            const Layout& weights_layout, const Reference& r, bool accumulate) {
  ConvolutionPlan plan =
      plan_convolution(device, s, layouts.bottom, layouts.top, weights_layout, true, true);
  Convolution& convolution = *plan.convolution;
  const Shape bias_shape{s.out_channels};
  const Blob x(device, s.bottom(), layouts.bottom, r.x);
  const Blob w(device, s.weights(), weights_layout, r.w);
  const Blob b(device, bias_shape, Layout(), r.b);
  const Blob dy(device, s.top(), layouts.top, r.dy);
  const Blob y(device, s.top(), layouts.top);
  const Blob dx(device, s.bottom(), layouts.bottom);
  const Blob dw(device, s.weights(), weights_layout,
                std::vector<float>(r.w.size(), accumulate ? 2.0f : NAN));
  const Blob db(device, bias_shape, Layout(),
                std::vector<float>(r.b.size(), accumulate ? 3.0f : NAN));
  y.fill(NAN);
  dx.fill(NAN);
  // Scratch that is exactly as long as promised, with something behind it that must stay.
  const std::size_t bytes = convolution.scratch_bytes();
  Buffer scratch(device, bytes + 256);
  unsigned char* const guard = static_cast<unsigned char*>(scratch.data()) + bytes;
  std::fill(guard, guard + 256, 0xAB);
  convolution.forward(x.tensor(), w.tensor(), s.bias ? b.tensor() : Tensor(), y.tensor(),
                      scratch.data());
  convolution.backward_bottom(dy.tensor(), w.tensor(), dx.tensor(), scratch.data());
  convolution.backward_params(x.tensor(), dy.tensor(), dw.tensor(), s.bias ? db.tensor() : Tensor(),
                              accumulate, accumulate, scratch.data());
  EXPECT_TRUE(std::all_of(guard, guard + 256, [](unsigned char c) { return c == 0xAB; }));
  EXPECT_EQ(x.plain(), r.x);
  EXPECT_EQ(w.plain(), r.w);
  return {y.plain(), dx.plain(), dw.plain(), db.plain(), dw.raw(), convolution.engine()};
}

TEST_P(ConvolutionTest, EveryEngineIsTheLoop) {
  const ConvolutionShape& s = GetParam().shape;
  const Reference r(s, 23);
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    const std::vector<ConvolutionLayouts> choices = convolution_layouts(*device, s);
    ASSERT_FALSE(choices.empty());
    EXPECT_TRUE(choices.back().bottom.is_plain() && choices.back().top.is_plain() &&
                choices.back().weights.is_plain());
    for (const ConvolutionLayouts& layouts : choices) {
      for (const Layout& weights : {layouts.weights, Layout(), choices.front().weights}) {
        for (const bool accumulate : {false, true}) {
          const Results got = run(*device, s, layouts, weights, r, accumulate);
          SCOPED_TRACE(got.engine + ", weights " + weights.name());
          EXPECT_LT(distance(got.y, r.y), 1e-5);
          EXPECT_LT(distance(got.dx, r.dx), 1e-5);
          std::vector<double> dw = r.dw, db = r.db;
          if (accumulate) {
            for (double& value : dw) value += 2;
            for (double& value : db) value += 3;
          }
          EXPECT_LT(distance(got.dw, dw), 2e-5);
          if (s.bias) {
            EXPECT_LT(distance(got.db, db), 2e-5);
          }
          const Results again = run(*device, s, layouts, weights, r, accumulate);
          EXPECT_EQ(got.y, again.y);
          EXPECT_EQ(got.dx, again.dx);
          EXPECT_EQ(got.dw_raw, again.dw_raw);
          EXPECT_EQ(got.db == again.db || !s.bias, true);
          // What pads a packed layout stays zero.
          const Blob packed(*device, s.weights(), weights, got.dw);
          EXPECT_EQ(packed.raw(), got.dw_raw);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, ConvolutionTest, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(Convolution, UsualShapesRunOnOnednn) {
  if (!testing::onednn_is_fast()) GTEST_SKIP() << "oneDNN runs im2col on this processor";
  const auto device = make_cpu_device(1);
  for (const Case& c : cases()) {
    const bool usual = c.name == "lenet1" || c.name == "lenet2" || c.name == "alexnet1" ||
                       c.name == "alexnet2" || c.name == "depthwise" || c.name == "one_d" ||
                       c.name == "dilated";
    if (!usual) continue;
    const ConvolutionLayouts best = convolution_layouts(*device, c.shape).front();
    const ConvolutionPlan plan =
        plan_convolution(*device, c.shape, best.bottom, best.top, best.weights, true, true);
    EXPECT_THAT(plan.convolution->engine(), ::testing::StartsWith("onednn ")) << c.name;
    EXPECT_TRUE(plan.refusals.empty());
  }
}

std::string refusal_of(const ConvolutionShape& shape) {
  const auto device = make_cpu_device(1);
  const ConvolutionPlan plan =
      plan_convolution(*device, shape, Layout(), Layout(), Layout(), true, true);
  EXPECT_EQ(plan.convolution->engine(), "loop");
  return plan.refusals.empty() ? "" : plan.refusals.front();
}

TEST(Convolution, SaysWhyOnednnDeclines) {
  if (!testing::onednn_is_fast()) GTEST_SKIP() << "oneDNN runs im2col on this processor";
  EXPECT_EQ(refusal_of(make(1, 3, 4, 1, {}, {}, {}, {}, {})),
            "onednn: it has 1 to 3 spatial axes, not 0");
  EXPECT_EQ(refusal_of(make(1, 3, 4, 1, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0},
                            {1, 1, 1, 1})),
            "onednn: it has 1 to 3 spatial axes, not 4");
  EXPECT_EQ(refusal_of(square(2, 5, 9, 1, 7, 1, 2)),
            "onednn: the gradient of a strided 1x1 kernel on fewer than 8 channels");
  EXPECT_EQ(refusal_of(square(0, 4, 6, 1, 5, 3)), "onednn: the blob is empty");
  EXPECT_EQ(refusal_of(square(2, 16, 16, 1, 8, 3)),
            "onednn: it wants channels-last, not plain to plain");
}

// An engine that lacks a gradient is offered where nobody wants it, and there alone.
TEST(Convolution, LayoutsDependOnTheGradientsThatAreWanted) {
  if (!testing::onednn_is_fast()) GTEST_SKIP() << "oneDNN runs im2col on this processor";
  const auto device = make_cpu_device(1);
  for (const std::int64_t channels : {2, 3, 5, 7}) {
    const ConvolutionShape s = square(2, channels, 9, 1, 7, 1, 2);
    const Reference r(s, 17);
    EXPECT_EQ(convolution_layouts(*device, s, true, true).size(), 1u);
    EXPECT_EQ(convolution_layouts(*device, s, false, true).size(), 1u);
    const std::vector<ConvolutionLayouts> choices = convolution_layouts(*device, s, true, false);
    ASSERT_EQ(choices.size(), 2u);
    const ConvolutionLayouts& layouts = choices.front();
    const ConvolutionPlan plan =
        plan_convolution(*device, s, layouts.bottom, layouts.top, layouts.weights, true, false);
    EXPECT_THAT(plan.convolution->engine(), ::testing::StartsWith("onednn "));
    const Blob x(*device, s.bottom(), layouts.bottom, r.x), y(*device, s.top(), layouts.top);
    const Blob dy(*device, s.top(), layouts.top, r.dy), dx(*device, s.bottom(), layouts.bottom);
    const Blob w(*device, s.weights(), layouts.weights, r.w), b(*device, Shape{9}, Layout(), r.b);
    const std::size_t bytes = plan.convolution->scratch_bytes();
    Buffer scratch(*device, bytes + 256);
    auto* const guard = static_cast<unsigned char*>(scratch.data()) + bytes;
    std::fill(guard, guard + 256, 0xAB);
    plan.convolution->forward(x.tensor(), w.tensor(), b.tensor(), y.tensor(), scratch.data());
    plan.convolution->backward_bottom(dy.tensor(), w.tensor(), dx.tensor(), scratch.data());
    EXPECT_TRUE(std::all_of(guard, guard + 256, [](unsigned char c) { return c == 0xAB; }));
    EXPECT_LT(distance(y.plain(), r.y), 1e-5);
    EXPECT_LT(distance(dx.plain(), r.dx), 1e-5);
  }
}

TEST(Convolution, FrozenWeightsAndFrozenBias) {
  const auto device = make_cpu_device(1);
  const ConvolutionShape s = square(2, 8, 8, 1, 6, 3, 1, 1);
  const Reference r(s, 31);
  for (const ConvolutionLayouts& layouts : convolution_layouts(*device, s)) {
    auto plan =
        plan_convolution(*device, s, layouts.bottom, layouts.top, layouts.weights, false, true);
    const Blob x(*device, s.bottom(), layouts.bottom, r.x);
    const Blob dy(*device, s.top(), layouts.top, r.dy);
    const Blob dw(*device, s.weights(), layouts.weights);
    const Blob db(*device, Shape{8}, Layout());
    Buffer scratch(*device, plan.convolution->scratch_bytes());
    plan.convolution->backward_params(x.tensor(), dy.tensor(), dw.tensor(), Tensor(), false, false,
                                      scratch.data());
    plan.convolution->backward_params(x.tensor(), dy.tensor(), Tensor(), db.tensor(), false, false,
                                      scratch.data());
    EXPECT_LT(distance(dw.plain(), r.dw), 1e-5);
    EXPECT_LT(distance(db.plain(), r.db), 1e-5);
  }
}

// Replicas: one device, plan and scratch a thread, the same shapes.
TEST(Convolution, TwoThreadsAtOnce) {
  const ConvolutionShape s = square(4, 16, 32, 1, 14, 3, 1, 1);
  const Reference r(s, 41);
  Results results[2];
  std::vector<std::thread> threads;
  for (Results& result : results) {
    threads.emplace_back([&result, &s, &r] {
      const auto device = make_cpu_device(1);
      const ConvolutionLayouts layouts = convolution_layouts(*device, s).front();
      for (int i = 0; i < 20; ++i) result = run(*device, s, layouts, layouts.weights, r, false);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(distance(results[0].y, r.y), 1e-5);
  EXPECT_EQ(results[0].y, results[1].y);
  EXPECT_EQ(results[0].dx, results[1].dx);
  EXPECT_EQ(results[0].dw, results[1].dw);
}

}  // namespace
}  // namespace crema
