// What the build in double leaves out: engines of libraries that know floats only, which decline
// here so that the loops run, and layers that read records or write them.
#include "base/error.h"
#include "layers/layer.h"
#include "primitives/channels_last.h"
#include "primitives/cpu/convolution.h"
#include "primitives/cpu/pooling.h"
#include "primitives/cpu/reorder.h"
#include "proto/io.h"

namespace crema {
namespace cpu {

std::optional<ConvolutionLayouts> onednn_convolution_layouts(Device&, const ConvolutionShape&, bool,
                                                             bool) {
  return std::nullopt;
}

std::unique_ptr<Convolution> make_onednn_convolution(Device&, const ConvolutionShape&,
                                                     const Layout&, const Layout&, const Layout&,
                                                     bool, bool, std::string* refusal) {
  *refusal = "floats only";
  return nullptr;
}

std::unique_ptr<Pooling> make_onednn_pooling(Device&, const PoolingShape&, const Layout&, bool,
                                             bool, std::string* refusal) {
  *refusal = "onednn: floats only";
  return nullptr;
}

/// Between plain and channels-last, all the layouts that there are here.
void reorder(Device&, const Shape& shape, const Layout& from_layout, const float* from,
             const Layout& to_layout, float* to) {
  CREMA_ASSERT(from_layout.is_plain() != to_layout.is_plain());
  const bool last = from_layout.is_plain();
  const auto* const axes = (last ? to_layout : from_layout).as<ChannelsLastDescription>();
  CREMA_ASSERT(axes != nullptr);
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const std::int64_t position = i % axes->positions();
    const std::int64_t channel = i / axes->positions() % axes->channels();
    const std::int64_t row = i / axes->positions() / axes->channels();
    const std::int64_t there = (row * axes->positions() + position) * axes->channels() + channel;
    to[last ? there : i] = from[last ? i : there];
  }
}

}  // namespace cpu

/// The matrix of an InfogainLoss; here it comes as a bottom.
void read_binary(const std::string& path, google::protobuf::Message*) {
  fail("{}: no files are read in double precision", path);
}

#define CREMA_MISSING(name)                                          \
  std::unique_ptr<Layer> name(const caffe::LayerParameter&) {        \
    fail("this layer is not part of the build in double precision"); \
  }
CREMA_MISSING(make_data)
CREMA_MISSING(make_hdf5_data)
CREMA_MISSING(make_hdf5_output)
CREMA_MISSING(make_image_data)
CREMA_MISSING(make_window_data)

}  // namespace crema
