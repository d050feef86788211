// oneDNN pools small blobs faster than our loops. Its windows are given by padding on both sides,
// so Caffe's rounding up becomes more padding on the right, where oneDNN allows that.
#include "primitives/cpu/pooling.h"

#include <fmt/format.h>

#include <algorithm>
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
                const std::optional<Backward::primitive_desc>& backward)
      : device_(device),
        backend_(device.backend<DnnlBackend>()),
        engine_(fmt::format("onednn {}", forward.impl_info_str())),
        workspace_bytes_(backward ? forward.workspace_desc().get_size() : 0),
        scratch_bytes_(forward.scratchpad_desc().get_size()) {
    const ThreadScope threads(device);
    forward_ = DnnlCall(backend_.engine, Forward(forward),
                        {{DNNL_ARG_SRC, forward.src_desc()},
                         {DNNL_ARG_DST, forward.dst_desc()},
                         {DNNL_ARG_WORKSPACE, forward.workspace_desc()},
                         {DNNL_ARG_SCRATCHPAD, forward.scratchpad_desc()}});
    if (!backward) return;
    backward_ = DnnlCall(backend_.engine, Backward(*backward),
                         {{DNNL_ARG_DIFF_DST, backward->diff_dst_desc()},
                          {DNNL_ARG_DIFF_SRC, backward->diff_src_desc()},
                          {DNNL_ARG_WORKSPACE, backward->workspace_desc()},
                          {DNNL_ARG_SCRATCHPAD, backward->scratchpad_desc()}});
    scratch_bytes_ = std::max(scratch_bytes_, backward->scratchpad_desc().get_size());
  }

  void forward(const Tensor& bottom, const Tensor& top, void* workspace, void* scratch) override {
    forward_.run(device_, backend_, {bottom.read(), top.write(), workspace, scratch});
  }

  void backward(const Tensor& top_gradient, const Tensor& bottom_gradient, const void* workspace,
                void* scratch) override {
    CREMA_ASSERT(static_cast<bool>(backward_));
    backward_.run(device_, backend_,
                  {top_gradient.read(), bottom_gradient.write(), workspace, scratch});
  }

  void write_mask(const void*, const Tensor&) override { CREMA_ASSERT(!"planned without a mask"); }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string engine() const override { return engine_; }

 private:
  Device& device_;
  DnnlBackend& backend_;
  std::string engine_;
  std::size_t workspace_bytes_, scratch_bytes_;
  DnnlCall forward_, backward_;
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
  const memory::desc bottom(dims_of(s.bottom()), memory::data_type::f32, tag);
  const memory::desc top(dims_of(s.top()), memory::data_type::f32, tag);
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
    return std::make_unique<OnednnPooling>(device, forward_plan, backward_plan);
  } catch (const dnnl::error& error) {
    return refuse(error.what());
  }
}

}  // namespace crema::cpu
