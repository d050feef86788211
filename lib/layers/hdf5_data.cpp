// HDF5Data (no bottom, n >= 1 tops): rows of HDF5 files; each top is the dataset of its name.
//
// Tops: batch x the rest of the dataset's shape. What is read and how is the matter of
// data/batch_reader.h; the files are opened when shapes are first asked for.
#include "base/error.h"
#include "layers/layer.h"
#include "layers/reader_op.h"

namespace crema {
namespace {

class Hdf5DataLayer final : public Layer {
 public:
  explicit Hdf5DataLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(!definition.has_transform_param(),
            "transform_param has no effect on HDF5 data: transform the values in the file, or with "
            "layers behind this one");
  }

  Inference infer(const std::vector<Shape>&) const override {
    if (!reader_) reader_ = open_hdf5(definition(), seed());
    Inference inference;
    inference.tops = reader_->shapes(reader_->batch_size());
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<ReaderOp>(*reader_);
  }
  BatchReader* reader() const override { return reader_.get(); }

 private:
  mutable std::unique_ptr<BatchReader> reader_;
};

}  // namespace

std::unique_ptr<Layer> make_hdf5_data(const caffe::LayerParameter& definition) {
  return std::make_unique<Hdf5DataLayer>(definition);
}

}  // namespace crema
