// WindowData (no bottom, 2 tops: images and labels): parts of pictures, foreground and background.
//
// Tops: batch x 3 x crop_size x crop_size and batch. What is read and how is the matter of
// data/batch_reader.h.
#include "layers/reader_layer.h"

namespace crema {
namespace {

class WindowDataLayer final : public ReaderLayer {
 public:
  using ReaderLayer::ReaderLayer;

 private:
  std::unique_ptr<BatchReader> open() const override {
    return open_windows(definition(), seed(), reading());
  }
};

}  // namespace

std::unique_ptr<Layer> make_window_data(const caffe::LayerParameter& definition) {
  return std::make_unique<WindowDataLayer>(definition);
}

}  // namespace crema
