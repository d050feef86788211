#include "data/image_source.h"

#include <utility>

#include "base/error.h"

namespace crema {

ImageSource::ImageSource(Transformer transformer, bool labels, bool fixed_size)
    : transformer_(std::move(transformer)),
      labels_(labels),
      varying_(!fixed_size && !transformer_.fixes_size()) {}

void ImageSource::measure() {
  seek(0);
  item_shapes_ = next_shapes();
  seek(0);
}

std::vector<Shape> ImageSource::next_shapes() {
  load_once();
  with_context([&] { return where(record_.origin); },
               [&] { item_shape_ = transformer_.output_shape(record_.image.shape()); });
  image_shape_ = record_.image.shape();
  std::vector<Shape> shapes{item_shape_};
  if (labels_) shapes.emplace_back();
  return shapes;
}

void ImageSource::seek(std::uint64_t position) {
  go_to(position);
  ordinal_ = position;
  loaded_ = false;
}

void ImageSource::read(int count, const std::vector<float*>& tops, RecordOrigin* origins) {
  const std::int64_t size = item_shape_.count();
  for (int i = 0; i < count; ++i) {
    load_once();
    with_context([&] { return where(record_.origin); },
                 [&] {
                   const Shape shape = record_.image.shape();
                   check(shape);
                   transformer_.transform(record_.image, ordinal_, &workspace_, tops[0] + i * size);
                 });
    if (labels_) tops[1][i] = record_.label;
    origins[i] = record_.origin;
    loaded_ = false;
    ++ordinal_;
  }
}

void ImageSource::load_once() {
  if (loaded_) return;
  load(&record_);
  loaded_ = true;
}

void ImageSource::check(const Shape& shape) const {
  if (shape == image_shape_) return;
  require(transformer_.output_shape(shape) == item_shape_,
          "the image is {}, but the first record, which gives the batch its shape, is {}{}",
          shape.str(), image_shape_.str(), channels_first_hint(shape));
}

}  // namespace crema
