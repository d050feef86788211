// Arrays between BlobProto and memory.
#pragma once

#include <vector>

#include "caffe.pb.h"
#include "tensor/shape.h"

namespace crema {

/// Whether the shape is given the old way, as num, channels, height and width.
bool is_legacy(const caffe::BlobProto& blob);

/// The shape as stored; four axes in the legacy form.
Shape stored_shape(const caffe::BlobProto& blob);

/// The values: double_data if there are any, else data, else NVIDIA's raw_data of any type. Fails
/// when their number is not that of the shape.
std::vector<float> values(const caffe::BlobProto& blob);

/// Turns values and gradients in NVIDIA's raw form into floats; the number of blobs that had them.
int widen_raw_blobs(caffe::NetParameter* net);

/// Whether a stored shape is that of a parameter. A legacy shape is compared from the end, with 1
/// for the axes that the parameter lacks: a bias of N values matches 1x1x1xN.
bool shape_fits(const Shape& stored, bool legacy, const Shape& parameter);
bool shape_fits(const caffe::BlobProto& blob, const Shape& parameter);

/// Writes shape and values (the new form); the gradient is left alone.
void to_proto(const Shape& shape, const float* values, caffe::BlobProto* blob);

}  // namespace crema
