// What the sources of whole pictures (data bases, image lists) have in common: decode, check,
// transform, labels.
#pragma once

#include <cstdint>
#include <memory>
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
  Shape first_seen() const final { return first_.shape(); }
  bool shapes_vary() const final { return !fixed_size_ && !transformer_.fixes_size(); }
  void set_views(const Views& views) final;
  int views() const final { return transformer_.views(); }
  std::unique_ptr<Workspace> new_workspace() const override;
  void finish(const Record& record, Workspace* workspace, ItemTarget* target) const final;

 protected:
  /// A source derives its own from it if it needs more.
  struct PictureWorkspace : Workspace {
    ImageView image;            ///< before transformation; what load() finds
    std::vector<float> labels;  ///< at least one
    Image decoded;
    Transformer::Workspace transforming;
  };

  /// `label_tops`: 0; 1 for all labels of a record together; n for n of one each. `fixed_size`:
  /// pictures have one size whatever the transformation.
  ImageSource(Transformer transformer, int label_tops, bool fixed_size);

  /// Learns the shapes from the first record; from the first good one, when broken ones are left
  /// out. To be called at the end of the constructor.
  void measure(const ReaderOptions& reading);

  const Transformer& transformer() const { return transformer_; }

 private:
  /// Finds the picture and the labels of a record. User errors name it.
  virtual void load(const Record& record, PictureWorkspace* workspace) const = 0;

  void measure(const Record& record, PictureWorkspace* workspace);

  Transformer transformer_;
  const int label_tops_;
  const bool fixed_size_;
  ImageView first_;  ///< of the first picture: its sizes
  std::size_t label_count_ = 0;
  std::vector<Shape> item_shapes_;
};

}  // namespace crema
