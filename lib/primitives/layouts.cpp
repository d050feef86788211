// Channels-last and plain are the layouts that engines of all devices share, so they are made here;
// what a library packs for itself stays behind that library's folder.
#include "primitives/layouts.h"

#include <memory>

#include "base/error.h"
#include "primitives/channels_last.h"
#include "primitives/cpu/reorder.h"

namespace crema {
namespace {

Layout make(ChannelsLastDescription::Role role, std::int64_t rows, std::int64_t channels,
            std::int64_t positions) {
  const bool same_as_plain = rows == 0 || channels <= 1 || positions <= 1;
  if (same_as_plain) return Layout();
  return Layout(std::make_shared<ChannelsLastDescription>(role, rows, channels, positions));
}

}  // namespace

Layout channels_last(const Shape& shape) {
  if (shape.axes() < 3 || shape.axes() > 5) return Layout();
  return make(ChannelsLastDescription::Role::kBlob, shape[0], shape[1], shape.count_from(2));
}

bool is_channels_last(const Layout& layout) {
  const auto* description = layout.as<ChannelsLastDescription>();
  return description != nullptr && description->role() == ChannelsLastDescription::Role::kBlob;
}

Layout channels_last_weights(std::int64_t num_output, const Shape& bottom) {
  if (channels_last(bottom).is_plain()) return Layout();
  return make(ChannelsLastDescription::Role::kWeights, num_output, bottom[1], bottom.count_from(2));
}

void reorder(const Tensor& from, const Tensor& to) {
  CREMA_ASSERT(from.shape() == to.shape());
  if (from.layout() == to.layout()) {
    from.copy_to(to);
    return;
  }
  CREMA_ASSERT(to.device().kind() == DeviceKind::kCpu);
  cpu::reorder(to.device(), from.shape(), from.layout(), from.read(), to.layout(), to.write());
}

}  // namespace crema
