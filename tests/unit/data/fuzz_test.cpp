// Damaged bytes of every kind: only results or errors, never a crash or a hang.
#include <gtest/gtest.h>

#include <random>

#include "data/batch_reader.h"
#include "data/datum.h"
#include "data/idx.h"
#include "data/image_list.h"
#include "data/record_stats.h"
#include "data/window_list.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::byte_datum;
using testing::contents_of;
using testing::make_lmdb;
using testing::TemporaryFolder;
using testing::write_file;

/// Flips, overwrites, cuts or repeats a few bytes.
void damage(std::string* bytes, std::mt19937* random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : (*random)() % n; };
  for (std::size_t times = 1 + below(4); times > 0 && !bytes->empty(); --times) {
    const std::size_t at = below(bytes->size());
    switch (below(5)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << below(8)));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(below(3) == 0 ? 0xff : below(256));
        break;
      case 2:
        for (std::size_t i = at; i < std::min(bytes->size(), at + 16); ++i) {
          (*bytes)[i] = static_cast<char>(below(2) == 0 ? 0 : 0xff);
        }
        break;
      case 3:
        if (below(4) == 0) bytes->resize(at);
        break;
      default:
        std::copy_n(bytes->begin(), std::min<std::size_t>(32, bytes->size() - at),
                    bytes->begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

/// Runs `body`, which may fail by a user error; true if it did not.
template <class Body>
bool survives(const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUser) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return false;
  }
}

TEST(Fuzz, Datum) {
  std::mt19937 random(1);
  const std::string good = byte_datum(3, 4, 5, 0, 300).SerializeAsString();
  caffe::Datum datum;
  Image decoded;
  int fine = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    fine += survives([&] {
      parse_datum("k", bytes, &datum);
      const ImageView image = image_of(datum, Decode::kAsIs, &decoded);
      const auto count = static_cast<std::size_t>(image.shape().count());
      // What the check let through must be readable to its end.
      if (image.bytes) {
        EXPECT_EQ(datum.data().size(), count);
      } else {
        EXPECT_EQ(static_cast<std::size_t>(datum.float_data_size()), count);
      }
    });
  }
  EXPECT_GT(fine, 1000);
  EXPECT_LT(fine, 19000);
}

TEST(Fuzz, Idx) {
  const TemporaryFolder folder;
  std::mt19937 random(2);
  std::string good{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4};
  good += std::string(24, 'x');
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    write_file(folder / "f", bytes);
    survives([&] { read_idx(folder / "f"); });
  }
}

TEST(Fuzz, Lmdb) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  testing::Records records;
  for (int i = 0; i < 60; ++i) {
    records.emplace_back(fmt::format("{:08}", i),
                         byte_datum(1, i % 20 == 0 ? 100 : 2, 50, i, i).SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  const std::string file = folder / "db/data.mdb";
  const std::string good = contents_of(file);
  int fine = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    if (i % 2 == 0) {  // where the structure is: headers, meta pages, offsets of nodes
      const std::size_t page = random() % (bytes.size() / 4096 + 1) * 4096;
      const std::size_t end = std::min(bytes.size(), page + 160);
      for (std::size_t n = 0; n < 3 && page < end; ++n) {
        bytes[page + random() % (end - page)] = static_cast<char>(random());
      }
    }
    write_file(file, bytes);
    fine += survives([&] {
      LmdbReader reader(folder / "db");
      std::size_t sum = 0, count = 0;
      while (reader.next()) {
        for (const char c : reader.key()) sum += static_cast<unsigned char>(c);
        for (const char c : reader.value()) sum += static_cast<unsigned char>(c);
        ++count;
      }
      EXPECT_EQ(count, static_cast<std::size_t>(reader.records()));
      reader.skip(reader.records() / 2);
      reader.next();
      EXPECT_GT(sum, 0u);
    });
  }
  EXPECT_GT(fine, 100);
  EXPECT_LT(fine, 1400);
}

/// Whatever can be said about damaged sources is said.
TEST(Fuzz, RecordStats) {
  const TemporaryFolder folder;
  std::mt19937 random(8);
  testing::Records records;
  for (int i = 0; i < 40; ++i) {
    caffe::Datum datum = byte_datum(1, 2, 50, i, i);
    if (i % 4 == 0) {
      datum.set_encoded(true);
      datum.set_data(encode_image(testing::noise(3, 4, 5, 1), i % 8 ? "png" : "bmp"));
    } else if (i % 4 == 1) {
      datum.clear_data();
      datum.clear_label();
      datum.add_float_label(0.5f);
      for (int k = 0; k < 100; ++k) datum.add_float_data(static_cast<float>(k));
    }
    records.emplace_back(fmt::format("{:08}", i), datum.SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  write_file(folder / "list", "a.png 1\nb c.png 20\r\n\nd.png -3 \ne.png +4\n");
  const std::string files[] = {folder / "db/data.mdb", folder / "list"};
  for (const std::string& file : files) {
    const std::string good = contents_of(file);
    int fine = 0;
    for (int i = 0; i < 500; ++i) {
      std::string bytes = good;
      damage(&bytes, &random);
      if (i % 2 == 0) damage(&bytes, &random);
      write_file(file, bytes);
      fine += survives([&] {
        const auto stream = open_records(file == files[1] ? file : folder / "db");
        const RecordStats stats = measure_records(stream.get());
        EXPECT_LE(stats.broken, stats.records);
        EXPECT_EQ(stats.good(), stats.decoded);
        if (stats.ended.empty()) {
          EXPECT_EQ(stats.records, stream->total());
        }
      });
    }
    EXPECT_GT(fine, 50);
  }
}

TEST(Fuzz, ReadingThread) {
  const TemporaryFolder folder;
  std::mt19937 random(4);
  testing::Records records;
  for (int i = 0; i < 30; ++i) {
    records.emplace_back(fmt::format("{:08}", i), byte_datum(1, 2, 50, i, i).SerializeAsString());
  }
  make_lmdb(folder / "db", records);
  const std::string file = folder / "db/data.mdb";
  const std::string good = contents_of(file);
  caffe::LayerParameter layer;
  layer.add_top("data");
  layer.mutable_data_param()->set_source(folder / "db");
  layer.mutable_data_param()->set_backend(caffe::DataParameter::LMDB);
  layer.mutable_data_param()->set_batch_size(7);
  std::vector<float> out(7 * 100);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    write_file(file, bytes);
    survives([&] {
      const auto reader = open_data(layer, caffe::TRAIN, 1);
      for (int batch = 0; batch < 6; ++batch) {
        reader->follow_shapes();
        if (reader->shapes(7)[0].count() != 700) return;
        reader->read({out.data()});
      }
    });
  }
}

TEST(Fuzz, PictureFiles) {
  std::mt19937 random(5);
  Image decoded;
  for (const char* type : {"png", "jpg", "bmp", "webp"}) {
    const Image image = testing::noise(3, 9, 7, 1);
    const std::string good = encode_image(image, type);
    int fine = 0;
    for (int i = 0; i < 400; ++i) {
      std::string bytes = good;
      damage(&bytes, &random);
      fine += survives([&] {
        decode_image(bytes,
                     i % 3 == 0   ? Decode::kAsIs
                     : i % 3 == 1 ? Decode::kColor
                                  : Decode::kGray,
                     &decoded);
        EXPECT_EQ(static_cast<std::int64_t>(decoded.bytes.size()), decoded.shape().count());
      });
    }
    EXPECT_LT(fine, 400) << type;
  }
}

TEST(Fuzz, ImageList) {
  const TemporaryFolder folder;
  std::mt19937 random(6);
  const std::string good = "a.png 1\nb c.png 20\r\n\nd.png -3 \ne.png +4\n";
  int fine = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    write_file(folder / "list", bytes);
    fine += survives([&] {
      const ImageList list(folder / "list");
      for (std::int64_t k = 0; k < list.size(); ++k) EXPECT_FALSE(list.name(k).empty());
    });
  }
  EXPECT_GT(fine, 100);
}

TEST(Fuzz, WindowFile) {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  const std::string good =
      "# 0\na.png\n3\n40\n50\n2\n1 0.75 1 2 30 20\n2 0.1 5 6 20 21\n# 1\nb.png\n3\n9\n9\n1\n"
      "7 1 0 0 8 8\n";
  int fine = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    damage(&bytes, &random);
    write_file(folder / "windows", bytes);
    fine += survives([&] {
      const WindowList list(folder / "windows");
      for (const WindowList::Window& window : list.windows) {
        const WindowCrop crop{8, i % 2, i % 3 == 0};
        const WindowPlacement at = place_window(window, crop, 40, 50, i % 5 == 0);
        EXPECT_GE(at.x, 0);
        EXPECT_GE(at.y, 0);
        EXPECT_LE(at.x + at.source_width, 50);
        EXPECT_LE(at.y + at.source_height, 40);
        EXPECT_LE(at.left + at.width, 8);
        EXPECT_LE(at.top + at.height, 8);
      }
    });
  }
  EXPECT_GT(fine, 100);
}

}  // namespace
}  // namespace crema
