#include "data/image_source.h"

#include <utility>

#include "base/error.h"

namespace crema {

ImageSource::ImageSource(Transformer transformer, int label_tops, bool fixed_size)
    : transformer_(std::move(transformer)), label_tops_(label_tops), fixed_size_(fixed_size) {}

void ImageSource::set_views(const Views& views) {
  transformer_.set_views(views);
  item_shapes_[0] = transformer_.output_shape(first_.shape());
}

std::unique_ptr<BatchSource::Workspace> ImageSource::new_workspace() const {
  return std::make_unique<PictureWorkspace>();
}

void ImageSource::measure(const ReaderOptions& reading) {
  seek(0);
  const std::unique_ptr<Record> record = new_record();
  const std::unique_ptr<Workspace> workspace = new_workspace();
  for (std::int64_t i = 0;; ++i) {
    record->position = static_cast<std::uint64_t>(i);
    fetch(record.get());
    try {
      measure(*record, static_cast<PictureWorkspace*>(workspace.get()));
      break;
    } catch (const Error& error) {
      const bool last = i + 1 >= records();
      if (!reading.skip_bad_records || error.kind() != ErrorKind::kUser || last) throw;
    }
  }
  seek(0);
}

void ImageSource::measure(const Record& record, PictureWorkspace* workspace) {
  load(record, workspace);
  with_context(
      [&] { return where(record.origin); },
      [&] {
        const ImageView& image = workspace->image;
        item_shapes_ = {transformer_.output_shape(image.shape())};
        first_ = {image.channels, image.height, image.width, nullptr, nullptr};
        label_count_ = workspace->labels.size();
        require(label_tops_ < 2 || label_count_ == static_cast<std::size_t>(label_tops_),
                "the record has {} label{}, but the layer has {} tops for them; one top takes all, "
                "as many tops as labels take one each",
                label_count_, label_count_ == 1 ? "" : "s", label_tops_);
      });
  for (int top = 0; top < label_tops_; ++top) {
    const bool together = label_tops_ == 1 && label_count_ > 1;
    item_shapes_.push_back(together ? Shape{static_cast<std::int64_t>(label_count_)} : Shape());
  }
}

void ImageSource::finish(const Record& record, Workspace* workspace, ItemTarget* target) const {
  auto& work = *static_cast<PictureWorkspace*>(workspace);
  load(record, &work);
  with_context([&] { return where(record.origin); },
               [&] {
                 const ImageView& image = work.image;
                 require(work.labels.size() == label_count_,
                         "the record has {} label{}, but the first record has {}",
                         work.labels.size(), work.labels.size() == 1 ? "" : "s", label_count_);
                 const auto tops = [&]() -> const std::vector<float*>& {
                   // Nearly always, and quick, since no shape is made.
                   if (image.channels == first_.channels && image.height == first_.height &&
                       image.width == first_.width) {
                     return target->regular();
                   }
                   const Shape shape = transformer_.output_shape(image.shape());
                   if (shape == item_shapes_[0]) return target->regular();
                   std::vector<Shape> shapes = item_shapes_;
                   shapes[0] = shape;
                   return target->other(shapes, image.shape());
                 }();
                 transformer_.transform(image, record.position, &work.transforming, tops[0]);
                 for (int view = 0; view < views(); ++view) {
                   for (std::size_t i = 0; label_tops_ > 0 && i < label_count_; ++i) {
                     const auto place = static_cast<std::size_t>(view);
                     if (label_tops_ == 1) {
                       tops[1][place * label_count_ + i] = work.labels[i];
                     } else {
                       tops[1 + i][place] = work.labels[i];
                     }
                   }
                 }
               });
}

}  // namespace crema
