// Checks and errors that several layers share, so that a field is refused in the same words
// wherever it stands. Sizes come from 32-bit fields and dimensions of any size: what is computed
// from them is checked for overflow here.
#include "layers/fields.h"

#include <glog/logging.h>

#include <algorithm>

#include "base/error.h"
#include "layers/filler.h"
#include "primitives/layouts.h"

namespace crema {

int axis_of(const Shape& shape, int axis, const char* field) {
  return with_context(field, [&] { return shape.canonical_axis(axis); });
}

int axis_of(const Shape& shape, int axis, std::optional<std::uint32_t> older_axis,
            const char* message, const char* older) {
  if (!older_axis) return axis_of(shape, axis, fmt::format("{}.axis", message).c_str());
  require(static_cast<std::int64_t>(*older_axis) < shape.axes(),
          "{}.{}: axis {} does not exist in a blob of {} axes ({})", message, older, *older_axis,
          shape.axes(), shape.str());
  return static_cast<int>(*older_axis);
}

ParamDef param_def(Shape shape, const caffe::FillerParameter& filler, const char* field) {
  with_context(field, [&] { check_filler(filler, shape); });
  return {std::move(shape), filler};
}

void note_engine(const Layer& layer, bool cudnn, const char* field) {
  if (!cudnn) return;
  const std::string position = layer.position(field);
  LOG(WARNING) << position << (position.empty() ? "" : ": ") << "layer \"" << layer.name()
               << "\": " << field
               << ": CUDNN has no effect, the fastest engine of the device is used";
}

std::int64_t padded_size(std::int64_t in, std::int64_t pad) {
  std::int64_t size = 0;
  require(!__builtin_mul_overflow(pad, std::int64_t{2}, &size) &&
              !__builtin_add_overflow(size, in, &size) && size < std::int64_t{1} << 62,
          "the padded input is too large: {}, pad {} on both sides", in, pad);
  return size;
}

std::int64_t work_of(std::initializer_list<std::int64_t> counts) {
  // Far from 2^63, since the work of layers is added up.
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return 0;
  std::int64_t work = 1;
  for (const std::int64_t count : counts) {
    require(!__builtin_mul_overflow(work, count, &work) && work <= kMost,
            "the layer is too large: a pass takes more than {} multiply-adds", kMost);
  }
  return work;
}

std::int64_t num_output_of(bool given, std::uint32_t value, const char* field) {
  require(given, "{} is missing: the number of outputs must be given", field);
  require(value > 0, "{} is 0, it must be at least 1", field);
  return value;
}

Tensor with_shape(const Tensor& tensor, const Shape& shape) {
  if (!tensor) return tensor;
  CREMA_ASSERT(tensor.layout().is_plain() && tensor.shape().count() == shape.count());
  return Tensor(tensor.device(), shape, tensor.layout(), tensor.update());
}

std::string place_of(const RunContext& run, int bottom, std::int64_t index) {
  // With a value at hand no dimension is 0.
  const Shape& shape = run.bottoms[static_cast<std::size_t>(bottom)].shape();
  const std::int64_t per_item = shape.axes() > 0 ? shape.count_from(1) : 1;
  const std::int64_t item = index / per_item;
  std::string place = fmt::format("item {}", item);
  if (per_item > 1) place += fmt::format(", position {}", index % per_item);
  const std::string record =
      run.describe_item ? run.describe_item(static_cast<int>(item)) : std::string();
  if (!record.empty()) place += fmt::format(" ({})", record);
  return place;
}

float value_at(const Tensor& tensor, std::int64_t index) {
  float value = 0;
  tensor.device().copy_to_host(tensor.read() + index, &value, sizeof value);
  return value;
}

LayoutChoice plain_choice(const LayoutRequest& request) {
  LayoutChoice choice;
  choice.bottoms.resize(request.bottoms.size());
  choice.tops.resize(request.tops.size());
  choice.params.resize(request.params.size());
  return choice;
}

std::vector<LayoutChoice> plain_or_channels_last(const LayoutRequest& request) {
  std::vector<LayoutChoice> choices = {plain_choice(request)};
  LayoutChoice last = choices[0];
  bool differs = false;
  for (std::size_t i = 0; i < request.bottoms.size(); ++i) {
    last.bottoms[i] = channels_last(request.bottoms[i]);
    differs = differs || !last.bottoms[i].is_plain();
  }
  for (std::size_t i = 0; i < request.tops.size(); ++i) {
    last.tops[i] = channels_last(request.tops[i]);
    differs = differs || !last.tops[i].is_plain();
  }
  if (differs) choices.push_back(std::move(last));
  return choices;
}

}  // namespace crema
