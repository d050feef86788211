// HDF5Data (no bottom, n >= 1 tops): rows of HDF5 files; each top is the dataset of its name.
//
// Tops: batch x the rest of the dataset's shape. What is read and how is the matter of
// data/batch_reader.h.
#include "layers/reader_layer.h"

namespace crema {
namespace {

class Hdf5DataLayer final : public ReaderLayer {
 public:
  using ReaderLayer::ReaderLayer;

 private:
  std::unique_ptr<BatchReader> open() const override {
    return open_hdf5(definition(), phase(), seed(), reading());
  }
};

}  // namespace

std::unique_ptr<Layer> make_hdf5_data(const caffe::LayerParameter& definition) {
  return std::make_unique<Hdf5DataLayer>(definition);
}

}  // namespace crema
