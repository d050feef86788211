// Data (no bottom, 1 to 2 tops: images and labels): records of a database.
//
// Tops: batch x C x H x W, transformed (transform_param), and batch. What is read and how is the
// matter of data/batch_reader.h; the database is opened when shapes are first asked for.
#include "layers/layer.h"
#include "layers/reader_op.h"

namespace crema {
namespace {

class DataLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>&) const override {
    if (!reader_) reader_ = open_data(definition(), phase(), seed());
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

std::unique_ptr<Layer> make_data(const caffe::LayerParameter& definition) {
  return std::make_unique<DataLayer>(definition);
}

}  // namespace crema
