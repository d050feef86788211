#include "data/mean.h"

#include <numeric>

#include "base/error.h"
#include "data/datum.h"
#include "data/record_name.h"
#include "proto/blobs.h"
#include "proto/io.h"

namespace crema {
namespace {

/// C x H x W of a mean blob: N x C x H x W with N = 1, or without N.
Shape image_shape(const Shape& stored) {
  const auto& dims = stored.dims();
  require(stored.axes() == 3 || (stored.axes() == 4 && stored[0] == 1),
          "a mean is one image of channels x height x width, this one is {}", stored.str());
  return Shape({dims.end() - 3, dims.end()});
}

template <class Value>
void add(const Value* values, std::vector<double>* sums) {
  for (std::size_t i = 0; i < sums->size(); ++i) (*sums)[i] += static_cast<double>(values[i]);
}

}  // namespace

std::vector<double> MeanImage::channel_means() const {
  std::vector<double> means;
  const std::int64_t plane = shape.count_from(1);
  for (std::int64_t c = 0; c < shape[0]; ++c) {
    const auto begin = values.begin() + c * plane;
    means.push_back(std::accumulate(begin, begin + plane, 0.0) / static_cast<double>(plane));
  }
  return means;
}

MeanImage read_mean(const std::string& path) {
  caffe::BlobProto blob;
  read_binary(path, &blob);
  return with_context([&] { return fmt::format("mean file {}", path); },
                      [&] {
                        MeanImage mean{image_shape(stored_shape(blob)), values(blob)};
                        require(static_cast<std::int64_t>(mean.values.size()) == mean.shape.count(),
                                "has {} values, {} needs {}", mean.values.size(), mean.shape.str(),
                                mean.shape.count());
                        return mean;
                      });
}

void write_mean(const MeanImage& mean, const std::string& path) {
  caffe::BlobProto blob;
  blob.set_num(1);
  blob.set_channels(static_cast<int>(mean.shape[0]));
  blob.set_height(static_cast<int>(mean.shape[1]));
  blob.set_width(static_cast<int>(mean.shape[2]));
  blob.mutable_data()->Add(mean.values.begin(), mean.values.end());
  write_binary(blob, path);
}

MeanImage compute_mean(DatabaseReader* records, const std::function<void(std::int64_t)>& progress) {
  MeanImage mean;
  std::vector<double> sums;
  caffe::Datum datum;
  Image decoded;
  std::int64_t count = 0;
  records->rewind();
  while (records->next()) {
    const std::string_view value = records->value();
    with_context([&] { return records->path(); },
                 [&] {
                   parse_datum(records->key(), value, &datum);
                   with_context(
                       [&] { return record_name(records->key()); },
                       [&] {
                         const ImageView image = image_of(datum, Decode::kAsIs, &decoded);
                         if (count == 0) {
                           mean.shape = image.shape();
                           sums.resize(static_cast<std::size_t>(mean.shape.count()));
                         }
                         require(image.shape() == mean.shape,
                                 "the image is {}, but the first one is {}; a mean needs images of "
                                 "one size{}",
                                 image.shape().str(), mean.shape.str(),
                                 channels_first_hint(image.shape()));
                         image.bytes ? add(image.bytes, &sums) : add(image.floats, &sums);
                       });
                 });
    ++count;
    if (progress) progress(count);
  }
  for (const double sum : sums) {
    mean.values.push_back(static_cast<float>(sum / static_cast<double>(count)));
  }
  return mean;
}

}  // namespace crema
