// What layers say alike about the fields of their `..._param` message.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "caffe.pb.h"
#include "layers/layer.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace crema {

/// Caffe's axis rule (see Shape::canonical_axis) with the field's name in the error.
int axis_of(const Shape& shape, int axis, const char* field);

/// Likewise where the axis may be given by an older field instead (Concat, Slice); `message` and
/// `older` name both.
int axis_of(const Shape& shape, int axis, std::optional<std::uint32_t> older_axis,
            const char* message, const char* older);

/// A parameter to be filled, after a check of the filler whose errors name `field`.
ParamDef param_def(Shape shape, const caffe::FillerParameter& filler, const char* field);

/// `engine: CUDNN` chose between two implementations in Caffe; here it is a hint without effect.
/// Says so once, so that nobody thinks that a GPU is at work.
void note_engine(const Layer& layer, bool cudnn, const char* field);

/// in + 2 * pad, in range for further sums; a user error where it is not.
std::int64_t padded_size(std::int64_t in, std::int64_t pad);

/// The product of counts: how many multiply-adds a pass takes. A user error where nobody could wait
/// for that many.
std::int64_t work_of(std::initializer_list<std::int64_t> counts);

/// The number of outputs of `field`, at least 1.
std::int64_t num_output_of(bool given, std::uint32_t value, const char* field);

/// The same memory under another shape; for plain tensors.
Tensor with_shape(const Tensor& tensor, const Shape& shape);

/// Where value `index` of a bottom stands in the data, for errors: "item 3", with its position in
/// the item and the record that it came from where there are such.
std::string place_of(const RunContext& run, int bottom, std::int64_t index);

/// One element in memory, from whatever device.
float value_at(const Tensor& tensor, std::int64_t index);

/// The choice in which every tensor is plain.
LayoutChoice plain_choice(const LayoutRequest& request);

/// Every bottom and top plain, or (where that differs) every one channels-last: for layers that
/// take both alike.
std::vector<LayoutChoice> plain_or_channels_last(const LayoutRequest& request);

}  // namespace crema
