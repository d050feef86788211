// "Data": pictures and labels out of an LMDB.
#include <utility>

#include "base/error.h"
#include "data/batch_source.h"
#include "data/datum.h"
#include "data/lmdb.h"
#include "data/record_name.h"
#include "data/transform.h"

namespace crema {
namespace {

class DataSource : public BatchSource {
 public:
  DataSource(const std::string& path, bool labels, Transformer transformer)
      : reader_(path), transformer_(std::move(transformer)) {
    reader_.next();
    parse([&] {
      first_shape_ = image_of(datum_).shape();
      item_shapes_.push_back(transformer_.output_shape(first_shape_));
    });
    if (labels) item_shapes_.emplace_back();
    item_size_ = item_shapes_[0].count();
    reader_.rewind();
  }

  const std::vector<Shape>& item_shapes() const override { return item_shapes_; }
  std::int64_t records() const override { return reader_.records(); }

  void seek(std::uint64_t position) override {
    reader_.rewind();
    reader_.skip(static_cast<std::int64_t>(position % static_cast<std::uint64_t>(records())));
    ordinal_ = position;
  }

  void read(int count, const std::vector<float*>& tops, RecordOrigin* origins) override {
    for (int i = 0; i < count; ++i, ++ordinal_) {
      if (!reader_.next()) reader_.next();  // there is at least one record
      origins[i].key = reader_.key();
      parse([&] {
        const ImageView image = image_of(datum_);
        const Shape shape = image.shape();
        check(shape);
        transformer_.transform(image, transformer_.place(shape, ordinal_),
                               tops[0] + i * item_size_);
      });
      if (tops.size() > 1) tops[1][i] = static_cast<float>(datum_.label());
    }
  }

  std::string describe(const RecordOrigin& origin) const override {
    return fmt::format("{} of {}", record_name(origin.key), reader_.path());
  }

 private:
  /// Parses the present record and runs `use` on it; errors gain the record's name and the source.
  template <class Use>
  void parse(const Use& use) {
    const std::string_view value = reader_.value();
    with_context([&] { return reader_.path(); },
                 [&] {
                   parse_datum(reader_.key(), value, &datum_);
                   with_context([&] { return record_name(reader_.key()); }, use);
                 });
  }

  /// Records need the first one's shape, or, when a crop makes them equal, a shape that it fits.
  void check(const Shape& shape) const {
    if (shape == first_shape_) return;
    const Shape cropped = transformer_.output_shape(shape);
    require(cropped == item_shapes_[0],
            "the image is {}, but the first record, which gives the batch its shape, is {}{}",
            shape.str(), first_shape_.str(), channels_first_hint(shape));
  }

  LmdbReader reader_;
  const Transformer transformer_;
  caffe::Datum datum_;
  Shape first_shape_;
  std::vector<Shape> item_shapes_;
  std::int64_t item_size_ = 0;
  std::uint64_t ordinal_ = 0;
};

}  // namespace

std::unique_ptr<BatchReader> open_data(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed) {
  const caffe::DataParameter& param = layer.data_param();
  require(layer.top_size() == 1 || layer.top_size() == 2,
          "a Data layer has 1 or 2 tops (the pictures, the labels), not {}", layer.top_size());
  require(!param.source().empty(), "data_param has no source");
  require(param.backend() == caffe::DataParameter::LMDB,
          "data_param.source {}: {}, and LevelDB is not supported yet; for an LMDB write "
          "data_param {{ backend: LMDB }}",
          param.source(),
          param.has_backend() ? "the backend is LEVELDB"
                              : "without backend: it is Caffe's default, LEVELDB");
  const int batch_size = positive_int(param.batch_size(), "data_param.batch_size");
  const int depth =
      param.has_prefetch() ? positive_int(param.prefetch(), "data_param.prefetch") : 0;
  Transformer transformer(layer.transform_param(), phase, seed, layer.name());
  return read_ahead(
      std::make_unique<DataSource>(param.source(), layer.top_size() == 2, std::move(transformer)),
      batch_size, depth);
}

}  // namespace crema
