// HDF5Output (2 bottoms, no top): writes its bottoms into the datasets "data" and "label" of an
// HDF5 file, one row an item, with four axes as Caffe has them (missing ones of size 1).
//
// Every forward pass appends rows. The file gets its name when the layer goes, with the net: a
// file of that name is always complete. No gradient comes from here.
#include <memory>
#include <vector>

#include "base/error.h"
#include "data/hdf5_writer.h"
#include "layers/layer.h"

namespace crema {
namespace {

constexpr const char* kDatasets[] = {"data", "label"};

Shape four_axes(const Shape& shape) {
  return {shape.legacy(0), shape.legacy(1), shape.legacy(2), shape.legacy(3)};
}

class Hdf5OutputOp final : public Op {
 public:
  explicit Hdf5OutputOp(Hdf5Writer& writer) : writer_(writer) {}

  void forward(const RunContext& run) override {
    for (std::size_t i = 0; i < run.bottoms.size(); ++i) {
      const Tensor& bottom = run.bottoms[i];
      values_.resize(static_cast<std::size_t>(bottom.elements()));
      bottom.copy_to_host(values_.data());
      writer_.append(kDatasets[i], four_axes(bottom.shape()), values_.data());
    }
    writer_.flush();
  }
  void backward(const RunContext& run) override {
    for (const Tensor& gradient : run.bottom_gradients) {
      if (gradient) gradient.fill_zero();
    }
  }

 private:
  Hdf5Writer& writer_;
  std::vector<float> values_;
};

class Hdf5OutputLayer final : public Layer {
 public:
  explicit Hdf5OutputLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const std::string& file = definition.hdf5_output_param().file_name();
    require(!file.empty(), "hdf5_output_param.file_name is missing");
    writer_ = std::make_unique<Hdf5Writer>(file);
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    for (std::size_t i = 0; i < bottoms.size(); ++i) {
      require(bottoms[i].axes() <= 4, "bottom {} is {}: HDF5Output writes blobs of at most 4 axes",
              i, bottoms[i].str());
    }
    require(bottoms[0].legacy(0) == bottoms[1].legacy(0),
            "the bottoms are {} and {}: they must have as many items", bottoms[0].str(),
            bottoms[1].str());
    return {};
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<Hdf5OutputOp>(*writer_);
  }
  bool backward_reads_bottom(int) const override { return false; }

 private:
  std::unique_ptr<Hdf5Writer> writer_;
};

}  // namespace

std::unique_ptr<Layer> make_hdf5_output(const caffe::LayerParameter& definition) {
  return std::make_unique<Hdf5OutputLayer>(definition);
}

}  // namespace crema
