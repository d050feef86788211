#include "primitives/pooling.h"

#include <cfloat>
#include <cmath>
#include <limits>

#include "support.h"

namespace crema {
namespace {

using testing::Blob;
using testing::distance;
using testing::in_double;
using testing::random_values;

/// The output size as Caffe has it: ceil, and no window that starts behind the image's padded end.
std::int64_t pooled(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  std::int64_t out = (in + 2 * pad - kernel + stride - 1) / stride + 1;
  if (pad > 0 && (out - 1) * stride >= in + pad) --out;
  return out;
}

PoolingShape make(PoolMethod method, std::int64_t batch, std::int64_t channels, std::int64_t h,
                  std::int64_t w, std::int64_t kernel_h, std::int64_t kernel_w,
                  std::int64_t stride_h, std::int64_t stride_w, std::int64_t pad_h,
                  std::int64_t pad_w) {
  PoolingShape s;
  s.method = method;
  s.batch = batch;
  s.channels = channels;
  s.in_h = h;
  s.in_w = w;
  s.kernel_h = kernel_h;
  s.kernel_w = kernel_w;
  s.stride_h = stride_h;
  s.stride_w = stride_w;
  s.pad_h = pad_h;
  s.pad_w = pad_w;
  s.out_h = pooled(h, kernel_h, stride_h, pad_h);
  s.out_w = pooled(w, kernel_w, stride_w, pad_w);
  return s;
}

PoolingShape square(PoolMethod method, std::int64_t channels, std::int64_t in, std::int64_t kernel,
                    std::int64_t stride, std::int64_t pad) {
  return make(method, 2, channels, in, in, kernel, kernel, stride, stride, pad, pad);
}

/// Written from the definition alone: y, dx and mask.
struct Expected {
  Expected(const PoolingShape& s, const std::vector<float>& x, const std::vector<float>& dy)
      : y(dy.size()), mask(dy.size(), -1), dx(x.size()) {
    for (std::int64_t i = 0; i < s.top().count(); ++i) {
      const std::int64_t plane = i / (s.out_h * s.out_w);
      const std::int64_t h0 = i / s.out_w % s.out_h * s.stride_h - s.pad_h;
      const std::int64_t w0 = i % s.out_w * s.stride_w - s.pad_w;
      const auto o = static_cast<std::size_t>(i);
      const auto at = [&](std::int64_t h, std::int64_t w) {
        return static_cast<std::size_t>((plane * s.in_h + h) * s.in_w + w);
      };
      const double size = static_cast<double>((std::min(h0 + s.kernel_h, s.in_h + s.pad_h) - h0) *
                                              (std::min(w0 + s.kernel_w, s.in_w + s.pad_w) - w0));
      double sum = 0;
      float best = -FLT_MAX;
      for (std::int64_t h = std::max<std::int64_t>(h0, 0); h < std::min(h0 + s.kernel_h, s.in_h);
           ++h) {
        for (std::int64_t w = std::max<std::int64_t>(w0, 0); w < std::min(w0 + s.kernel_w, s.in_w);
             ++w) {
          sum += static_cast<double>(x[at(h, w)]);
          if (x[at(h, w)] > best) {
            best = x[at(h, w)];
            mask[o] = static_cast<float>(h * s.in_w + w);
          }
          if (s.method == PoolMethod::kAverage) dx[at(h, w)] += static_cast<double>(dy[o]) / size;
        }
      }
      if (s.method == PoolMethod::kAverage) {
        y[o] = sum / size;
      } else {
        y[o] = static_cast<double>(best);
        if (mask[o] >= 0) {
          dx[static_cast<std::size_t>(plane * s.in_h * s.in_w) +
             static_cast<std::size_t>(mask[o])] += static_cast<double>(dy[o]);
        }
      }
    }
  }
  std::vector<double> y;
  std::vector<float> mask;
  std::vector<double> dx;
};

std::vector<PoolingShape> shapes() {
  std::vector<PoolingShape> all;
  for (const PoolMethod method : {PoolMethod::kMax, PoolMethod::kAverage}) {
    all.push_back(square(method, 20, 24, 2, 2, 0));
    all.push_back(square(method, 32, 32, 3, 2, 0));  // overhangs
    all.push_back(square(method, 96, 13, 3, 2, 0));
    all.push_back(square(method, 1, 9, 3, 1, 1));
    all.push_back(square(method, 7, 14, 3, 2, 1));  // overhangs by more than the padding
    all.push_back(square(method, 5, 12, 5, 4, 2));
    all.push_back(square(method, 43, 8, 8, 1, 0));
    all.push_back(square(method, 11, 7, 1, 3, 0));
    all.push_back(square(method, 9, 20, 17, 2, 3));  // more places than a byte has
    all.push_back(make(method, 1, 10, 5, 9, 3, 2, 2, 3, 1, 0));
    all.push_back(make(method, 3, 16, 6, 4, 2, 5, 1, 1, 0, 3));
    all.push_back(make(method, 2, 6, 1, 1, 1, 1, 1, 1, 0, 0));
    PoolingShape outside = square(method, 6, 5, 2, 4, 0);
    outside.out_h = outside.out_w = 3;  // the last window starts at 8
    all.push_back(outside);
  }
  return all;
}

struct Results {
  std::vector<float> y, dx, mask;
  std::vector<std::uint8_t> workspace;
};

Results run(Device& device, const PoolingShape& s, const Layout& bottom_layout,
            const std::vector<float>& x, const std::vector<float>& dy) {
  const Layout top_layout = is_channels_last(bottom_layout) ? channels_last(s.top()) : Layout();
  PoolingPlan plan = plan_pooling(device, s, bottom_layout, true, true);
  const Blob bottom(device, s.bottom(), bottom_layout, x);
  const Blob top_gradient(device, s.top(), top_layout, dy);
  const Blob top(device, s.top(), top_layout);
  const Blob bottom_gradient(device, s.bottom(), bottom_layout);
  const Blob mask(device, s.top(), top_layout);
  top.fill(NAN);
  bottom_gradient.fill(NAN);
  Results results;
  results.workspace.resize(plan.pooling->workspace_bytes());
  std::vector<char> scratch(plan.pooling->scratch_bytes());
  plan.pooling->forward(bottom.tensor(), top.tensor(), results.workspace.data(), scratch.data());
  plan.pooling->backward(top_gradient.tensor(), bottom_gradient.tensor(), results.workspace.data(),
                         scratch.data());
  if (s.method == PoolMethod::kMax) {
    plan.pooling->write_mask(results.workspace.data(), mask.tensor());
    results.mask = mask.plain();
  }
  results.y = top.plain();
  results.dx = bottom_gradient.plain();
  // Without the winners asked for, other engines may run: the values and gradients are the same.
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](float u, float v) {
      return std::abs(u - v) <= 1e-6f * std::max(1.0f, std::abs(v)) || u == v || (u != u && v != v);
    });
  };
  for (const bool backward : {false, true}) {
    PoolingPlan other = plan_pooling(device, s, bottom_layout, backward, false);
    std::vector<char> workspace(other.pooling->workspace_bytes());
    scratch.resize(other.pooling->scratch_bytes());
    EXPECT_TRUE(backward || workspace.empty());
    top.fill(NAN);
    other.pooling->forward(bottom.tensor(), top.tensor(), workspace.data(), scratch.data());
    EXPECT_TRUE(same(top.plain(), results.y)) << other.pooling->engine();
    // Where nothing won, Caffe has no gradient and oneDNN gives it to the window's first element.
    const bool all_won =
        std::find(results.mask.begin(), results.mask.end(), -1) == results.mask.end();
    if (!backward || !all_won) continue;
    bottom_gradient.fill(NAN);
    other.pooling->backward(top_gradient.tensor(), bottom_gradient.tensor(), workspace.data(),
                            scratch.data());
    EXPECT_TRUE(same(bottom_gradient.plain(), results.dx)) << other.pooling->engine();
  }
  return results;
}

class PoolingTest : public ::testing::TestWithParam<PoolingShape> {};

TEST_P(PoolingTest, EveryEngineIsTheDefinition) {
  const PoolingShape& s = GetParam();
  // Few different values: many ties.
  auto x = random_values(s.bottom().count(), 1);
  for (float& value : x) value = std::round(value * 4) / 4;
  const auto dy = random_values(s.top().count(), 2);
  const Expected expected(s, x, dy);
  const bool nothing =
      std::any_of(expected.y.begin(), expected.y.end(), [](double y) { return std::isnan(y); });
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    for (const Layout& layout : {Layout(), channels_last(s.bottom())}) {
      const Results got = run(*device, s, layout, x, dy);
      SCOPED_TRACE(layout.name());
      if (s.method == PoolMethod::kMax) {
        EXPECT_EQ(std::vector<double>(got.y.begin(), got.y.end()), expected.y);
        EXPECT_EQ(got.mask, expected.mask);
      } else if (!nothing) {
        EXPECT_LT(distance(got.y, expected.y), 1e-6);
      }
      EXPECT_LT(distance(got.dx, expected.dx), 1e-6);
    }
    std::vector<float> y(dy.size()), dx(x.size());
    std::vector<std::int32_t> winners(dy.size());
    pooling_forward_loop(*device, s, x.data(), y.data(), winners.data());
    pooling_backward_loop(*device, s, dy.data(), winners.data(), dx.data());
    if (!nothing) {
      EXPECT_LT(distance(y, expected.y), 1e-6);
    }
    EXPECT_LT(distance(dx, expected.dx), 1e-6);
    const auto x2 = in_double(x), dy2 = in_double(dy);
    std::vector<double> y2(dy.size()), dx2(x.size());
    pooling_forward_loop(*device, s, x2.data(), y2.data(), winners.data());
    pooling_backward_loop(*device, s, dy2.data(), winners.data(), dx2.data());
    if (!nothing) {
      EXPECT_LT(distance(y2, expected.y), 1e-12);
    }
    EXPECT_LT(distance(dx2, expected.dx), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, PoolingTest, ::testing::ValuesIn(shapes()));

TEST(Pooling, NothingWinsAmongNanAndMinusInfinity) {
  const auto device = make_cpu_device(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  PoolingShape s = make(PoolMethod::kMax, 1, 9, 2, 4, 2, 2, 2, 2, 0, 0);
  std::vector<float> x;
  for (int c = 0; c < 9; ++c) {
    // Left window: only NaN and -inf. Right window: NaN before and behind a number.
    for (const float value : {nan, -inf, nan, 5.0f, nan, nan, 7.0f, nan}) x.push_back(value);
  }
  const std::vector<float> dy(18, 1.0f);
  for (const Layout& layout : {Layout(), channels_last(s.bottom())}) {
    const Results got = run(*device, s, layout, x, dy);
    for (std::size_t c = 0; c < 9; ++c) {
      EXPECT_EQ(got.y[2 * c], -FLT_MAX);
      EXPECT_EQ(got.mask[2 * c], -1);
      EXPECT_EQ(got.y[2 * c + 1], 7);
      EXPECT_EQ(got.mask[2 * c + 1], 6);
      EXPECT_EQ(std::vector<float>(got.dx.begin() + static_cast<long>(8 * c),
                                   got.dx.begin() + static_cast<long>(8 * c + 8)),
                (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 0}));
    }
  }
}

TEST(Pooling, AverageOfNanIsNan) {
  const auto device = make_cpu_device(1);
  PoolingShape s = make(PoolMethod::kAverage, 1, 9, 2, 2, 2, 2, 2, 2, 0, 0);
  std::vector<float> x(36, 1.0f);
  for (std::size_t c = 0; c < 9; ++c) x[4 * c + 2] = NAN;
  for (const Layout& layout : {Layout(), channels_last(s.bottom())}) {
    for (const float y : run(*device, s, layout, x, std::vector<float>(9, 1.0f)).y) {
      EXPECT_TRUE(std::isnan(y));
    }
  }
}

TEST(Pooling, WorkspaceIsSmall) {
  const auto device = make_cpu_device(1);
  const PoolingShape s = square(PoolMethod::kMax, 8, 24, 3, 2, 0);
  EXPECT_EQ(plan_pooling(*device, s, Layout(), true, false).pooling->workspace_bytes(),
            static_cast<std::size_t>(s.top().count()));
  EXPECT_EQ(
      plan_pooling(*device, square(PoolMethod::kAverage, 8, 24, 3, 2, 0), Layout(), true, false)
          .pooling->workspace_bytes(),
      0u);
}

}  // namespace
}  // namespace crema
