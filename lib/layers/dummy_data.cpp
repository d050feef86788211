// DummyData (no bottom, n >= 1 tops): made-up values, for tests and for measuring speed.
//
// Shapes: dummy_data_param.shape once or once a top, or the older num, channels, height and width
// (each once or once a top). Values: data_filler, none (0), one for all tops or one a top; random
// ones are drawn anew for every forward pass.
#include "base/error.h"
#include "base/philox.h"
#include "kernels/blas.h"
#include "layers/fields.h"
#include "layers/filler.h"

namespace crema {
namespace {

/// A repeated field that holds one entry for all tops or one for each.
template <class Field>
const auto& entry(const Field& field, int top) {
  return field[field.size() == 1 ? 0 : top];
}

class DummyDataOp final : public Op {
 public:
  DummyDataOp(const caffe::LayerParameter& definition, std::uint64_t seed)
      : definition_(definition), seed_(seed) {}

  void forward(const RunContext& run) override {
    const auto& fillers = definition_.dummy_data_param().data_filler();
    for (std::size_t i = 0; i < run.tops.size(); ++i) {
      const Tensor& top = run.tops[i];
      const auto filler =
          fillers.empty() ? caffe::FillerParameter() : entry(fillers, static_cast<int>(i));
      if (filler.type() == "constant" && run.device.kind() == DeviceKind::kCpu) {
        crema::fill(run.device, top.elements(), filler.value(), top.write());
        continue;
      }
      const RandomStream stream(seed_, stream_id(definition_.name(), i));
      if (run.device.kind() == DeviceKind::kCpu) {
        fill(filler, top.shape(), stream, top.write(), run.pass, run.device.threads());
      } else {
        std::vector<float> values(static_cast<std::size_t>(top.shape().count()));
        fill(filler, top.shape(), stream, values.data(), run.pass);
        top.copy_from_host(values.data());
      }
    }
  }

 private:
  caffe::LayerParameter definition_;
  std::uint64_t seed_;
};

class DummyDataLayer final : public Layer {
 public:
  explicit DummyDataLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    const caffe::DummyDataParameter& p = definition.dummy_data_param();
    const int tops = definition.top_size();
    require(
        p.data_filler_size() <= 1 || p.data_filler_size() == tops,
        "dummy_data_param.data_filler is given {} times for {} tops; give it once or once a top",
        p.data_filler_size(), tops);
    const bool legacy = p.num_size() + p.channels_size() + p.height_size() + p.width_size() > 0;
    require(
        !legacy || p.shape_size() == 0,
        "dummy_data_param.shape is given together with num, channels, height or width; give one "
        "kind only");
    if (legacy) {
      const auto check = [&](const char* name, int size) {
        require(size == 1 || size == tops,
                "dummy_data_param.{} is given {} times for {} tops; give it once or once a top",
                name, size, tops);
      };
      check("num", p.num_size());
      check("channels", p.channels_size());
      check("height", p.height_size());
      check("width", p.width_size());
    } else {
      require(p.shape_size() == 1 || p.shape_size() == tops,
              "dummy_data_param.shape is given {} times for {} tops; give it once or once a top",
              p.shape_size(), tops);
    }
    for (int top = 0; top < tops; ++top) {
      if (legacy) {
        tops_.push_back(Shape{entry(p.num(), top), entry(p.channels(), top), entry(p.height(), top),
                              entry(p.width(), top)});
      } else {
        const auto& dims = entry(p.shape(), top).dim();
        tops_.emplace_back(std::vector<std::int64_t>(dims.begin(), dims.end()));
      }
      if (p.data_filler_size() > 0) {
        with_context("dummy_data_param.data_filler",
                     [&] { check_filler(entry(p.data_filler(), top), tops_.back()); });
      }
    }
  }

  Inference infer(const std::vector<Shape>&) const override {
    Inference inference;
    inference.tops = tops_;
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<DummyDataOp>(definition(), request.seed);
  }

 private:
  std::vector<Shape> tops_;
};

}  // namespace

std::unique_ptr<Layer> make_dummy_data(const caffe::LayerParameter& definition) {
  return std::make_unique<DummyDataLayer>(definition);
}

}  // namespace crema
