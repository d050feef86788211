// Convolution without a library's help: what every shape falls back to, and what tests measure the
// others by. Images are shared out whole where there are enough of them, because a product of one
// image is often too small to be cut.
#include "primitives/convolution_loop.h"

#include <algorithm>

#include "kernels/blas.h"
#include "kernels/instantiate.h"
#include "kernels/parallel_for.h"
#include "primitives/im2col.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

/// The sizes of the products of one image and group.
struct Products {
  explicit Products(const ConvolutionShape& shape)
      : columns(shape),
        groups(shape.groups),
        outputs(shape.out_channels / shape.groups),
        taps(shape.in_channels / shape.groups * columns.kernel_count),
        positions(columns.out_count),
        bottom_image(shape.in_channels * columns.in_count),
        top_image(shape.out_channels * positions) {}

  loops::ColumnShape columns;
  std::int64_t groups, outputs, taps, positions;
  std::int64_t bottom_image, top_image;
};

template <class T>
void forward_image(const Device& device, const Products& p, const T* bottom, const T* weights,
                   const T* bias, T* top, T* columns) {
  const T* patches = bottom;
  if (!p.columns.identity) {
    loops::im2col<Cpu>(device, p.columns, bottom, columns);
    patches = columns;
  }
  for (std::int64_t g = 0; g < p.groups; ++g) {
    gemm(device, Transpose::kNo, Transpose::kNo, p.outputs, p.positions, p.taps, T(1),
         weights + g * p.outputs * p.taps, p.taps, patches + g * p.taps * p.positions, p.positions,
         T(0), top + g * p.outputs * p.positions, p.positions);
  }
  if (bias == nullptr) return;
  const std::int64_t positions = p.positions;
  parallel_ranges(device, p.groups * p.outputs, positions,
                  [=](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t o = begin; o < end; ++o) {
                      const T b = bias[o];
                      T* const y = top + o * positions;
                      for (std::int64_t i = 0; i < positions; ++i) y[i] += b;
                    }
                  });
}

template <class T>
void backward_image(const Device& device, const Products& p, const T* top_gradient,
                    const T* weights, T* bottom_gradient, T* columns) {
  T* const patches = p.columns.identity ? bottom_gradient : columns;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    gemm(device, Transpose::kYes, Transpose::kNo, p.taps, p.positions, p.outputs, T(1),
         weights + g * p.outputs * p.taps, p.taps, top_gradient + g * p.outputs * p.positions,
         p.positions, T(0), patches + g * p.taps * p.positions, p.positions);
  }
  if (!p.columns.identity) {
    loops::col2im<Cpu>(device, p.columns, patches, bottom_gradient);
  }
}

/// bias_gradient[o] += sum of the row o of every image.
template <class T>
void add_bias_gradient(const Device& device, const ConvolutionShape& shape, const Products& p,
                       const T* top_gradient, T* bias_gradient) {
  const std::int64_t batch = shape.batch;
  const std::int64_t channels = shape.out_channels;
  const std::int64_t positions = p.positions;
  parallel_ranges(device, channels, batch * positions, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) {
        const T* const dy = top_gradient + (n * channels + o) * positions;
        constexpr int kLanes = 8;
        T lanes[kLanes] = {};
        std::int64_t i = 0;
        for (; i + kLanes <= positions; i += kLanes) {
          for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += dy[i + lane];
        }
        for (; i < positions; ++i) sum += static_cast<double>(dy[i]);
        for (const T lane : lanes) sum += static_cast<double>(lane);
      }
      bias_gradient[o] += static_cast<T>(sum);
    }
  });
}

class LoopConvolution final : public Convolution {
 public:
  LoopConvolution(Device& device, const ConvolutionShape& shape, Layout weights)
      : device_(device),
        shape_(shape),
        weights_layout_(std::move(weights)),
        weights_shape_(shape.weights()),
        products_(shape),
        workers_(std::clamp<std::int64_t>(shape.batch, 1, device.threads())) {
    // Images are shared out whole where there are enough to keep all threads busy.
    if (shape.batch < 2 * device.threads()) workers_ = 1;
  }

  void forward(const Tensor& bottom, const Tensor& weights, const Tensor& bias, const Tensor& top,
               void* scratch) override {
    const float* const w = plain_weights(weights, scratch);
    const float* const x = bottom.read();
    const float* const b = shape_.bias ? bias.read() : nullptr;
    float* const y = top.write();
    for_each_image(scratch, [this, w, x, b, y](std::int64_t n, float* columns) {
      forward_image(device_, products_, x + n * products_.bottom_image, w, b,
                    y + n * products_.top_image, columns);
    });
  }

  void backward_bottom(const Tensor& top_gradient, const Tensor& weights,
                       const Tensor& bottom_gradient, void* scratch) override {
    const float* const w = plain_weights(weights, scratch);
    const float* const dy = top_gradient.read();
    float* const dx = bottom_gradient.write();
    for_each_image(scratch, [this, w, dy, dx](std::int64_t n, float* columns) {
      backward_image(device_, products_, dy + n * products_.top_image, w,
                     dx + n * products_.bottom_image, columns);
    });
  }

  void backward_params(const Tensor& bottom, const Tensor& top_gradient,
                       const Tensor& weight_gradient, const Tensor& bias_gradient, bool accumulate,
                       bool accumulate_bias, void* scratch) override {
    float* db = nullptr;
    if (bias_gradient) {
      db = bias_gradient.update();
      if (!accumulate_bias) bias_gradient.fill_zero();
    }
    float* dw = nullptr;
    const bool convert = weight_gradient && !weights_layout_.is_plain();
    if (convert) {
      dw = converted(scratch);
      device_.fill_zero(dw, weights_bytes());
    } else if (weight_gradient) {
      dw = weight_gradient.update();
      if (!accumulate) weight_gradient.fill_zero();
    }
    convolution_backward_params_loop(device_, shape_, bottom.read(), top_gradient.read(), dw, db,
                                     columns(scratch));
    if (!convert) return;
    const Tensor plain(device_, weights_shape_, Layout(), dw);
    if (!accumulate) {
      reorder(plain, weight_gradient);
      return;
    }
    const Tensor packed(device_, weights_shape_, weights_layout_, dw + weights_bytes() / 4);
    reorder(plain, packed);
    axpy(device_, packed.elements(), 1, packed.read(), weight_gradient.update());
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = columns_bytes();
    if (!weights_layout_.is_plain()) {
      bytes += weights_bytes() +
               static_cast<std::size_t>(weights_layout_.elements(weights_shape_)) * sizeof(float);
    }
    return bytes;
  }
  std::string engine() const override { return "loop"; }

 private:
  // Scratch: the patches of each worker; then, where weights are packed, the plain ones and a
  // packed copy.
  static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  std::int64_t columns_elements() const {
    return static_cast<std::int64_t>(
        rounded(static_cast<std::size_t>(loop_columns(shape_)) * sizeof(float)) / sizeof(float));
  }
  std::size_t columns_bytes() const {
    return static_cast<std::size_t>(workers_ * columns_elements()) * sizeof(float);
  }
  std::size_t weights_bytes() const {
    return rounded(static_cast<std::size_t>(weights_shape_.count()) * sizeof(float));
  }
  float* columns(void* scratch) const { return static_cast<float*>(scratch); }
  float* converted(void* scratch) const { return columns(scratch) + columns_bytes() / 4; }

  const float* plain_weights(const Tensor& weights, void* scratch) const {
    if (weights_layout_.is_plain()) return weights.read();
    reorder(weights, Tensor(device_, weights_shape_, Layout(), converted(scratch)));
    return converted(scratch);
  }

  template <class Body>
  void for_each_image(void* scratch, const Body& body) {
    float* const all = columns(scratch);
    const std::int64_t batch = shape_.batch;
    const std::int64_t workers = workers_;
    const std::int64_t apart = columns_elements();
    const auto work = [=](std::int64_t worker) {
      const std::int64_t end = batch * (worker + 1) / workers;
      for (std::int64_t n = batch * worker / workers; n < end; ++n) body(n, all + worker * apart);
    };
    if (workers == 1) {
      work(0);
    } else {
      parallel_for(Cpu{}, device_, workers, work, shape_.multiply_adds() / workers / 16);
    }
  }

  Device& device_;
  ConvolutionShape shape_;
  Layout weights_layout_;
  Shape weights_shape_;
  Products products_;
  std::int64_t workers_;
};

}  // namespace

std::unique_ptr<Convolution> make_loop_convolution(Device& device, const ConvolutionShape& shape,
                                                   const Layout& weights) {
  return std::make_unique<LoopConvolution>(device, shape, weights);
}

std::int64_t loop_columns(const ConvolutionShape& shape) {
  const loops::ColumnShape columns(shape);
  return columns.identity ? 0 : columns.channels * columns.kernel_count * columns.out_count;
}

template <class T>
void convolution_forward_loop(const Device& device, const ConvolutionShape& shape, const T* bottom,
                              const T* weights, const T* bias, T* top, T* columns) {
  const Products p(shape);
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    forward_image(device, p, bottom + n * p.bottom_image, weights, bias, top + n * p.top_image,
                  columns);
  }
}

template <class T>
void convolution_backward_bottom_loop(const Device& device, const ConvolutionShape& shape,
                                      const T* top_gradient, const T* weights, T* bottom_gradient,
                                      T* columns) {
  const Products p(shape);
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    backward_image(device, p, top_gradient + n * p.top_image, weights,
                   bottom_gradient + n * p.bottom_image, columns);
  }
}

template <class T>
void convolution_backward_params_loop(const Device& device, const ConvolutionShape& shape,
                                      const T* bottom, const T* top_gradient, T* weight_gradient,
                                      T* bias_gradient, T* columns) {
  const Products p(shape);
  if (bias_gradient != nullptr) {
    add_bias_gradient(device, shape, p, top_gradient, bias_gradient);
  }
  if (weight_gradient == nullptr) return;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const T* patches = bottom + n * p.bottom_image;
    if (!p.columns.identity) {
      loops::im2col<Cpu>(device, p.columns, patches, columns);
      patches = columns;
    }
    const T* const dy = top_gradient + n * p.top_image;
    for (std::int64_t g = 0; g < p.groups; ++g) {
      gemm(device, Transpose::kNo, Transpose::kYes, p.outputs, p.taps, p.positions, T(1),
           dy + g * p.outputs * p.positions, p.positions, patches + g * p.taps * p.positions,
           p.positions, T(1), weight_gradient + g * p.outputs * p.taps, p.taps);
    }
  }
}

#define CREMA_INSTANTIATE(T)                                                                       \
  template void convolution_forward_loop(const Device&, const ConvolutionShape&, const T*,         \
                                         const T*, const T*, T*, T*);                              \
  template void convolution_backward_bottom_loop(const Device&, const ConvolutionShape&, const T*, \
                                                 const T*, T*, T*);                                \
  template void convolution_backward_params_loop(const Device&, const ConvolutionShape&, const T*, \
                                                 const T*, T*, T*, T*)
CREMA_FLOAT_AND_DOUBLE(CREMA_INSTANTIATE);
#undef CREMA_INSTANTIATE

}  // namespace crema
