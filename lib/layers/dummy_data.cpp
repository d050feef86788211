// DummyData (no bottom, n >= 1 tops): made-up values, for tests and for measuring speed.
//
// Shapes: dummy_data_param.shape once or once a top, or the older num, channels, height and width
// (each once or once a top). Values: data_filler, none (0), one for all tops or one a top; random
// ones are drawn anew for every forward pass.
#include "base/error.h"
#include "base/philox.h"
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
  /// Fillers: one a top, checked.
  DummyDataOp(const std::string& name, const std::vector<caffe::FillerParameter>& fillers,
              std::uint64_t seed) {
    for (const caffe::FillerParameter& filler : fillers) {
      tops_.push_back({filler, RandomStream(seed, stream_id(name, tops_.size())), {}});
    }
  }

  void forward(const RunContext& run) override {
    for (std::size_t i = 0; i < run.tops.size(); ++i) {
      const Tensor& tensor = run.tops[i];
      Top& top = tops_[i];
      // Constants too are written every time: the memory may be another's between passes.
      if (run.device.kind() == DeviceKind::kCpu) {
        fill(run.device, top.filler, tensor.shape(), top.stream, tensor.write(), run.pass);
        continue;
      }
      const bool first = top.staged.empty();
      top.staged.resize(static_cast<std::size_t>(tensor.shape().count()));
      if (first || top.filler.type() != "constant") {
        fill(run.device, top.filler, tensor.shape(), top.stream, top.staged.data(), run.pass);
      }
      tensor.copy_from_host(top.staged.data());
    }
  }

 private:
  struct Top {
    caffe::FillerParameter filler;
    RandomStream stream;
    std::vector<float> staged;  ///< on the way to a device that is not the processor
  };
  std::vector<Top> tops_;
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
      fillers_.push_back(p.data_filler_size() > 0 ? entry(p.data_filler(), top)
                                                  : caffe::FillerParameter());
      with_context("dummy_data_param.data_filler",
                   [&] { check_filler(fillers_.back(), tops_.back()); });
    }
  }

  Inference infer(const std::vector<Shape>&) const override {
    Inference inference;
    inference.tops = tops_;
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<DummyDataOp>(name(), fillers_, seed());
  }

 private:
  std::vector<Shape> tops_;
  std::vector<caffe::FillerParameter> fillers_;
};

}  // namespace

std::unique_ptr<Layer> make_dummy_data(const caffe::LayerParameter& definition) {
  return std::make_unique<DummyDataLayer>(definition);
}

}  // namespace crema
