// oneDNN behind our words: the only folder that sees its types.
//
// All primitives are made with scratchpad_mode::user (the library's own scratchpad crashes when
// primitives made by one thread run in two others), and both made and run under a ThreadScope (a
// primitive keeps the number of threads that it was made for).
#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace crema::cpu {

/// One a Device, by device.backend<DnnlBackend>().
struct DnnlBackend {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// A layout that oneDNN chose, for example packed convolution weights.
class DnnlDescription final : public Layout::Description {
 public:
  explicit DnnlDescription(const dnnl::memory::desc& desc) : desc_(desc) {}

  std::string name() const override;
  std::int64_t elements() const override {
    return static_cast<std::int64_t>(desc_.get_size() / sizeof(float));
  }
  bool equals(const Layout::Description& other) const override {
    return desc_ == static_cast<const DnnlDescription&>(other).desc_;
  }
  const dnnl::memory::desc& desc() const { return desc_; }

 private:
  dnnl::memory::desc desc_;
};

inline dnnl::memory::dims dims_of(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

/// Row-major float memory of these dimensions.
dnnl::memory::desc row_major(const dnnl::memory::dims& dims);

/// The layout of memory that oneDNN describes by `desc`; plain if it is row-major.
Layout layout_of(const dnnl::memory::desc& desc);

/// For primitives: scratchpad handed in by the caller.
dnnl::primitive_attr user_scratchpad();

/// A primitive with the memory objects of its arguments, made once: a call only changes addresses
/// and allocates nothing on our side.
class DnnlCall {
 public:
  struct Argument {
    int name;  ///< DNNL_ARG_SRC and so on
    dnnl::memory::desc desc;
  };

  DnnlCall() = default;
  /// Arguments of no size (a scratchpad that is not needed) are never handed over.
  DnnlCall(const dnnl::engine& engine, dnnl::primitive primitive,
           std::initializer_list<Argument> arguments);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  /// Runs on memory at these addresses, one for each argument of the constructor, in its order.
  /// oneDNN knows no const memory; it writes only to what the primitive gives out.
  void run(const Device& device, const DnnlBackend& backend,
           std::initializer_list<const void*> addresses);

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  ///< as the constructor's; empty for those of no size
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Copies floats between two descriptions of the same dimensions. The primitive is kept with the
/// device.
void reorder_memory(Device& device, const dnnl::memory::desc& from_desc, const float* from,
                    const dnnl::memory::desc& to_desc, float* to);

}  // namespace crema::cpu
