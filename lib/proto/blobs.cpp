#include "proto/blobs.h"

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace crema {
namespace {

/// NVIDIA's enumeration Type.
enum RawType { kDouble = 0, kFloat = 1, kHalf = 2, kInt = 3, kUint = 4, kBool = 5 };

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  float value = 0;
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    value = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

template <class T>
std::vector<float> widened(const std::string& raw) {
  std::vector<float> values(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(value);
  }
  return values;
}

std::vector<float> raw_values(const std::string& raw, int type, const Shape& shape) {
  static constexpr std::int64_t kSizes[] = {8, 4, 2, 4, 4, 1};
  require(type >= kDouble && type <= kBool, "the values are of an unknown raw type: {}", type);
  const std::int64_t size = kSizes[type];
  require(static_cast<std::int64_t>(raw.size()) % size == 0 &&
              static_cast<std::int64_t>(raw.size()) / size == shape.count(),
          "the shape {} needs {} values of {} bytes, but {} bytes are stored", shape.str(),
          shape.count(), size, raw.size());
  switch (type) {
    case kDouble:
      return widened<double>(raw);
    case kFloat:
      return widened<float>(raw);
    case kInt:
      return widened<std::int32_t>(raw);
    case kUint:
      return widened<std::uint32_t>(raw);
    case kBool:
      return widened<std::uint8_t>(raw);
    default:
      break;
  }
  std::vector<float> values(raw.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, raw.data() + 2 * i, sizeof half);
    values[i] = from_half(half);
  }
  return values;
}

void clear_raw(caffe::BlobProto* blob) {
  blob->clear_raw_data();
  blob->clear_raw_data_type();
  blob->clear_raw_diff();
  blob->clear_raw_diff_type();
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
  if (stored == 0 && blob.has_raw_data()) {
    return raw_values(blob.raw_data(), blob.raw_data_type(), shape);
  }
  require(stored == shape.count(), "the shape {} needs {} values, but {} are stored", shape.str(),
          shape.count(), stored);
  if (doubles) return std::vector<float>(blob.double_data().begin(), blob.double_data().end());
  return std::vector<float>(blob.data().begin(), blob.data().end());
}

int widen_raw_blobs(caffe::NetParameter* net) {
  int widened = 0;
  const auto widen = [&](const std::string& layer, caffe::BlobProto* blob) {
    if (!blob->has_raw_data() && !blob->has_raw_diff()) return;
    with_context([&] { return fmt::format("layer \"{}\"", layer); },
                 [&] {
                   const Shape shape = stored_shape(*blob);
                   if (blob->has_raw_data() && blob->data_size() + blob->double_data_size() == 0) {
                     const auto data = raw_values(blob->raw_data(), blob->raw_data_type(), shape);
                     blob->mutable_data()->Assign(data.begin(), data.end());
                   }
                   if (blob->has_raw_diff() && blob->diff_size() + blob->double_diff_size() == 0) {
                     const auto diff = raw_values(blob->raw_diff(), blob->raw_diff_type(), shape);
                     blob->mutable_diff()->Assign(diff.begin(), diff.end());
                   }
                 });
    clear_raw(blob);
    ++widened;
  };
  for (caffe::LayerParameter& layer : *net->mutable_layer()) {
    for (caffe::BlobProto& blob : *layer.mutable_blobs()) widen(layer.name(), &blob);
  }
  return widened;
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
  blob->clear_raw_data();
  blob->clear_raw_data_type();
  blob->mutable_shape()->mutable_dim()->Assign(shape.dims().begin(), shape.dims().end());
  blob->mutable_data()->Clear();
  blob->mutable_data()->Add(values, values + shape.count());
}

}  // namespace crema
