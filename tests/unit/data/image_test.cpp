// Decoding, encoding and resizing of pictures, with values by hand.
#include "data/image.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "fixtures.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::noise;

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& body) {
  const std::string checked = type + body;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(body.size())) + checked +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// A PNG of one row; kind: 0 grey, 2 colour, 4 grey with alpha, 6 colour with alpha.
std::string png_row(std::uint32_t width, int depth, int kind, const std::string& row) {
  const std::string raw = std::string(1, '\0') + row;
  std::string packed(compressBound(raw.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(raw.data()), raw.size());
  packed.resize(size);
  const std::string head = big_endian(width) + big_endian(1) + static_cast<char>(depth) +
                           static_cast<char>(kind) + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + chunk("IDAT", packed) + chunk("IEND", "");
}

std::string little_endian(std::uint32_t value, int size = 4) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 255);
  return bytes;
}

/// A BMP of one row of colours, blue first; a negative height is stored from the top.
std::string bmp_row(std::uint32_t width, std::uint32_t height, std::string row) {
  while (row.size() % 4 != 0) row += '\0';
  const auto size = static_cast<std::uint32_t>(54 + row.size());
  return "BM" + little_endian(size) + little_endian(0) + little_endian(54) + little_endian(40) +
         little_endian(width) + little_endian(height) + little_endian(1, 2) + little_endian(24, 2) +
         std::string(24, '\0') + row;
}

/// A TIFF of one row of grey, without compression.
std::string tiff_row(std::uint32_t width, std::uint32_t height, int bits, const std::string& row) {
  const std::pair<std::uint32_t, std::uint32_t> fields[] = {
      {256, width}, {257, height}, {258, static_cast<std::uint32_t>(bits)},
      {259, 1},     {262, 1},      {273, 8},
      {277, 1},     {278, height}, {279, static_cast<std::uint32_t>(row.size())}};
  std::string file = std::string("II*\0", 4) +
                     little_endian(static_cast<std::uint32_t>(8 + row.size())) + row +
                     little_endian(static_cast<std::uint32_t>(std::size(fields)), 2);
  for (const auto& [tag, value] : fields) {
    file += little_endian(tag, 2) + little_endian(4, 2) + little_endian(1) + little_endian(value);
  }
  return file + little_endian(0);
}

const std::string kGif =
    std::string("GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;", 35);

Image decoded(const std::string& file, Decode as) {
  Image image;
  decode_image(file, as, &image);
  return image;
}

TEST(Image, ColoursAreBlueGreenRedInPlanes) {
  const std::string file = png_row(2, 8, 2, "\x01\x02\x03\xc8\x64\x32");  // R G B, R G B
  for (const Decode as : {Decode::kAsIs, Decode::kColor}) {
    const Image image = decoded(file, as);
    EXPECT_EQ(image.shape(), (Shape{3, 1, 2}));
    EXPECT_THAT(image.bytes, ElementsAre(3, 50, 2, 100, 1, 200));
  }
  // 0.299 * 1 + 0.587 * 2 + 0.114 * 3 = 1.8; 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
  const Image gray = decoded(file, Decode::kGray);
  EXPECT_EQ(gray.shape(), (Shape{1, 1, 2}));
  EXPECT_NEAR(gray.bytes[0], 1.8, 1);
  EXPECT_NEAR(gray.bytes[1], 124.2, 1);
}

TEST(Image, OwnChannelsOrForcedOnes) {
  const std::string gray = png_row(2, 8, 0, "\x07\xff");
  EXPECT_THAT(decoded(gray, Decode::kAsIs).bytes, ElementsAre(7, 255));
  EXPECT_THAT(decoded(gray, Decode::kGray).bytes, ElementsAre(7, 255));
  EXPECT_THAT(decoded(gray, Decode::kColor).bytes, ElementsAre(7, 255, 7, 255, 7, 255));
  const std::string alpha = png_row(1, 8, 6, "\x01\x02\x03\x80");
  EXPECT_THAT(decoded(alpha, Decode::kAsIs).bytes, ElementsAre(3, 2, 1, 128));
  EXPECT_THAT(decoded(alpha, Decode::kColor).bytes, ElementsAre(3, 2, 1));
}

TEST(Image, SixteenBits) {
  const std::string file = png_row(1, 16, 0, "\x12\x34");
  EXPECT_THAT(
      error_of([&] { decoded(file, Decode::kAsIs); }),
      HasSubstr("begin like a PNG image, but cannot be decoded: it has 16 bits a channel, 8 "
                "are needed; forced to colour or grey, it would keep the upper 8"));
  EXPECT_THAT(decoded(file, Decode::kGray).bytes, ElementsAre(0x12));  // as Caffe's ImageData
  EXPECT_THAT(decoded(file, Decode::kColor).bytes, ElementsAre(0x12, 0x12, 0x12));
  const std::string tiff = tiff_row(1, 1, 16, "\x34\x12");
  EXPECT_THAT(error_of([&] { decoded(tiff, Decode::kAsIs); }), HasSubstr("it has 16 bits"));
  EXPECT_THAT(decoded(tiff, Decode::kGray).bytes, ElementsAre(0x12));
}

TEST(Image, KindsByTheirFirstBytes) {
  EXPECT_EQ(image_kind(encode_image(noise(3, 4, 4, 1), "webp")), "a WebP image");
  EXPECT_EQ(image_kind(bmp_row(1, 1, "abc")), "a BMP image");
  EXPECT_EQ(image_kind(tiff_row(1, 1, 8, "ab")), "a TIFF image");
  EXPECT_EQ(image_kind(std::string("MM\0*", 4)), "a TIFF image");
  EXPECT_EQ(image_kind(kGif), "a GIF image");
  EXPECT_EQ(image_kind(""), "");
  EXPECT_EQ(image_kind("BMW and other words"), "");
  EXPECT_EQ(image_kind("RIFF....WAVEfmt"), "");
}

TEST(Image, OtherKindsAreDecoded) {
  EXPECT_THAT(decoded(bmp_row(1, 1, "\x03\x02\x01"), Decode::kAsIs).bytes, ElementsAre(3, 2, 1));
  EXPECT_THAT(decoded(bmp_row(1, 0xffffffff, "\x03\x02\x01"), Decode::kAsIs).bytes,
              ElementsAre(3, 2, 1));
  EXPECT_THAT(decoded(tiff_row(2, 1, 8, "\x07\xff"), Decode::kAsIs).bytes, ElementsAre(7, 255));
  // WebP of OpenCV loses little, but something.
  Image flat = noise(3, 16, 24, 1);
  std::fill(flat.bytes.begin(), flat.bytes.end(), 90);
  const std::string webp = encode_image(flat, "webp");
  for (const Decode as : {Decode::kAsIs, Decode::kColor, Decode::kGray}) {
    const Image image = decoded(webp, as);
    EXPECT_EQ(image.shape(), (Shape{as == Decode::kGray ? 1 : 3, 16, 24}));
    for (const std::uint8_t byte : image.bytes) EXPECT_NEAR(byte, 90, 2);
  }
  EXPECT_THAT(
      error_of([&] { decoded(webp.substr(0, webp.size() / 2), Decode::kColor); }),
      HasSubstr("begin like a WebP image, but cannot be decoded: it is of no known kind, or "
                "damaged; if it opens elsewhere, this OpenCV reads no such files: convert "
                "it to PNG"));
}

// A header alone must not make anybody ask for gigabytes.
TEST(Image, HeadersThatClaimTooMuch) {
  const std::string files[] = {
      "\x89PNG\r\n\x1a\n" +
          chunk("IHDR", big_endian(65500) + big_endian(65500) + std::string("\x08\2\0\0\0", 5)) +
          chunk("IDAT", "") + chunk("IEND", ""),
      bmp_row(65500, 65500, "abc"),
      bmp_row(65500, static_cast<std::uint32_t>(-65500), "abc"),
      tiff_row(65500, 65500, 8, "ab"),
      "GIF89a" + little_endian(65500, 2) + little_endian(65500, 2) + kGif.substr(10),
      std::string("BM") + little_endian(30) + little_endian(0) + little_endian(26) +
          little_endian(12) + little_endian(65500, 2) + little_endian(65500, 2) + "0123",
  };
  for (const std::string& file : files) {
    EXPECT_THAT(error_of([&] { decoded(file, Decode::kColor); }),
                HasSubstr("cannot be decoded: it is 65500x65500: too large, at most 268435456 "
                          "pixels can be read"))
        << image_kind(file);
  }
}

TEST(Image, HeadersCutAnywhere) {
  for (const std::string& file :
       {tiff_row(2, 1, 8, "ab"), bmp_row(1, 1, "abc"), kGif, png_row(1, 8, 0, "\x07")}) {
    for (std::size_t length = 1; length < 40 && length < file.size(); ++length) {
      EXPECT_NE(error_of([&] { decoded(file.substr(0, length), Decode::kColor); }), "")
          << image_kind(file) << " of " << length;
    }
  }
}

TEST(Image, WhatIsNone) {
  EXPECT_EQ(error_of([] { decoded("", Decode::kColor); }), "the image is empty (0 bytes)");
  EXPECT_EQ(error_of([] { decoded("no picture", Decode::kColor); }),
            "the 10 bytes cannot be decoded as an image: it is of no known kind, or damaged");
  const std::string jpeg = encode_image(noise(3, 16, 16, 1), "jpg");
  EXPECT_THAT(error_of([&] { decoded(jpeg.substr(0, 30), Decode::kColor); }),
              HasSubstr("the 30 bytes begin like a JPEG image, but cannot be decoded"));
  std::string png = encode_image(noise(3, 16, 16, 1), "png");
  EXPECT_THAT(error_of([&] { decoded(png.substr(0, png.size() - 1), Decode::kColor); }),
              HasSubstr("begin like a PNG image, but cannot be decoded: it is cut short"));
  png[png.size() / 2] ^= 1;
  EXPECT_THAT(error_of([&] { decoded(png, Decode::kColor); }),
              HasSubstr("begin like a PNG image, but cannot be decoded: its checksum is wrong"));
  Image image;
  EXPECT_THAT(error_of([&] { read_image("/no/such.png", Decode::kColor, &image); }),
              HasSubstr("cannot open /no/such.png"));
}

TEST(Image, EncodingAndBack) {
  for (const std::int64_t channels : {1, 3, 4}) {
    const Image image = noise(channels, 5, 6, 2);
    const Image back = decoded(encode_image(image, "png"), Decode::kAsIs);
    EXPECT_EQ(back.shape(), image.shape());
    EXPECT_EQ(back.bytes, image.bytes);
  }
  Image flat = noise(3, 16, 16, 1);
  std::fill(flat.bytes.begin(), flat.bytes.end(), 90);
  const Image back = decoded(encode_image(flat, "jpg"), Decode::kColor);
  EXPECT_EQ(back.shape(), flat.shape());
  for (const std::uint8_t byte : back.bytes) EXPECT_NEAR(byte, 90, 2);
  EXPECT_THAT(error_of([&] { encode_image(flat, "txt"); }),
              HasSubstr("cannot encode an image of 3x16x16 as txt"));
}

/// The definition, in double precision.
std::vector<double> bilinear(const Image& from, std::int64_t height, std::int64_t width) {
  std::vector<double> out;
  const auto source = [](std::int64_t i, std::int64_t in, std::int64_t n) {
    const double at =
        (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(n) - 0.5;
    return std::clamp(at, 0.0, static_cast<double>(in - 1));
  };
  for (std::int64_t c = 0; c < from.channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const double sy = source(y, from.height, height), sx = source(x, from.width, width);
        const auto y0 = static_cast<std::int64_t>(sy), x0 = static_cast<std::int64_t>(sx);
        const std::int64_t y1 = std::min(y0 + 1, from.height - 1);
        const std::int64_t x1 = std::min(x0 + 1, from.width - 1);
        const double fy = sy - static_cast<double>(y0), fx = sx - static_cast<double>(x0);
        const auto at = [&](std::int64_t v, std::int64_t u) {
          return static_cast<double>(
              from.bytes[static_cast<std::size_t>((c * from.height + v) * from.width + u)]);
        };
        out.push_back((1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x1)) +
                      fy * ((1 - fx) * at(y1, x0) + fx * at(y1, x1)));
      }
    }
  }
  return out;
}

TEST(Image, ResizingIsBilinear) {
  const Shape sizes[] = {{5, 7}, {1, 1}, {3, 20}, {16, 2}, {9, 9}};
  unsigned seed = 0;
  for (const Shape& from : sizes) {
    for (const Shape& to : sizes) {
      ++seed;
      const Image image = noise(seed % 2 == 0 ? 1 : 3, from[0], from[1], seed);
      Image resized;
      resize_image(image, to[0], to[1], &resized);
      ASSERT_EQ(resized.shape(), (Shape{image.channels, to[0], to[1]}));
      const std::vector<double> expected = bilinear(image, to[0], to[1]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(resized.bytes[i], expected[i], 1.0) << from.str() << " to " << to.str();
      }
      if (from == to) {
        EXPECT_EQ(resized.bytes, image.bytes);
      }
    }
  }
}

}  // namespace
}  // namespace crema
