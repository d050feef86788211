// ImageData (no bottom, n >= 2 tops: images and labels): picture files from a list.
//
// Tops: batch x C x H x W, transformed (transform_param), and the labels. What is read and how is
// the matter of data/batch_reader.h.
#include "layers/reader_layer.h"

namespace crema {
namespace {

class ImageDataLayer final : public ReaderLayer {
 public:
  using ReaderLayer::ReaderLayer;

 private:
  std::unique_ptr<BatchReader> open() const override {
    return open_image_list(definition(), phase(), seed(), reading());
  }
};

}  // namespace

std::unique_ptr<Layer> make_image_data(const caffe::LayerParameter& definition) {
  return std::make_unique<ImageDataLayer>(definition);
}

}  // namespace crema
