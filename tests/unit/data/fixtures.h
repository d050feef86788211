// What the tests of lib/data share: folders that go away, errors as text, small data bases.
#pragma once

#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "caffe.pb.h"
#include "data/batch_reader.h"
#include "data/image.h"
#include "data/lmdb.h"

namespace crema::testing {

/// A new folder, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_("/tmp/crema-data-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryFolder() {
    boost::system::error_code ignored;
    boost::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Works in another folder for as long as it lives.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& path) : before_(boost::filesystem::current_path()) {
    boost::filesystem::current_path(path);
  }
  ~WorkingFolder() { boost::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  boost::filesystem::path before_;
};

/// The text of the user error that `body` throws, "" when it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kUser ? error.what()
                                            : std::string("internal: ") + error.what();
  }
  return "";
}

/// Removes the old file first, since some file systems write to disk at once what replaces a file
/// in place.
inline void write_file(const std::string& path, const std::string& contents) {
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << contents;
}

inline std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

using Records = std::vector<std::pair<std::string, std::string>>;

inline void make_lmdb(const std::string& path, const Records& records) {
  LmdbWriter writer(path);
  for (const auto& [key, value] : records) writer.put(key, value);
  writer.finish();
}

/// A Datum of bytes: value number i is first + i, modulo 256.
inline caffe::Datum byte_datum(int channels, int height, int width, int first, int label) {
  caffe::Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  for (int i = 0; i < channels * height * width; ++i) {
    datum.mutable_data()->push_back(static_cast<char>((first + i) % 256));
  }
  datum.add_label(label);
  return datum;
}

/// A picture of random bytes, the same for the same seed.
inline Image noise(std::int64_t channels, std::int64_t height, std::int64_t width, unsigned seed) {
  Image image{channels, height, width, {}};
  std::minstd_rand random(seed + 1);
  for (std::int64_t i = 0; i < image.shape().count(); ++i) {
    image.bytes.push_back(static_cast<std::uint8_t>(random() >> 8));
  }
  return image;
}

inline void write_png(const std::string& path, const Image& image) {
  write_file(path, encode_image(image, "png"));
}

inline std::string key_of(int i) { return fmt::format("{:08}", i); }

/// `count` records of 1 x 2 x 3; the first value and the label of record i are i.
inline Records numbered(int count) {
  Records records;
  for (int i = 0; i < count; ++i) {
    records.emplace_back(key_of(i), byte_datum(1, 2, 3, i, i).SerializeAsString());
  }
  return records;
}

inline caffe::LayerParameter data_layer(const std::string& source, unsigned batch_size) {
  caffe::LayerParameter layer;
  layer.set_name("data");
  layer.set_type("Data");
  layer.add_top("data");
  layer.add_top("label");
  layer.mutable_data_param()->set_source(source);
  layer.mutable_data_param()->set_backend(caffe::DataParameter::LMDB);
  layer.mutable_data_param()->set_batch_size(batch_size);
  return layer;
}

struct Read {
  std::vector<float> data, labels;
};

/// The next batch, as a net reads it.
inline Read read(BatchReader* reader) {
  reader->follow_shapes();
  const std::vector<Shape> shapes = reader->shapes(reader->items());
  Read result;
  result.data.resize(static_cast<std::size_t>(shapes[0].count()));
  std::vector<float*> tops{result.data.data()};
  if (shapes.size() > 1) {
    result.labels.resize(static_cast<std::size_t>(shapes[1].count()));
    tops.push_back(result.labels.data());
  }
  reader->read(tops);
  return result;
}

}  // namespace crema::testing
