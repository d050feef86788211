#include "proto/blobs.h"

#include <google/protobuf/unknown_field_set.h>

#include "base/error.h"

namespace crema {
namespace {

constexpr int kRawDataField = 12;  // BlobProto.raw_data of NVIDIA's fork: half floats

bool has_half_floats(const caffe::BlobProto& blob) {
  const auto& unknown = blob.GetReflection()->GetUnknownFields(blob);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() == kRawDataField) return true;
  }
  return false;
}

}  // namespace

bool is_legacy(const caffe::BlobProto& blob) {
  return blob.has_num() || blob.has_channels() || blob.has_height() || blob.has_width();
}

Shape stored_shape(const caffe::BlobProto& blob) {
  if (is_legacy(blob)) return Shape{blob.num(), blob.channels(), blob.height(), blob.width()};
  return Shape(std::vector<std::int64_t>(blob.shape().dim().begin(), blob.shape().dim().end()));
}

std::vector<float> values(const caffe::BlobProto& blob) {
  const Shape shape = stored_shape(blob);
  const bool doubles = blob.double_data_size() > 0;
  const int stored = doubles ? blob.double_data_size() : blob.data_size();
  if (stored == 0 && shape.count() != 0 && has_half_floats(blob)) {
    fail(
        "the values are half floats as NVIDIA Caffe (NVCaffe) writes them, which Crema does not "
        "read yet");
  }
  require(stored == shape.count(), "the shape {} needs {} values, but {} are stored", shape.str(),
          shape.count(), stored);
  if (doubles) return std::vector<float>(blob.double_data().begin(), blob.double_data().end());
  return std::vector<float>(blob.data().begin(), blob.data().end());
}

bool shape_fits(const Shape& stored, bool legacy, const Shape& parameter) {
  if (!legacy) return stored == parameter;
  if (parameter.axes() > 4) return false;
  for (int from_end = 1; from_end <= 4; ++from_end) {
    const std::int64_t dim =
        from_end <= parameter.axes() ? parameter[parameter.axes() - from_end] : 1;
    if (stored[4 - from_end] != dim) return false;
  }
  return true;
}

bool shape_fits(const caffe::BlobProto& blob, const Shape& parameter) {
  return shape_fits(stored_shape(blob), is_legacy(blob), parameter);
}

void to_proto(const Shape& shape, const float* values, caffe::BlobProto* blob) {
  blob->clear_num();
  blob->clear_channels();
  blob->clear_height();
  blob->clear_width();
  blob->clear_double_data();
  blob->mutable_shape()->mutable_dim()->Assign(shape.dims().begin(), shape.dims().end());
  blob->mutable_data()->Clear();
  blob->mutable_data()->Add(values, values + shape.count());
}

}  // namespace crema
