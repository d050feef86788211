// HDF5Data (no bottom, n >= 1 tops): rows of HDF5 files; each top is the dataset of its name.
//
// Tops: batch x the rest of the dataset's shape. What is read and how is the matter of
// data/batch_reader.h.
#include "base/error.h"
#include "layers/reader_layer.h"

namespace crema {
namespace {

class Hdf5DataLayer final : public ReaderLayer {
 public:
  explicit Hdf5DataLayer(const caffe::LayerParameter& definition) : ReaderLayer(definition) {
    require(!definition.has_transform_param(),
            "transform_param has no effect on HDF5 data: transform the values in the file, or with "
            "layers behind this one");
  }

 private:
  std::unique_ptr<BatchReader> open() const override { return open_hdf5(definition(), seed()); }
};

}  // namespace

std::unique_ptr<Layer> make_hdf5_data(const caffe::LayerParameter& definition) {
  return std::make_unique<Hdf5DataLayer>(definition);
}

}  // namespace crema
