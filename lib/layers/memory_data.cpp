// MemoryData (no bottom, 2 tops: images and labels): what the calling program writes into the net.
//
// Tops: batch_size x channels x height x width (memory_data_param) and batch_size. They keep what
// was written last; the net refuses to run before both have been written.
#include "base/error.h"
#include "layers/layer.h"

namespace crema {
namespace {

class MemoryDataOp final : public Op {
 public:
  void forward(const RunContext&) override {}
};

class MemoryDataLayer final : public Layer {
 public:
  explicit MemoryDataLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(!definition.has_transform_param(),
            "transform_param has no effect on MemoryData: write transformed values, or transform "
            "them with layers behind this one");
    const caffe::MemoryDataParameter& p = definition.memory_data_param();
    const auto size = [](const char* field, std::uint32_t value) {
      require(value > 0, "memory_data_param.{} is missing or 0; all four sizes are needed", field);
      return std::int64_t{value};
    };
    const std::int64_t batch = size("batch_size", p.batch_size());
    tops_.push_back({batch, size("channels", p.channels()), size("height", p.height()),
                     size("width", p.width())});
    tops_.push_back({batch});
  }

  Inference infer(const std::vector<Shape>&) const override {
    Inference inference;
    inference.tops = tops_;
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<MemoryDataOp>();
  }
  bool tops_persist() const override { return true; }
  bool filled_by_caller() const override { return true; }
  bool must_be_filled() const override { return true; }

 private:
  std::vector<Shape> tops_;
};

}  // namespace

std::unique_ptr<Layer> make_memory_data(const caffe::LayerParameter& definition) {
  return std::make_unique<MemoryDataLayer>(definition);
}

}  // namespace crema
