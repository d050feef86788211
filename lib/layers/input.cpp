// Input (0 bottoms, n >= 1 tops): values that the caller writes into the net.
//
// Shapes: input_param.shape, once for all tops or once a top.
#include "base/error.h"
#include "layers/layer.h"

namespace crema {
namespace {

class InputOp final : public Op {
 public:
  void forward(const RunContext&) override {}
};

class InputLayer final : public Layer {
 public:
  explicit InputLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const auto& shapes = definition.input_param().shape();
    require(!shapes.empty(),
            "input_param.shape is missing: give one shape, or one for each of the {} tops",
            definition.top_size());
    require(shapes.size() == 1 || shapes.size() == definition.top_size(),
            "input_param.shape is given {} times for {} tops; give it once or once a top",
            shapes.size(), definition.top_size());
    for (int top = 0; top < definition.top_size(); ++top) {
      const auto& dims = shapes[shapes.size() == 1 ? 0 : top].dim();
      tops_.emplace_back(std::vector<std::int64_t>(dims.begin(), dims.end()));
    }
  }

  Inference infer(const std::vector<Shape>&) const override {
    Inference inference;
    inference.tops = tops_;
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<InputOp>();
  }
  bool tops_persist() const override { return true; }
  bool filled_by_caller() const override { return true; }

 private:
  std::vector<Shape> tops_;
};

}  // namespace

std::unique_ptr<Layer> make_input(const caffe::LayerParameter& definition) {
  return std::make_unique<InputLayer>(definition);
}

}  // namespace crema
