// Each index of a loop owns one row of what it writes and runs along it for one tap of the kernel
// after the other. Compiled twice (kernels/device_tags.h).
#include "primitives/depthwise.h"

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "primitives/column_rows.h"

namespace crema {
namespace loops {

/// What the loops need besides the geometry of one image.
struct DepthwiseShape {
  std::int64_t batch, channels, multiplier;  ///< multiplier: output channels of an input channel
  std::int64_t outputs() const { return channels * multiplier; }
};

/// bias may be null.
template <class D, class T>
void depthwise_forward(const Device& device, ColumnShape shape, DepthwiseShape depth,
                       const T* bottom, const T* weights, const T* bias, T* top) {
  const std::int64_t outputs = depth.outputs();
  parallel_for(
      D{}, device, depth.batch * outputs * shape.out_rows,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const int last = shape.axes - 1;
        const std::int64_t in = shape.in[last], out = shape.out[last];
        const std::int64_t kernel = shape.kernel[last], stride = shape.stride[last];
        const std::int64_t plane = i / shape.out_rows;
        const std::int64_t output = plane % outputs;
        const T* const image = bottom + plane / depth.multiplier * shape.in_count;
        const T* const w = weights + output * shape.kernel_count;
        T* const to = top + i * out;
        const T first = bias != nullptr ? bias[output] : T(0);
        for (std::int64_t o = 0; o < out; ++o) to[o] = first;
        for (std::int64_t outer = 0; outer < shape.kernel_count / kernel; ++outer) {
          const std::int64_t row = image_row(shape, i % shape.out_rows, outer);
          if (row < 0) continue;
          for (std::int64_t k = 0; k < kernel; ++k) {
            const T weight = w[outer * kernel + k];
            const std::int64_t offset = k * shape.dilation[last] - shape.pad[last];
            const TapRange range(out, in, stride, offset);
            const T* const from = image + row * in + offset;
            if (stride == 1) {
              for (std::int64_t o = range.first; o < range.last; ++o) to[o] += weight * from[o];
            } else {
              for (std::int64_t o = range.first; o < range.last; ++o) {
                to[o] += weight * from[o * stride];
              }
            }
          }
        }
      },
      shape.kernel_count * shape.out[shape.axes - 1] / 2 + 16);
}

template <class D, class T>
void depthwise_backward_bottom(const Device& device, ColumnShape shape, DepthwiseShape depth,
                               const T* top_gradient, const T* weights, T* bottom_gradient) {
  parallel_for(
      D{}, device, depth.batch * depth.channels * shape.in_rows,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const int last = shape.axes - 1;
        const std::int64_t in = shape.in[last], out = shape.out[last];
        const std::int64_t kernel = shape.kernel[last], stride = shape.stride[last];
        const std::int64_t plane = i / shape.in_rows;
        T* const to = bottom_gradient + i * in;
        for (std::int64_t w = 0; w < in; ++w) to[w] = 0;
        for (std::int64_t outer = 0; outer < shape.kernel_count / kernel; ++outer) {
          const std::int64_t row = window_row(shape, i % shape.in_rows, outer);
          if (row < 0) continue;
          for (std::int64_t m = 0; m < depth.multiplier; ++m) {
            const std::int64_t output = plane % depth.channels * depth.multiplier + m;
            const T* const from =
                top_gradient + ((plane * depth.multiplier + m) * shape.out_rows + row) * out;
            for (std::int64_t k = 0; k < kernel; ++k) {
              const T weight = weights[output * shape.kernel_count + outer * kernel + k];
              const std::int64_t offset = k * shape.dilation[last] - shape.pad[last];
              const TapRange range(out, in, stride, offset);
              if (stride == 1) {
                for (std::int64_t o = range.first; o < range.last; ++o) {
                  to[o + offset] += weight * from[o];
                }
              } else {
                for (std::int64_t o = range.first; o < range.last; ++o) {
                  to[o * stride + offset] += weight * from[o];
                }
              }
            }
          }
        }
      },
      shape.kernel_count * depth.multiplier * shape.in[shape.axes - 1] / 4 + 16);
}

/// Adds to the weights' gradient; one index is one weight.
template <class D, class T>
void depthwise_backward_weights(const Device& device, ColumnShape shape, DepthwiseShape depth,
                                const T* bottom, const T* top_gradient, T* weight_gradient) {
  const std::int64_t outputs = depth.outputs();
  parallel_for(
      D{}, device, outputs * shape.kernel_count,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        constexpr int kLanes = 8;
        const int last = shape.axes - 1;
        const std::int64_t in = shape.in[last], out = shape.out[last];
        const std::int64_t kernel = shape.kernel[last], stride = shape.stride[last];
        const std::int64_t output = i / shape.kernel_count, tap = i % shape.kernel_count;
        const std::int64_t offset = tap % kernel * shape.dilation[last] - shape.pad[last];
        const TapRange range(out, in, stride, offset);
        double sum = 0;
        for (std::int64_t n = 0; n < depth.batch; ++n) {
          const std::int64_t plane = n * outputs + output;
          const T* const image = bottom + plane / depth.multiplier * shape.in_count;
          for (std::int64_t out_row = 0; out_row < shape.out_rows; ++out_row) {
            const std::int64_t row = image_row(shape, out_row, tap / kernel);
            if (row < 0) continue;
            const T* const dy = top_gradient + (plane * shape.out_rows + out_row) * out;
            const T* const x = image + row * in + offset;
            T lanes[kLanes] = {};
            std::int64_t o = range.first;
            for (; o + kLanes <= range.last; o += kLanes) {
              for (int lane = 0; lane < kLanes; ++lane) {
                lanes[lane] += dy[o + lane] * x[(o + lane) * stride];
              }
            }
            for (; o < range.last; ++o) sum += static_cast<double>(dy[o] * x[o * stride]);
            for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(lanes[lane]);
          }
        }
        weight_gradient[i] += static_cast<T>(sum);
      },
      depth.batch * shape.out_count);
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("depthwise.forward", &loops::depthwise_forward<Cuda, float>)
CREMA_CUDA_LOOP("depthwise.backward_bottom", &loops::depthwise_backward_bottom<Cuda, float>)
CREMA_CUDA_LOOP("depthwise.backward_weights", &loops::depthwise_backward_weights<Cuda, float>)

#else

namespace {

class DepthwiseConvolution final : public Convolution {
 public:
  DepthwiseConvolution(Device& device, const ConvolutionShape& shape)
      : device_(device),
        shape_(shape),
        columns_(shape),
        depth_{shape.batch, shape.in_channels, shape.out_channels / shape.in_channels} {}

  void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias, const Tensor& top,
               void*) override {
    run_loop(device_, "depthwise.forward", &loops::depthwise_forward<Cpu, float>, columns_, depth_,
             bottom.read(), weights.read(), shape_.bias ? bias.read() : nullptr, top.write());
  }

  void backward_bottom(const Tensor& top_gradient, const Tensor& weights,
                       const Tensor& bottom_gradient, void*) override {
    run_loop(device_, "depthwise.backward_bottom", &loops::depthwise_backward_bottom<Cpu, float>,
             columns_, depth_, top_gradient.read(), weights.read(), bottom_gradient.write());
  }

  void backward_params(const Tensor& bottom, const Tensor& top_gradient,
                       const Tensor& weight_gradient, const Tensor& bias_gradient, bool accumulate,
                       bool accumulate_bias, void*) override {
    if (weight_gradient) {
      if (!accumulate) weight_gradient.fill_zero();
      run_loop(device_, "depthwise.backward_weights",
               &loops::depthwise_backward_weights<Cpu, float>, columns_, depth_, bottom.read(),
               top_gradient.read(), weight_gradient.update());
    }
    if (bias_gradient) {
      if (!accumulate_bias) bias_gradient.fill_zero();
      convolution_backward_params_loop<float>(device_, shape_, nullptr, top_gradient.read(),
                                              nullptr, bias_gradient.update(), nullptr);
    }
  }

  std::size_t scratch_bytes() const override { return 0; }
  std::string engine() const override { return "loop depthwise"; }

 private:
  Device& device_;
  ConvolutionShape shape_;
  loops::ColumnShape columns_;
  loops::DepthwiseShape depth_;
};

}  // namespace

bool is_depthwise(const ConvolutionShape& shape) {
  return shape.groups > 1 && shape.in_channels == shape.groups;
}

std::unique_ptr<Convolution> make_depthwise_convolution(Device& device,
                                                        const ConvolutionShape& shape) {
  return std::make_unique<DepthwiseConvolution>(device, shape);
}

#endif

}  // namespace crema
