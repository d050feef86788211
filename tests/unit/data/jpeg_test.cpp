// JPEG by TurboJPEG against OpenCV, and files that are damaged or out of the ordinary.
#include "data/jpeg.h"

#include <gmock/gmock.h>
#include <turbojpeg.h>

#include <cmath>

#include "data/image_codecs.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::error_of;

/// A smooth picture with some noise, so that all ways of sampling colours show.
Image scene(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Image image = testing::noise(channels, height, width, 3);
  for (std::int64_t i = 0; i < image.shape().count(); ++i) {
    const std::int64_t row = i / width % height, channel = i / (height * width);
    const auto c = static_cast<double>(channel), y = static_cast<double>(row);
    const auto x = static_cast<double>(i % width);
    const double wave = 128 + 60 * std::sin(0.2 * x + c) + 40 * std::cos(0.15 * y * (c + 1));
    std::uint8_t& byte = image.bytes[static_cast<std::size_t>(i)];
    byte = static_cast<std::uint8_t>(wave + byte % 16);
  }
  return image;
}

/// A JPEG file of 1, 3 (blue, green, red) or 4 (inks) channels.
std::string jpeg(const Image& image, int sampling, int flags = 0) {
  std::vector<std::uint8_t> pixels;
  const std::int64_t count = image.height * image.width;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t c = 0; c < image.channels; ++c) {
      pixels.push_back(image.bytes[static_cast<std::size_t>(c * count + i)]);
    }
  }
  const tjhandle compressor = tjInitCompress();
  unsigned char* file = nullptr;
  unsigned long size = 0;
  const int format = image.channels == 1 ? TJPF_GRAY : image.channels == 3 ? TJPF_BGR : TJPF_CMYK;
  EXPECT_EQ(tjCompress2(compressor, pixels.data(), static_cast<int>(image.width), 0,
                        static_cast<int>(image.height), format, &file, &size, sampling, 80, flags),
            0);
  std::string bytes(reinterpret_cast<char*>(file), size);
  tjFree(file);
  tjDestroy(compressor);
  return bytes;
}

Image by_opencv(const std::string& file, Decode as) {
  Image image;
  EXPECT_EQ(image_codecs().decode(file, as, &image), "");
  return image;
}

Image decoded(const std::string& file, Decode as = Decode::kAsIs) {
  Image image;
  decode_image(file, as, &image);
  return image;
}

void expect_equal(const Image& image, const Image& expected) {
  EXPECT_EQ(image.shape(), expected.shape());
  EXPECT_EQ(image.bytes, expected.bytes);
}

TEST(Jpeg, PixelsAreOpenCvs) {
  const struct {
    int channels, sampling;
  } kinds[] = {{1, TJSAMP_GRAY}, {3, TJSAMP_444}, {3, TJSAMP_422}, {3, TJSAMP_420},
               {3, TJSAMP_440},  {3, TJSAMP_411}, {3, TJSAMP_GRAY}};
  const PictureSize sizes[] = {{1, 1}, {8, 8}, {17, 31}, {64, 48}, {33, 1}, {5, 200}};
  for (const auto& kind : kinds) {
    for (const PictureSize size : sizes) {
      for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
        const std::string file =
            jpeg(scene(kind.channels, size.height, size.width), kind.sampling, flags);
        for (const Decode as : {Decode::kAsIs, Decode::kColor, Decode::kGray}) {
          SCOPED_TRACE(fmt::format("sampling {} of {}, flags {}, {}", kind.sampling, size.str(),
                                   flags, static_cast<int>(as)));
          Image image;
          EXPECT_EQ(decode_jpeg(file, as, &image), "");
          expect_equal(image, by_opencv(file, as));
        }
      }
    }
  }
}

TEST(Jpeg, MemoryIsReused) {
  Image image;
  for (const int size : {40, 9, 23}) {
    const std::string file = jpeg(scene(3, size, 2 * size), TJSAMP_420);
    decode_image(file, Decode::kColor, &image);
    expect_equal(image, by_opencv(file, Decode::kColor));
  }
}

TEST(Jpeg, InksAreLeftToOpenCv) {
  const std::string file = jpeg(scene(4, 20, 30), TJSAMP_444);
  Image image;
  EXPECT_EQ(decode_jpeg(file, Decode::kColor, &image), std::nullopt);
  for (const Decode as : {Decode::kAsIs, Decode::kColor, Decode::kGray}) {
    expect_equal(decoded(file, as), by_opencv(file, as));
  }
  EXPECT_EQ(decoded(file).channels, 3);
}

/// The file with an EXIF record behind its first marker.
std::string with_exif(const std::string& file, const std::string& tiff) {
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  const std::size_t length = body.size() + 2;
  return file.substr(0, 2) + "\xff\xe1" + static_cast<char>(length >> 8) +
         static_cast<char>(length & 255) + body + file.substr(2);
}

/// A directory with a field before the orientation.
std::string orientation(int value, bool little_endian) {
  const auto number = [&](int v, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) {
      bytes += static_cast<char>(v >> 8 * (little_endian ? i : size - 1 - i) & 255);
    }
    return bytes;
  };
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) +
         number(256, 2) + number(4, 2) + number(1, 4) + number(640, 4) + number(274, 2) +
         number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2) + number(0, 4);
}

TEST(Jpeg, PicturesAreTurnedAsExifSays) {
  const std::string plain = jpeg(scene(3, 10, 20), TJSAMP_444);
  for (const bool little_endian : {false, true}) {
    for (int value = 1; value <= 8; ++value) {
      const std::string file = with_exif(plain, orientation(value, little_endian));
      for (const Decode as : {Decode::kColor, Decode::kGray}) {
        Image image;
        EXPECT_EQ(decode_jpeg(file, as, &image).has_value(), value == 1);
        const Image turned = decoded(file, as);
        expect_equal(turned, by_opencv(file, as));
        EXPECT_EQ(turned.height, value >= 5 ? 20 : 10);
      }
      expect_equal(decoded(file, Decode::kAsIs), decoded(plain));  // as cv::IMREAD_UNCHANGED
    }
  }
  for (const std::string& tiff : {std::string("rubbish"), std::string("MM\0*\0\0", 6)}) {
    expect_equal(decoded(with_exif(plain, tiff), Decode::kColor), decoded(plain));
  }
}

TEST(Jpeg, CutShort) {
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    const std::string file = jpeg(scene(3, 40, 40), TJSAMP_420, flags);
    for (const std::size_t length : {4UL, 30UL, 200UL, file.size() / 2, file.size() - 10}) {
      EXPECT_EQ(error_of([&] { decoded(file.substr(0, length)); }),
                fmt::format("the {} bytes begin like a JPEG image, but cannot be decoded: it is "
                            "cut short",
                            length));
    }
    // What goes to OpenCV as well.
    const std::string turned = with_exif(file, orientation(6, true));
    EXPECT_THAT(error_of([&] { decoded(turned.substr(0, turned.size() / 2), Decode::kColor); }),
                ::testing::HasSubstr("it is cut short"));
    // All pixels are there if only the end mark is not.
    expect_equal(decoded(file.substr(0, file.size() - 2)), decoded(file));
  }
}

TEST(Jpeg, ADamagedMiddle) {
  const std::string file = jpeg(scene(3, 64, 64), TJSAMP_420);
  // The end of the picture's data in its middle.
  const std::string hole = file.substr(0, file.size() / 2) + "\xff\xd9";
  EXPECT_THAT(error_of([&] { decoded(hole); }),
              ::testing::EndsWith("Corrupt JPEG data: premature end of data segment"));
}

TEST(Jpeg, StrayBytesAreNoError) {
  const std::string file = jpeg(scene(3, 16, 16), TJSAMP_420);
  const std::size_t frame = file.find("\xff\xc0");
  const std::string stray = file.substr(0, frame) + "abc" + file.substr(frame);
  expect_equal(decoded(stray), decoded(file));
  expect_equal(decoded(file + "behind the end"), decoded(file));
  EXPECT_THAT(error_of([&] { decoded(stray.substr(0, stray.size() - 30)); }),
              ::testing::HasSubstr("it is cut short"));
}

TEST(Jpeg, HeadersThatClaimTooMuch) {
  std::string file = jpeg(scene(3, 16, 16), TJSAMP_420);
  const std::size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_THAT(error_of([&] { decoded(file); }),
              ::testing::HasSubstr("begin like a JPEG image, but cannot be decoded: it is "
                                   "65500x65500: too large, at most 268435456 pixels can be read"));
}

}  // namespace
}  // namespace crema
