#include "data/mean.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/image.h"
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

/// Sums of the pictures of a block. Those of bytes are whole numbers, far from the end of theirs.
struct Sums final : BlockResult {
  std::vector<std::uint32_t> bytes;
  std::vector<double> floats;
  std::int64_t images = 0;
};

void add(const ImageView& image, Sums* sums) {
  const auto count = static_cast<std::size_t>(image.shape().count());
  if (image.bytes) {
    sums->bytes.resize(count);
    for (std::size_t i = 0; i < count; ++i) sums->bytes[i] += image.bytes[i];
  } else {
    require(
        std::all_of(image.floats, image.floats + count, [](float v) { return std::isfinite(v); }),
        "the image holds values that are no finite numbers");
    sums->floats.resize(count);
    for (std::size_t i = 0; i < count; ++i) sums->floats[i] += static_cast<double>(image.floats[i]);
  }
  ++sums->images;
}

template <class Value>
void add(const std::vector<Value>& values, std::vector<double>* sums) {
  for (std::size_t i = 0; i < values.size(); ++i) (*sums)[i] += static_cast<double>(values[i]);
}

/// The shape of the first record (the first good one, if others are left out).
Shape first_shape(RecordStream* records, bool skip_bad_records) {
  PackedRecord packed;
  Record record;
  std::string first_problem;
  std::int64_t bad = 0;
  records->rewind();
  while (records->next(&packed)) {
    try {
      records->unpack(packed, &record);
      records->decode(packed, &record);
      records->rewind();
      return record.image.shape();
    } catch (const Error& error) {
      if (!skip_bad_records || error.kind() != ErrorKind::kUser) throw;
      if (bad++ == 0) first_problem = error.what();
    }
  }
  fail("none of the {} records can be read; the first one: {}", bad, first_problem);
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

ComputedMean compute_mean(RecordStream* records, const MeanOptions& options) {
  ComputedMean result;
  const Shape shape = first_shape(records, options.skip_bad_records);
  std::vector<double> sums(static_cast<std::size_t>(shape.count()));

  BlockWork work;
  work.begin = [] { return std::make_unique<Sums>(); };
  work.visit = [&](const PackedRecord& packed, Record* record, BlockResult* block) {
    records->decode(packed, record);
    with_context([&] { return records->where(packed); },
                 [&] {
                   const Shape found = record->image.shape();
                   require(found == shape,
                           "the image is {}, but the first one is {}; a mean needs images of one "
                           "size{}",
                           found.str(), shape.str(), channels_first_hint(found));
                   add(record->image, static_cast<Sums*>(block));
                 });
  };
  work.join = [&](std::unique_ptr<BlockResult> block) {
    const auto& found = static_cast<const Sums&>(*block);
    if (!block->broken.empty() && !options.skip_bad_records) fail("{}", block->broken[0].why);
    for (BrokenRecord& broken : block->broken) result.skipped.push_back(std::move(broken));
    add(found.bytes, &sums);
    add(found.floats, &sums);
    result.records += found.images;
  };
  BlockOptions blocks;
  blocks.threads = options.threads;
  blocks.progress = options.progress;
  for_each_block(records, blocks, work);

  result.mean.shape = shape;
  for (const double sum : sums) {
    result.mean.values.push_back(static_cast<float>(sum / static_cast<double>(result.records)));
  }
  return result;
}

}  // namespace crema
