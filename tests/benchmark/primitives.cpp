// The hot shapes of LeNet, CIFAR-10 quick and AlexNet, one primitive at a time, on one thread (set
// CREMA_THREADS for more). items_per_second is multiply-adds for products, elements of the bottom
// else.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/blas.h"
#include "primitives/channel_ops.h"
#include "primitives/convolution.h"
#include "primitives/inner_product.h"
#include "primitives/layouts.h"
#include "primitives/lrn.h"
#include "primitives/pooling.h"
#include "primitives/softmax.h"

namespace crema {
namespace {

std::unique_ptr<Device> device_of_benchmark() {
  const char* const threads = std::getenv("CREMA_THREADS");
  return make_cpu_device(threads != nullptr ? std::atoi(threads) : 1);
}

/// Memory of a tensor, with values that are no special case of anything.
struct Blob {
  Blob(Device& device, const Shape& shape, const Layout& layout)
      : buffer(device, static_cast<std::size_t>(layout.elements(shape)) * sizeof(float)),
        tensor(device, shape, layout, buffer.floats()) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.write()[i] = static_cast<float>(i * 7919 % 1013) / 1013.0f - 0.4f;
    }
  }
  Buffer buffer;
  Tensor tensor;
};

void gemm_square(benchmark::State& state) {
  const auto device = device_of_benchmark();
  const std::int64_t n = state.range(0);
  const Blob a(*device, {n, n}, Layout()), b(*device, {n, n}, Layout()),
      c(*device, {n, n}, Layout());
  for (auto _ : state) {
    gemm(*device, Transpose::kNo, Transpose::kNo, n, n, n, 1.0f, a.tensor.read(), n,
         b.tensor.read(), n, 0.0f, c.tensor.write(), n);
  }
  state.SetItemsProcessed(state.iterations() * n * n * n);
}
BENCHMARK(gemm_square)->Arg(256)->Arg(1024)->Unit(benchmark::kMicrosecond);

// --- convolution --------------------------------------------------------------------------------

struct ConvolutionCase {
  const char* name;
  std::int64_t batch, in_channels, out_channels, groups, in, kernel, stride, pad;
};

const ConvolutionCase kConvolutions[] = {
    {"lenet1", 64, 1, 20, 1, 28, 5, 1, 0},         {"lenet2", 64, 20, 50, 1, 12, 5, 1, 0},
    {"cifar1", 100, 3, 32, 1, 32, 5, 1, 2},        {"cifar2", 100, 32, 32, 1, 16, 5, 1, 2},
    {"cifar3", 100, 32, 64, 1, 8, 5, 1, 2},        {"alexnet1", 32, 3, 96, 1, 227, 11, 4, 0},
    {"alexnet2", 32, 96, 256, 2, 27, 5, 1, 2},     {"alexnet3", 32, 256, 384, 1, 13, 3, 1, 1},
    {"alexnet4", 32, 384, 384, 2, 13, 3, 1, 1},    {"alexnet5", 32, 384, 256, 2, 13, 3, 1, 1},
    {"depthwise", 32, 128, 128, 128, 28, 3, 1, 1}, {"pointwise", 32, 256, 64, 1, 28, 1, 1, 0}};

void convolution(benchmark::State& state, const ConvolutionCase& c, int pass, bool plain) {
  const auto device = device_of_benchmark();
  const std::int64_t out = (c.in + 2 * c.pad - c.kernel) / c.stride + 1;
  ConvolutionShape shape;
  shape.batch = c.batch;
  shape.in_channels = c.in_channels;
  shape.out_channels = c.out_channels;
  shape.groups = c.groups;
  shape.in = {c.in, c.in};
  shape.out = {out, out};
  shape.kernel = {c.kernel, c.kernel};
  shape.stride = {c.stride, c.stride};
  shape.pad = {c.pad, c.pad};
  shape.dilation = {1, 1};
  const auto choices = convolution_layouts(*device, shape);
  const ConvolutionLayouts layouts = plain ? choices.back() : choices.front();
  const auto plan =
      plan_convolution(*device, shape, layouts.bottom, layouts.top, layouts.weights, true, true);
  const Blob bottom(*device, shape.bottom(), layouts.bottom);
  const Blob top(*device, shape.top(), layouts.top);
  const Blob weights(*device, shape.weights(), layouts.weights);
  const Blob bias(*device, {c.out_channels}, Layout());
  const Buffer scratch(*device, plan.convolution->scratch_bytes());
  for (auto _ : state) {
    if (pass == 0) {
      plan.convolution->forward(bottom.tensor, weights.tensor, bias.tensor, top.tensor,
                                scratch.data());
    } else if (pass == 1) {
      plan.convolution->backward_bottom(top.tensor, weights.tensor, bottom.tensor, scratch.data());
    } else {
      plan.convolution->backward_params(bottom.tensor, top.tensor, weights.tensor, bias.tensor,
                                        false, false, scratch.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * shape.multiply_adds());
  state.SetLabel(plan.convolution->engine() + ", " + layouts.weights.name());
}

// --- pooling, normalisation, reorder ------------------------------------------------------------

struct PoolingCase {
  const char* name;
  PoolMethod method;
  std::int64_t batch, channels, in, out, kernel, stride;
};

const PoolingCase kPoolings[] = {{"lenet1", PoolMethod::kMax, 64, 20, 24, 12, 2, 2},
                                 {"lenet2", PoolMethod::kMax, 64, 50, 8, 4, 2, 2},
                                 {"cifar1", PoolMethod::kMax, 100, 32, 32, 16, 3, 2},
                                 {"cifar2", PoolMethod::kAverage, 100, 32, 16, 8, 3, 2},
                                 {"cifar3", PoolMethod::kAverage, 100, 64, 8, 4, 3, 2},
                                 {"alexnet1", PoolMethod::kMax, 32, 96, 55, 27, 3, 2},
                                 {"alexnet2", PoolMethod::kMax, 32, 256, 27, 13, 3, 2},
                                 {"alexnet5", PoolMethod::kMax, 32, 256, 13, 6, 3, 2},
                                 {"global", PoolMethod::kAverage, 32, 1024, 7, 1, 7, 1}};

void pooling(benchmark::State& state, const PoolingCase& c, bool backward, bool plain) {
  const auto device = device_of_benchmark();
  PoolingShape shape;
  shape.method = c.method;
  shape.batch = c.batch;
  shape.channels = c.channels;
  shape.in_h = shape.in_w = c.in;
  shape.out_h = shape.out_w = c.out;
  shape.kernel_h = shape.kernel_w = c.kernel;
  shape.stride_h = shape.stride_w = c.stride;
  const Layout layout = plain ? Layout() : channels_last(shape.bottom());
  const auto plan = plan_pooling(*device, shape, layout, true, false);
  const Blob bottom(*device, shape.bottom(), layout);
  const Blob top(*device, shape.top(), plain ? Layout() : channels_last(shape.top()));
  std::vector<char> workspace(plan.pooling->workspace_bytes());
  std::vector<char> scratch(plan.pooling->scratch_bytes());
  plan.pooling->forward(bottom.tensor, top.tensor, workspace.data(), scratch.data());
  for (auto _ : state) {
    if (backward) {
      plan.pooling->backward(top.tensor, bottom.tensor, workspace.data(), scratch.data());
    } else {
      plan.pooling->forward(bottom.tensor, top.tensor, workspace.data(), scratch.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * shape.bottom().count());
  state.SetLabel(plan.pooling->engine());
}

void lrn(benchmark::State& state, std::int64_t channels, std::int64_t in, bool backward,
         bool plain) {
  const auto device = device_of_benchmark();
  const LrnShape shape{32, channels, in * in, 5, 1e-4f, 0.75f, 1};
  const Shape blob{32, channels, in, in};
  const Layout layout = plain ? Layout() : channels_last(blob);
  const Blob bottom(*device, blob, layout), top(*device, blob, layout),
      gradient(*device, blob, layout);
  for (auto _ : state) {
    if (backward) {
      lrn_backward(shape, bottom.tensor, top.tensor, gradient.tensor);
    } else {
      lrn_forward(shape, bottom.tensor, top.tensor);
    }
  }
  state.SetItemsProcessed(state.iterations() * blob.count());
}

void change_layout(benchmark::State& state, const Shape& shape, bool to_last) {
  const auto device = device_of_benchmark();
  const Blob plain(*device, shape, Layout()), last(*device, shape, channels_last(shape));
  for (auto _ : state) {
    reorder(to_last ? plain.tensor : last.tensor, to_last ? last.tensor : plain.tensor);
  }
  state.SetItemsProcessed(state.iterations() * shape.count());
  state.SetBytesProcessed(state.iterations() * shape.count() * 8);
}

void inner_product(benchmark::State& state, const InnerProductShape& shape, int pass) {
  const auto device = device_of_benchmark();
  const auto [m, n, k, transposed] = shape;
  const Blob bottom(*device, {m, k}, Layout()), weights(*device, {n, k}, Layout()),
      bias(*device, {n}, Layout()), top(*device, {m, n}, Layout());
  for (auto _ : state) {
    if (pass == 0) {
      inner_product_forward(*device, shape, bottom.tensor.read(), weights.tensor.read(),
                            bias.tensor.read(), true, 0.0f, top.tensor.write());
    } else if (pass == 1) {
      inner_product_backward_bottom(*device, shape, top.tensor.read(), weights.tensor.read(),
                                    bottom.tensor.write());
    } else {
      inner_product_backward_params(*device, shape, bottom.tensor.read(), top.tensor.read(), false,
                                    weights.tensor.write(), false, bias.tensor.write());
    }
  }
  state.SetItemsProcessed(state.iterations() * m * n * k);
}

void softmax(benchmark::State& state, const SoftmaxShape& shape) {
  const auto device = device_of_benchmark();
  const Blob bottom(*device, {shape.outer, shape.classes, shape.inner}, Layout());
  const Blob top(*device, bottom.tensor.shape(), Layout());
  for (auto _ : state) {
    softmax_forward(*device, shape, bottom.tensor.read(), top.tensor.write());
  }
  state.SetItemsProcessed(state.iterations() * bottom.tensor.elements());
}

void sums_of_rows(benchmark::State& state, std::int64_t m, std::int64_t n) {
  const auto device = device_of_benchmark();
  const Blob x(*device, {m, n}, Layout()), y(*device, {n}, Layout());
  for (auto _ : state) sum_rows(*device, m, n, x.tensor.read(), false, y.tensor.write());
  state.SetItemsProcessed(state.iterations() * m * n);
}

// --- values by channel: what BatchNorm and Scale do, in GB/s of the arrays that a pass must touch
// --

enum class ChannelPass { kCopy, kAffine, kAffineGradients, kMoments, kNormalizedGradient };

void by_channel(benchmark::State& state, const Shape& shape, ChannelPass pass, bool plain) {
  const auto device = device_of_benchmark();
  const Blob x(*device, shape, Layout()), dy(*device, shape, Layout()), y(*device, shape, Layout());
  const Blob gamma(*device, {shape[1]}, Layout()), beta(*device, {shape[1]}, Layout());
  const ChannelAxis axis = plain ? ChannelAxis{shape[0], shape[1], shape.count_from(2)}
                                 : ChannelAxis{shape[0] * shape.count_from(2), shape[1], 1};
  const Buffer scratch(*device, channel_scratch_bytes(axis));
  std::int64_t arrays = 2;
  for (auto _ : state) {
    switch (pass) {
      case ChannelPass::kCopy:
        parallel_for(
            Cpu{}, *device, shape.count(),
            [from = x.tensor.read(), to = y.tensor.write()](std::int64_t i) { to[i] = from[i]; });
        break;
      case ChannelPass::kAffine:
        channel_affine(*device, axis, {nullptr, gamma.tensor.read(), beta.tensor.read()},
                       x.tensor.read(), y.tensor.write());
        break;
      case ChannelPass::kAffineGradients:
        channel_affine_gradients(*device, axis, x.tensor.read(), dy.tensor.read(),
                                 {gamma.tensor.write(), false, beta.tensor.write(), false},
                                 scratch.data());
        break;
      case ChannelPass::kMoments:
        channel_moments(*device, axis, x.tensor.read(), gamma.tensor.write(), beta.tensor.write(),
                        scratch.data());
        arrays = 1;
        break;
      case ChannelPass::kNormalizedGradient:
        normalized_gradient(*device, axis, x.tensor.read(), dy.tensor.read(), gamma.tensor.read(),
                            y.tensor.write(), scratch.data());
        arrays = 5;  // the first two are read twice
        break;
    }
  }
  state.SetBytesProcessed(state.iterations() * shape.count() * 4 * arrays);
}

void register_all() {
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMicrosecond);
  };
  const char* const passes[] = {"forward", "bottom", "params"};
  for (const bool plain : {false, true}) {
    const std::string layout = plain ? "plain" : "last";
    for (const ConvolutionCase& c : kConvolutions) {
      for (int pass = 0; pass < 3; ++pass) {
        add("convolution/" + layout + "/" + c.name + "/" + passes[pass],
            [c, pass, plain](benchmark::State& state) { convolution(state, c, pass, plain); });
      }
    }
    for (const PoolingCase& c : kPoolings) {
      for (const bool backward : {false, true}) {
        add("pooling/" + layout + "/" + c.name + (backward ? "/backward" : "/forward"),
            [c, backward, plain](benchmark::State& state) { pooling(state, c, backward, plain); });
      }
    }
    for (const bool backward : {false, true}) {
      const std::string direction = backward ? "/backward" : "/forward";
      add("lrn/" + layout + "/96x55" + direction,
          [backward, plain](benchmark::State& state) { lrn(state, 96, 55, backward, plain); });
      add("lrn/" + layout + "/256x27" + direction,
          [backward, plain](benchmark::State& state) { lrn(state, 256, 27, backward, plain); });
      add("lrn/" + layout + "/32x16" + direction,
          [backward, plain](benchmark::State& state) { lrn(state, 32, 16, backward, plain); });
    }
    const Shape images = {32, 64, 56, 56};
    for (const auto& [name, pass] :
         {std::pair{"copy", ChannelPass::kCopy}, std::pair{"affine", ChannelPass::kAffine},
          std::pair{"affine_gradients", ChannelPass::kAffineGradients},
          std::pair{"moments", ChannelPass::kMoments},
          std::pair{"normalized_gradient", ChannelPass::kNormalizedGradient}}) {
      add("channel/" + layout + "/" + name, [images, p = pass, plain](benchmark::State& state) {
        by_channel(state, images, p, plain);
      });
    }
    for (const Shape& shape : {Shape{100, 3, 32, 32}, Shape{32, 3, 227, 227}, Shape{64, 50, 4, 4},
                               Shape{32, 256, 6, 6}, Shape{32, 96, 55, 55}}) {
      add("reorder/" + std::string(plain ? "from_last/" : "to_last/") + shape.str(),
          [shape, plain](benchmark::State& state) { change_layout(state, shape, !plain); });
    }
  }
  for (int pass = 0; pass < 3; ++pass) {
    add(std::string("inner_product/lenet1/") + passes[pass], [pass](benchmark::State& state) {
      inner_product(state, {64, 500, 800, false}, pass);
    });
    add(std::string("inner_product/lenet2/") + passes[pass], [pass](benchmark::State& state) {
      inner_product(state, {64, 10, 500, false}, pass);
    });
    add(std::string("inner_product/alexnet6/") + passes[pass], [pass](benchmark::State& state) {
      inner_product(state, {32, 4096, 9216, false}, pass);
    });
    add(std::string("inner_product/one/") + passes[pass], [pass](benchmark::State& state) {
      inner_product(state, {1, 4096, 4096, false}, pass);
    });
  }
  add("softmax/64x10", [](benchmark::State& state) { softmax(state, {64, 10, 1}); });
  add("softmax/32x1000", [](benchmark::State& state) { softmax(state, {32, 1000, 1}); });
  add("softmax/1x21x250000", [](benchmark::State& state) { softmax(state, {1, 21, 250000}); });
  add("sum_rows/96800x96", [](benchmark::State& state) { sums_of_rows(state, 96800, 96); });
  add("sum_rows/36864x20", [](benchmark::State& state) { sums_of_rows(state, 36864, 20); });
}

}  // namespace
}  // namespace crema

int main(int argc, char** argv) {
  crema::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
