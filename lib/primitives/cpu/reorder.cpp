// Layouts in oneDNN's words. One blob may be described under several shapes (groups as an axis,
// positions as one axis): a reorder needs one that both sides share.
#include "primitives/cpu/reorder.h"

#include "base/error.h"
#include "primitives/channels_last.h"
#include "primitives/cpu/dnnl_support.h"

namespace crema::cpu {
namespace {

/// The dimensions under which a layout describes its blob: a view of the blob's shape as one packed
/// layout needs it (groups as an axis of their own). Empty for plain, which any view of the shape
/// describes.
dnnl::memory::dims view_of(const Layout& layout) {
  if (const auto* packed = layout.as<DnnlDescription>()) return packed->desc().dims();
  if (const auto* last = layout.as<ChannelsLastDescription>()) {
    return {last->rows(), last->channels(), last->positions()};
  }
  return {};
}

dnnl::memory::desc describe(const Layout& layout, const dnnl::memory::dims& view) {
  if (const auto* packed = layout.as<DnnlDescription>()) return packed->desc();
  if (const auto* last = layout.as<ChannelsLastDescription>()) {
    return {view, dnnl::memory::data_type::f32,
            dnnl::memory::dims{last->channels() * last->positions(), 1, last->channels()}};
  }
  return row_major(view);
}

}  // namespace

void reorder(Device& device, const Shape& shape, const Layout& from_layout, const float* from,
             const Layout& to_layout, float* to) {
  if (shape.count() == 0) return;
  dnnl::memory::dims view = view_of(from_layout);
  const dnnl::memory::dims to_view = view_of(to_layout);
  if (view.empty()) view = to_view;
  CREMA_ASSERT(!view.empty());
  if (!to_view.empty() && to_view != view) {
    // Two packed layouts that see the shape differently meet in plain order.
    Buffer plain(device, static_cast<std::size_t>(shape.count()) * sizeof(float));
    reorder(device, shape, from_layout, from, Layout(), plain.floats());
    reorder(device, shape, Layout(), plain.floats(), to_layout, to);
    return;
  }
  reorder_memory(device, describe(from_layout, view), from, describe(to_layout, view), to);
}

}  // namespace crema::cpu
