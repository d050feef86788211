#include "primitives/cpu/pooling.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "kernels/thread_scope.h"
#include "primitives/cpu/dnnl_support.h"
#include "primitives/layouts.h"

namespace crema::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

/// Blobs beyond this are bound by memory, where our loops are as fast forward and faster backward.
constexpr std::size_t kCacheBytes = std::size_t{16} << 20;

/// What the given output size needs behind the last input: Caffe rounds the size up.
std::int64_t right_pad(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                       std::int64_t pad) {
  return (out - 1) * stride + kernel - in - pad;
}

/// oneDNN divides by the whole window or by what lies in the image; Caffe by the window cut at the
/// padded image.
std::optional<dnnl::algorithm> algorithm_for(const PoolingShape& s, std::int64_t right_h,
                                             std::int64_t right_w) {
  if (s.method == PoolMethod::kMax) return dnnl::algorithm::pooling_max;
  if (s.pad_h == 0 && s.pad_w == 0) return dnnl::algorithm::pooling_avg_exclude_padding;
  if (right_h <= s.pad_h && right_w <= s.pad_w) {
    return dnnl::algorithm::pooling_avg_include_padding;
  }
  return std::nullopt;
}

class OnednnPooling final : public Pooling {
 public:
  OnednnPooling(Device& device, const Forward::primitive_desc& forward,
                const std::optional<Backward::primitive_desc>& backward, bool max)
      : device_(device), forward_plan_(forward), forward_(forward), max_(max) {
    if (backward) {
      backward_plan_ = backward;
      backward_ = Backward(*backward);
    }
  }

  void forward(const Tensor& bottom, const Tensor& top, void* workspace, void* scratch) override {
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, memory_at(forward_plan_.src_desc(), bottom.read())},
        {DNNL_ARG_DST, memory_at(forward_plan_.dst_desc(), top.write())},
        {DNNL_ARG_SCRATCHPAD, memory_at(forward_plan_.scratchpad_desc(), scratch)}};
    if (workspace_bytes() > 0) {
      arguments.emplace(DNNL_ARG_WORKSPACE, memory_at(forward_plan_.workspace_desc(), workspace));
    }
    const ThreadScope threads(device_);
    forward_.execute(stream(), arguments);
  }

  void backward(const Tensor& top_gradient, const Tensor& bottom_gradient, const void* workspace,
                void* scratch) override {
    CREMA_ASSERT(backward_plan_.has_value());
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_DIFF_DST, memory_at(backward_plan_->diff_dst_desc(), top_gradient.read())},
        {DNNL_ARG_DIFF_SRC, memory_at(backward_plan_->diff_src_desc(), bottom_gradient.write())},
        {DNNL_ARG_SCRATCHPAD, memory_at(backward_plan_->scratchpad_desc(), scratch)}};
    if (workspace_bytes() > 0) {
      arguments.emplace(DNNL_ARG_WORKSPACE, memory_at(backward_plan_->workspace_desc(), workspace));
    }
    const ThreadScope threads(device_);
    backward_.execute(stream(), arguments);
  }

  void write_mask(const void*, const Tensor&) override { CREMA_ASSERT(!"planned without a mask"); }

  std::size_t workspace_bytes() const override {
    return max_ && backward_plan_ ? forward_plan_.workspace_desc().get_size() : 0;
  }
  std::size_t scratch_bytes() const override {
    const std::size_t forward = forward_plan_.scratchpad_desc().get_size();
    return backward_plan_ ? std::max(forward, backward_plan_->scratchpad_desc().get_size())
                          : forward;
  }
  std::string engine() const override {
    return std::string("onednn ") + forward_plan_.impl_info_str();
  }

 private:
  dnnl::stream& stream() const { return device_.backend<DnnlBackend>().stream; }
  memory memory_at(const memory::desc& desc, const void* data) const {
    return {desc, device_.backend<DnnlBackend>().engine, const_cast<void*>(data)};
  }

  Device& device_;
  Forward::primitive_desc forward_plan_;
  Forward forward_;
  std::optional<Backward::primitive_desc> backward_plan_;
  Backward backward_;
  bool max_;
};

}  // namespace

std::unique_ptr<Pooling> make_onednn_pooling(Device& device, const PoolingShape& s,
                                             const Layout& layout, bool backward, bool mask,
                                             std::string* refusal) {
  const auto refuse = [&](const std::string& reason) -> std::unique_ptr<Pooling> {
    *refusal = "onednn: " + reason;
    return nullptr;
  };
  if (s.bottom().count() == 0) return refuse("the blob is empty");
  if (mask) return refuse("a second top asks for the winners' indices");
  if (static_cast<std::size_t>(s.bottom().count()) * sizeof(float) > kCacheBytes) {
    return refuse("the blob is larger than the caches, where the loop is as fast");
  }
  const std::int64_t right_h = right_pad(s.in_h, s.out_h, s.kernel_h, s.stride_h, s.pad_h);
  const std::int64_t right_w = right_pad(s.in_w, s.out_w, s.kernel_w, s.stride_w, s.pad_w);
  if (right_h < 0 || right_w < 0) return refuse("the last inputs are in no window");
  if (right_h >= s.kernel_h || right_w >= s.kernel_w) {
    return refuse("a window lies outside the image");
  }
  const auto algorithm = algorithm_for(s, right_h, right_w);
  if (!algorithm) return refuse("it counts padding in the average otherwise than Caffe");

  const auto tag = is_channels_last(layout) ? memory::format_tag::nhwc : memory::format_tag::nchw;
  const memory::desc bottom(s.bottom().dims(), memory::data_type::f32, tag);
  const memory::desc top(s.top().dims(), memory::data_type::f32, tag);
  const memory::dims stride = {s.stride_h, s.stride_w}, kernel = {s.kernel_h, s.kernel_w};
  const memory::dims left = {s.pad_h, s.pad_w}, right = {right_h, right_w};
  const dnnl::engine& engine = device.backend<DnnlBackend>().engine;
  const ThreadScope threads(device);
  try {
    const Forward::primitive_desc forward_plan(
        {backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
         *algorithm, bottom, top, stride, kernel, left, right},
        user_scratchpad(), engine);
    const std::string implementation = forward_plan.impl_info_str();
    if (implementation.find("jit") == std::string::npos) {
      return refuse("it has only " + implementation + " for this");
    }
    std::optional<Backward::primitive_desc> backward_plan;
    if (backward) {
      backward_plan.emplace(Backward::desc(*algorithm, bottom, top, stride, kernel, left, right),
                            user_scratchpad(), engine, forward_plan);
    }
    return std::make_unique<OnednnPooling>(device, forward_plan, backward_plan,
                                           s.method == PoolMethod::kMax);
  } catch (const dnnl::error& error) {
    return refuse(error.what());
  }
}

}  // namespace crema::cpu
