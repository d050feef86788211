#include "primitives/deconvolution.h"

#include "primitives/depthwise.h"
#include "support.h"

namespace crema {
namespace {

using testing::Blob;
using testing::distance;
using testing::in_double;
using testing::random_values;

ConvolutionShape make(std::int64_t in_channels, std::int64_t out_channels, std::int64_t groups,
                      std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      std::int64_t dilation, bool bias) {
  ConvolutionShape s;
  s.batch = 2;
  s.in_channels = in_channels;
  s.out_channels = out_channels;
  s.groups = groups;
  s.in = {in, in + 1};
  s.kernel = {kernel, kernel};
  s.stride = {stride, stride};
  s.pad = {pad, pad};
  s.dilation = {dilation, dilation};
  for (const std::int64_t size : s.in) {
    s.out.push_back(stride * (size - 1) + dilation * (kernel - 1) + 1 - 2 * pad);
  }
  s.bias = bias;
  return s;
}

/// The definition, in double: y, dx, dw and db.
struct Expected {
  Expected(const ConvolutionShape& s, const std::vector<float>& x, const std::vector<float>& w,
           const std::vector<float>& b, const std::vector<float>& dy)
      : y(dy.size()), dx(x.size()), dw(w.size()), db(b.size()) {
    const std::int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
    const std::int64_t positions = s.out[0] * s.out[1];
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto o =
          static_cast<std::size_t>(static_cast<std::int64_t>(i) / positions % s.out_channels);
      if (s.bias) y[i] = static_cast<double>(b[o]);
      db[o] += static_cast<double>(dy[i]);
    }
    for (std::int64_t i = 0; i < s.bottom().count(); ++i) {
      const std::int64_t column = i % s.in[1], row = i / s.in[1] % s.in[0];
      const std::int64_t c = i / (s.in[0] * s.in[1]) % s.in_channels;
      const std::int64_t n = i / (s.in[0] * s.in[1] * s.in_channels);
      for (std::int64_t j = 0; j < out_group * s.kernel[0] * s.kernel[1]; ++j) {
        const std::int64_t kw = j % s.kernel[1], kh = j / s.kernel[1] % s.kernel[0];
        const std::int64_t o = c / in_group * out_group + j / (s.kernel[0] * s.kernel[1]);
        const std::int64_t h = row * s.stride[0] - s.pad[0] + kh * s.dilation[0];
        const std::int64_t v = column * s.stride[1] - s.pad[1] + kw * s.dilation[1];
        if (h < 0 || h >= s.out[0] || v < 0 || v >= s.out[1]) continue;
        const auto at =
            static_cast<std::size_t>(((n * s.out_channels + o) * s.out[0] + h) * s.out[1] + v);
        const auto weight = static_cast<std::size_t>(c * out_group * s.kernel[0] * s.kernel[1] + j);
        const auto from = static_cast<std::size_t>(i);
        y[at] += static_cast<double>(x[from]) * static_cast<double>(w[weight]);
        dx[from] += static_cast<double>(dy[at]) * static_cast<double>(w[weight]);
        dw[weight] += static_cast<double>(dy[at]) * static_cast<double>(x[from]);
      }
    }
  }
  std::vector<double> y, dx, dw, db;
};

void check(const ConvolutionShape& s) {
  const Shape weights = transpose_of(s).weights();
  const auto x = random_values(s.bottom().count(), 1), w = random_values(weights.count(), 2);
  const auto b = random_values(s.out_channels, 3), dy = random_values(s.top().count(), 4);
  const Expected expected(s, x, w, b, dy);
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    for (const ConvolutionLayouts& layouts : deconvolution_layouts(*device, s)) {
      for (const Layout& layout : {layouts.weights, Layout()}) {
        const ConvolutionPlan plan =
            plan_deconvolution(*device, s, layouts.bottom, layouts.top, layout, true, true);
        SCOPED_TRACE(plan.convolution->engine() + ", weights " + layout.name());
        const Blob bottom(*device, s.bottom(), layouts.bottom, x);
        const Blob weight(*device, weights, layout, w);
        const Blob bias(*device, Shape{s.out_channels}, Layout(), b);
        const Blob gradient(*device, s.top(), layouts.top, dy);
        const Blob top(*device, s.top(), layouts.top);
        const Blob dx(*device, s.bottom(), layouts.bottom);
        const Blob dw(*device, weights, layout, std::vector<float>(w.size(), 2.0f));
        const Blob db(*device, Shape{s.out_channels}, Layout(), std::vector<float>(b.size(), 3.0f));
        top.fill(NAN);
        dx.fill(NAN);
        Buffer scratch(*device, plan.convolution->scratch_bytes());
        plan.convolution->forward(bottom.tensor(), weight.tensor(),
                                  s.bias ? bias.tensor() : Tensor(), top.tensor(), scratch.data());
        plan.convolution->backward_bottom(gradient.tensor(), weight.tensor(), dx.tensor(),
                                          scratch.data());
        plan.convolution->backward_params(bottom.tensor(), gradient.tensor(), dw.tensor(),
                                          s.bias ? db.tensor() : Tensor(), true, false,
                                          scratch.data());
        EXPECT_LT(distance(top.plain(), expected.y), 1e-5);
        EXPECT_LT(distance(dx.plain(), expected.dx), 1e-5);
        std::vector<double> sum = expected.dw;
        for (double& value : sum) value += 2;
        EXPECT_LT(distance(dw.plain(), sum), 2e-5);
        if (s.bias) {
          EXPECT_LT(distance(db.plain(), expected.db), 2e-5);
        }
      }
    }
  }
}

TEST(Deconvolution, EveryEngineIsTheDefinition) {
  check(make(16, 24, 1, 5, 3, 2, 1, 1, true));
  check(make(21, 21, 1, 4, 4, 2, 0, 1, false));
  check(make(32, 16, 2, 6, 4, 2, 1, 1, true));
  check(make(5, 7, 1, 4, 3, 3, 0, 2, true));
  check(make(8, 8, 8, 5, 4, 2, 1, 1, false));
  check(make(6, 6, 6, 7, 3, 1, 1, 2, true));
  check(make(3, 9, 3, 4, 2, 3, 0, 1, true));
  check(make(12, 4, 4, 5, 5, 2, 2, 1, true));
  check(make(1, 1, 1, 5, 4, 2, 1, 1, true));
}

TEST(Deconvolution, OneChannelAGroupTakesNoPatches) {
  const auto device = make_cpu_device(1);
  const ConvolutionShape s = make(21, 21, 21, 8, 4, 2, 1, 1, false);
  EXPECT_TRUE(is_depthwise(transpose_of(s)));
  const ConvolutionPlan plan =
      plan_deconvolution(*device, s, Layout(), Layout(), Layout(), true, true);
  EXPECT_EQ(plan.convolution->engine(), "loop depthwise");
}

}  // namespace
}  // namespace crema
