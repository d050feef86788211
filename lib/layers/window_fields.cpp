// Caffe's rules for the two ways to give a window, with all that its own code divides by or reads
// out of bounds refused.
#include "layers/window_fields.h"

#include "layers/fields.h"

namespace crema {
namespace {

/// The fields NAME_h and NAME_w, given in place of NAME (whose values were `count`).
Sizes height_width(const char* name, const char* plain_name, int count, std::size_t axes,
                   std::int64_t h, std::int64_t w) {
  require(count == 0,
          "convolution_param.{} is given together with {}_h or {}_w; give one kind only",
          plain_name, name, name);
  require(axes == 2, "convolution_param.{}_h and {}_w are for 2 spatial axes, not {}", name, name,
          axes);
  return {h, w};
}

Sizes kernel_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  Sizes kernel;
  if (p.has_kernel_h() || p.has_kernel_w()) {
    require(p.has_kernel_h() && p.has_kernel_w(),
            "convolution_param.kernel_{} is missing: kernel_h and kernel_w go together",
            p.has_kernel_h() ? 'w' : 'h');
    kernel = height_width("kernel", "kernel_size", p.kernel_size_size(), axes, p.kernel_h(),
                          p.kernel_w());
  } else {
    require(p.kernel_size_size() > 0 || axes == 0, "convolution_param.kernel_size is missing");
    kernel = per_axis("convolution_param.kernel_size", p.kernel_size(), axes, 0);
  }
  require_positive("convolution_param.kernel_size", kernel);
  return kernel;
}

Sizes stride_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  Sizes stride;
  if (p.has_stride_h() || p.has_stride_w()) {
    require(p.has_stride_h() && p.has_stride_w(),
            "convolution_param.stride_{} is missing: stride_h and stride_w go together",
            p.has_stride_h() ? 'w' : 'h');
    stride = height_width("stride", "stride", p.stride_size(), axes, p.stride_h(), p.stride_w());
  } else {
    stride = per_axis("convolution_param.stride", p.stride(), axes, 1);
  }
  require_positive("convolution_param.stride", stride);
  return stride;
}

Sizes pad_of(const caffe::ConvolutionParameter& p, std::size_t axes) {
  // One of the two alone is legal here; the other is 0.
  if (p.has_pad_h() || p.has_pad_w()) {
    return height_width("pad", "pad", p.pad_size(), axes, p.pad_h(), p.pad_w());
  }
  return per_axis("convolution_param.pad", p.pad(), axes, 0);
}

}  // namespace

void require_positive(const char* name, const Sizes& values) {
  for (const std::int64_t value : values) {
    require(value > 0, "{} is 0, it must be at least 1", name);
  }
}

std::optional<std::int64_t> WindowFields::extent(std::size_t axis) const {
  std::int64_t extent = 0;
  if (__builtin_mul_overflow(dilation[axis], kernel[axis] - 1, &extent) ||
      __builtin_add_overflow(extent, std::int64_t{1}, &extent)) {
    return std::nullopt;
  }
  return extent;
}

std::string WindowFields::kernel_text(std::size_t axis) const {
  std::string text = fmt::format("{}", kernel[axis]);
  if (dilation[axis] > 1) {
    const std::optional<std::int64_t> spans = extent(axis);
    text += fmt::format(" (dilation {}{})", dilation[axis],
                        spans ? fmt::format(", so {}", *spans) : std::string());
  }
  return text;
}

WindowFields window_fields(const caffe::ConvolutionParameter& parameter, std::size_t axes) {
  WindowFields windows;
  windows.kernel = kernel_of(parameter, axes);
  windows.stride = stride_of(parameter, axes);
  windows.pad = pad_of(parameter, axes);
  windows.dilation = per_axis("convolution_param.dilation", parameter.dilation(), axes, 1);
  require_positive("convolution_param.dilation", windows.dilation);
  return windows;
}

Sizes window_counts(const WindowFields& windows, const Shape& bottom, int first_axis) {
  Sizes counts;
  for (std::size_t i = 0; i < windows.kernel.size(); ++i) {
    const std::int64_t in = bottom[first_axis + static_cast<int>(i)];
    const std::int64_t padded = padded_size(in, windows.pad[i]);
    const std::optional<std::int64_t> extent = windows.extent(i);
    const std::int64_t count = extent ? (padded - *extent) / windows.stride[i] + 1 : 0;
    require(count > 0,
            "the kernel {} is larger than the padded input: input {} ({}), pad {} on both sides",
            windows.kernel_text(i), in, bottom.str(), windows.pad[i]);
    counts.push_back(count);
  }
  return counts;
}

}  // namespace crema
