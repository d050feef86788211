// What the sources of whole pictures (data bases, image lists) have in common: decode, check,
// transform, label.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_source.h"
#include "data/image.h"
#include "data/transform.h"

namespace crema {

/// A batch has the shape of its first picture; the others must come out with the same.
class ImageSource : public BatchSource {
 public:
  const std::vector<Shape>& item_shapes() const final { return item_shapes_; }
  bool shapes_vary() const final { return varying_; }
  std::vector<Shape> next_shapes() final;
  void seek(std::uint64_t position) final;
  void read(int count, const std::vector<float*>& tops, RecordOrigin* origins) final;

 protected:
  /// A picture as it is before transformation. Valid until the next one is loaded.
  struct Record {
    ImageView image;
    float label = 0;
    RecordOrigin origin;
  };

  /// `fixed_size`: pictures have one size whatever the transformation.
  ImageSource(Transformer transformer, bool labels, bool fixed_size);

  /// Learns the shapes from the first record. To be called at the end of the constructor.
  void measure();

  const Transformer& transformer() const { return transformer_; }

 private:
  /// The next load() is that of this record, counted from the beginning of the run.
  virtual void go_to(std::uint64_t position) = 0;
  /// The next record. Errors name it.
  virtual void load(Record* record) = 0;
  /// The context of an error in a record.
  virtual std::string where(const RecordOrigin& origin) const = 0;

  /// The next record, unless it is there already because its shape was asked for.
  void load_once();
  void check(const Shape& shape) const;

  const Transformer transformer_;
  const bool labels_, varying_;
  Transformer::Workspace workspace_;
  Record record_;
  bool loaded_ = false;
  std::uint64_t ordinal_ = 0;  ///< of record_
  Shape image_shape_;          ///< of the picture that gave the batch its shape
  Shape item_shape_;           ///< the same, transformed
  std::vector<Shape> item_shapes_;
};

}  // namespace crema
