// An IDX file is read whole: the largest in use (EMNIST) has half a gigabyte. Everything is checked
// before the first record is written, and nothing is left behind when a check fails.
#include "data/convert_idx.h"

#include <limits>

#include "base/error.h"
#include "caffe.pb.h"
#include "data/idx.h"
#include "data/lmdb.h"

namespace crema {

std::int64_t convert_idx(const std::string& images_path, const std::string& labels_path,
                         const std::string& db,
                         const std::function<void(std::int64_t, std::int64_t)>& progress) {
  LmdbWriter writer(db);  // first, since it fails at once when there is something already
  const IdxArray images = read_idx(images_path);
  const IdxArray labels = read_idx(labels_path);
  require(images.shape.axes() == 3, "{} holds {}, not images (number x height x width){}",
          images_path, images.shape.str(),
          images.shape.axes() == 1 && labels.shape.axes() == 3 ? "; are images and labels swapped?"
                                                               : "");
  require(labels.shape.axes() == 1, "{} holds {}, not a list of labels", labels_path,
          labels.shape.str());
  const std::int64_t count = images.shape[0], height = images.shape[1], width = images.shape[2];
  require(labels.shape[0] == count, "{} images in {}, but {} labels in {}", count, images_path,
          labels.shape[0], labels_path);
  require(images.shape.count() > 0 && height <= std::numeric_limits<int>::max() &&
              width <= std::numeric_limits<int>::max(),
          "{} holds no images: {}", images_path, images.shape.str());

  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(static_cast<int>(height));
  datum.set_width(static_cast<int>(width));
  const auto size = static_cast<std::size_t>(height * width);
  std::string value;
  for (std::int64_t i = 0; i < count; ++i) {
    datum.set_data(images.bytes.data() + static_cast<std::size_t>(i) * size, size);
    datum.set_label(static_cast<unsigned char>(labels.bytes[static_cast<std::size_t>(i)]));
    datum.SerializeToString(&value);
    writer.put(fmt::format("{:08}", i), value);
    if (progress) progress(i + 1, count);
  }
  writer.finish();
  return count;
}

}  // namespace crema
