#include "data/make_shapes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/signals.h"
#include "data/convert_images.h"
#include "data/database.h"
#include "data/in_order.h"
#include "data/new_folder.h"

namespace crema {
namespace {

constexpr const char* kHeading = "key,label,xmin,ymin,xmax,ymax\n";

std::string box_line(const std::string& key, const ShapesPicture& picture) {
  const PixelBox& box = picture.box;
  return fmt::format("{},{},{},{},{},{}\n", key, picture.label, box.xmin, box.ymin, box.xmax,
                     box.ymax);
}

std::string label_lines(const ShapesOptions& options) {
  std::string text;
  for (int i = 0; i < options.classes; ++i) {
    text += figure_names()[static_cast<std::size_t>(i)] + "\n";
  }
  return text;
}

void check_options(const MakeShapesOptions& options) {
  require(options.count >= 1, "the number of pictures is {}; it must be at least 1", options.count);
  draw_shapes(options.pictures, 0);  // fails on others
}

/// Draws on several threads; take(i, picture, file) comes in the order of the pictures, `file` the
/// picture as a PNG file if that is wanted.
template <class Take>
void draw_all(const MakeShapesOptions& options, bool as_files, const MakeShapesProgress& progress,
              StopOnSignal* signals, const Take& take) {
  struct Drawn {
    ShapesPicture picture;
    std::string file;
  };
  const auto make = [&](std::int64_t i) {
    Drawn drawn{draw_shapes(options.pictures, i), ""};
    if (as_files) drawn.file = encode_image(drawn.picture.image, "png");
    return drawn;
  };
  make_in_order(options.count, options.threads, make, [&](std::int64_t i, Drawn drawn) {
    take(i, drawn.picture, drawn.file);
    if (progress) progress(i + 1, options.count);
    signals->check();
  });
}

/// All files of a folder at once: one by one they would take a second for some hundred.
void sync_files(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::syncfs(descriptor) == 0;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  errno = reason;
  require_system(synced, "cannot write {} to disk", folder);
}

}  // namespace

void make_shapes_folder(const MakeShapesOptions& options, const std::string& path,
                        const MakeShapesProgress& progress) {
  StopOnSignal signals;  // before there is anything to clear away
  check_options(options);
  NewFolder folder(path, "data set");
  std::string list, boxes = kHeading;
  draw_all(options, true, progress, &signals,
           [&](std::int64_t i, const ShapesPicture& picture, const std::string& file) {
             const std::string name = fmt::format("{:08}.png", i);
             errno = 0;
             std::ofstream out(folder.temporary() + "/" + name, std::ios::binary);
             out << file;
             out.close();
             require_system(out.good(), "cannot write {}/{}", folder.temporary(), name);
             list += fmt::format("{} {}\n", name, picture.label);
             boxes += box_line(name, picture);
           });
  folder.write("list.txt", list);
  folder.write(kBoxesFile, boxes);
  folder.write(kLabelsFile, label_lines(options.pictures));
  sync_files(folder.temporary());
  folder.keep();
}

void make_shapes_database(const MakeShapesOptions& options, const std::string& db,
                          caffe::DataParameter::DB backend, bool encoded,
                          const MakeShapesProgress& progress) {
  StopOnSignal signals;
  check_options(options);
  const auto writer = create_database(db, backend);
  std::string boxes = kHeading;
  caffe::Datum datum;
  draw_all(options, encoded, progress, &signals,
           [&](std::int64_t i, const ShapesPicture& picture, const std::string& file) {
             const Image& image = picture.image;
             datum.Clear();
             if (encoded) {
               datum.set_data(file);
             } else {
               datum.set_channels(static_cast<int>(image.channels));
               datum.set_height(static_cast<int>(image.height));
               datum.set_width(static_cast<int>(image.width));
               datum.set_data(image.bytes.data(), image.bytes.size());
             }
             datum.add_label(picture.label);
             datum.set_encoded(encoded);
             const std::string key = fmt::format("{:08}", i);
             writer->put(key, datum.SerializeAsString());
             boxes += box_line(key, picture);
           });
  writer->attach(kBoxesFile, boxes);
  writer->attach(kLabelsFile, label_lines(options.pictures));
  writer->finish();
}

}  // namespace crema
