// Data (no bottom, n >= 1 tops: images and labels): records of a database.
//
// Tops: batch x C x H x W, transformed (transform_param), and the labels. What is read and how, and
// which labels go where, is the matter of data/batch_reader.h.
#include "layers/reader_layer.h"

namespace crema {
namespace {

class DataLayer final : public ReaderLayer {
 public:
  using ReaderLayer::ReaderLayer;

 private:
  std::unique_ptr<BatchReader> open() const override {
    return open_data(definition(), phase(), seed(), reading());
  }
};

}  // namespace

std::unique_ptr<Layer> make_data(const caffe::LayerParameter& definition) {
  return std::make_unique<DataLayer>(definition);
}

}  // namespace crema
