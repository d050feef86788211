// An IDX file is read whole: the largest in use (EMNIST) has half a gigabyte. Everything is checked
// before the first record is written, and nothing is left behind when a check fails.
#include "data/convert_idx.h"

#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/philox.h"
#include "base/signals.h"
#include "data/database.h"
#include "data/idx.h"

namespace crema {
namespace {

using ProgressFunction = std::function<void(std::int64_t, std::int64_t)>;

/// Pictures and their labels, checked.
class LabelledImages {
 public:
  LabelledImages(const std::string& images_path, const std::string& labels_path)
      : images_(read_idx(images_path)), labels_(read_idx(labels_path)) {
    const Shape& shape = images_.shape;
    require(
        shape.axes() == 3, "{} holds {}, not images (number x height x width){}", images_path,
        shape.str(),
        shape.axes() == 1 && labels_.shape.axes() == 3 ? "; are images and labels swapped?" : "");
    require(labels_.shape.axes() == 1, "{} holds {}, not a list of labels", labels_path,
            labels_.shape.str());
    require(labels_.shape[0] == shape[0], "{} images in {}, but {} labels in {}", shape[0],
            images_path, labels_.shape[0], labels_path);
    require(shape.count() > 0 && shape[1] <= std::numeric_limits<int>::max() &&
                shape[2] <= std::numeric_limits<int>::max(),
            "{} holds no images: {}", images_path, shape.str());
  }

  std::int64_t count() const { return images_.shape[0]; }
  std::string_view image(std::int64_t i) const {
    const auto size = static_cast<std::size_t>(images_.shape.count_from(1));
    return std::string_view(images_.bytes).substr(static_cast<std::size_t>(i) * size, size);
  }
  int label(std::int64_t i) const {
    return static_cast<unsigned char>(labels_.bytes[static_cast<std::size_t>(i)]);
  }
  /// Of so many channels, without data.
  caffe::Datum datum(int channels) const {
    caffe::Datum datum;
    datum.set_channels(channels);
    datum.set_height(static_cast<int>(images_.shape[1]));
    datum.set_width(static_cast<int>(images_.shape[2]));
    return datum;
  }

 private:
  IdxArray images_, labels_;
};

/// `count` records, each made by `fill`.
void write_records(DatabaseWriter& writer, StopOnSignal& signals, std::int64_t count,
                   caffe::Datum datum, const std::function<void(std::int64_t, caffe::Datum&)>& fill,
                   const ProgressFunction& progress) {
  std::string value;
  for (std::int64_t i = 0; i < count; ++i) {
    fill(i, datum);
    datum.SerializeToString(&value);
    writer.put(fmt::format("{:08}", i), value);
    if (progress) progress(i + 1, count);
    signals.check();
  }
  writer.finish();
}

}  // namespace

std::int64_t convert_idx(const std::string& images, const std::string& labels,
                         const std::string& db, caffe::DataParameter::DB backend,
                         const ProgressFunction& progress) {
  StopOnSignal signals;  // before there is anything to clear away
  // First, since it fails at once when there is something already.
  const auto writer = create_database(db, backend);
  const LabelledImages all(images, labels);
  const auto fill = [&](std::int64_t i, caffe::Datum& datum) {
    datum.set_data(std::string(all.image(i)));
    datum.clear_label();
    datum.add_label(all.label(i));
  };
  write_records(*writer, signals, all.count(), all.datum(1), fill, progress);
  return all.count();
}

std::int64_t convert_idx_pairs(const std::string& images, const std::string& labels,
                               const std::string& db, caffe::DataParameter::DB backend,
                               std::uint64_t seed, const ProgressFunction& progress) {
  StopOnSignal signals;
  const auto writer = create_database(db, backend);
  const LabelledImages all(images, labels);
  const std::int64_t count = all.count();
  require(count <= std::numeric_limits<std::uint32_t>::max(), "{} holds too many images: {}",
          images, count);
  const RandomStream random(seed, stream_id("pairs"));
  const auto draw = [&](std::int64_t pair, std::uint64_t which) {
    return random.below(static_cast<std::uint64_t>(pair), which, static_cast<std::uint32_t>(count));
  };
  const auto fill = [&](std::int64_t i, caffe::Datum& datum) {
    const std::int64_t first = draw(i, 0), second = draw(i, 1);
    datum.set_data(std::string(all.image(first)).append(all.image(second)));
    datum.clear_label();
    datum.add_label(all.label(first) == all.label(second) ? 1 : 0);
  };
  write_records(*writer, signals, count, all.datum(2), fill, progress);
  return count;
}

}  // namespace crema
