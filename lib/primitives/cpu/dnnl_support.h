// oneDNN behind our words: the only folder that sees its types.
//
// All primitives are made with scratchpad_mode::user (the library's own scratchpad crashes when
// primitives made by one thread run in two others), and both made and run under a ThreadScope (a
// primitive keeps the number of threads that it was made for).
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>

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

/// Row-major float memory of these dimensions.
dnnl::memory::desc row_major(const dnnl::memory::dims& dims);

/// The layout of memory that oneDNN describes by `desc`; plain if it is row-major.
Layout layout_of(const dnnl::memory::desc& desc);

/// For primitives: scratchpad handed in by the caller.
dnnl::primitive_attr user_scratchpad();

/// Copies floats between two descriptions of the same dimensions. The primitive is kept with the
/// device.
void reorder_memory(Device& device, const dnnl::memory::desc& from_desc, const float* from,
                    const dnnl::memory::desc& to_desc, float* to);

}  // namespace crema::cpu
