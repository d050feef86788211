#include "op_harness.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/philox.h"
#include "primitives/layouts.h"

namespace crema::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Shape> shapes_of(const std::vector<Blob>& blobs) {
  std::vector<Shape> shapes;
  for (const Blob& blob : blobs) shapes.push_back(blob.shape);
  return shapes;
}

std::vector<Shape> param_shapes(const Inference& inference) {
  std::vector<Shape> shapes;
  for (const ParamDef& param : inference.params) shapes.push_back(param.shape);
  return shapes;
}

/// For Filter what its selector, the last bottom, keeps.
std::vector<Shape> tops_of(const Layer& layer, const std::vector<Blob>& bottoms) {
  if (!layer.tops_depend_on_data()) return layer.infer(shapes_of(bottoms)).tops;
  const auto device = make_cpu_device(1);
  std::vector<Blob> copies = bottoms;
  std::vector<Tensor> tensors;
  for (Blob& copy : copies) {
    tensors.emplace_back(*device, copy.shape, Layout(), copy.values.data());
  }
  return layer.actual_tops(tensors);
}

std::vector<LayoutChoice> choices_of(const Layer& layer, Device& device,
                                     const std::vector<Shape>& bottoms,
                                     const Inference& inference) {
  // As if every gradient were wanted.
  const LayoutRequest request{device,
                              bottoms,
                              inference.tops,
                              param_shapes(inference),
                              std::vector<char>(bottoms.size(), 1),
                              std::vector<char>(inference.params.size(), 1)};
  if (!layer.any_layout()) {
    // Plain first, whatever the layer's order.
    std::vector<LayoutChoice> choices = layer.layouts(request);
    const auto plain = [](const LayoutChoice& choice) {
      return std::all_of(choice.bottoms.begin(), choice.bottoms.end(),
                         [](const Layout& layout) { return layout.is_plain(); }) &&
             std::all_of(choice.params.begin(), choice.params.end(),
                         [](const Layout& layout) { return layout.is_plain(); });
    };
    std::stable_partition(choices.begin(), choices.end(), plain);
    return choices;
  }
  LayoutChoice choice;
  choice.bottoms.resize(bottoms.size());
  choice.tops.resize(inference.tops.size());
  choice.params.resize(inference.params.size());
  std::vector<LayoutChoice> choices = {choice};
  if (!bottoms.empty() && !channels_last(bottoms[0]).is_plain()) {
    for (Layout& layout : choice.bottoms) layout = channels_last(bottoms[0]);
    for (Layout& layout : choice.tops) layout = channels_last(bottoms[0]);
    choices.push_back(choice);
  }
  return choices;
}

/// A tensor with memory of its own; as in a net it is a tensor even without elements.
class Owned {
 public:
  Owned(Device& device, const Shape& shape, const Layout& layout)
      : buffer_(device,
                static_cast<std::size_t>(std::max<std::int64_t>(layout.elements(shape), 1)) *
                    sizeof(float)),
        tensor_(device, shape, layout, buffer_.floats()) {}

  const Tensor& tensor() const { return tensor_; }
  void set(const std::vector<float>& plain) {
    ASSERT_EQ(static_cast<std::int64_t>(plain.size()), tensor_.shape().count());
    std::vector<float> copy = plain;
    reorder(Tensor(tensor_.device(), tensor_.shape(), Layout(), copy.data()), tensor_);
  }
  void poison() { std::fill_n(tensor_.write(), tensor_.elements(), kNan); }

 private:
  Buffer buffer_;
  Tensor tensor_;
};

Blob plain(const Tensor& tensor) {
  Blob result{tensor.shape(), std::vector<float>(static_cast<std::size_t>(tensor.shape().count()))};
  reorder(tensor, Tensor(tensor.device(), tensor.shape(), Layout(), result.values.data()));
  return result;
}

std::vector<std::unique_ptr<Owned>> allocate(Device& device, const std::vector<Shape>& shapes,
                                             const std::vector<Layout>& layouts) {
  std::vector<std::unique_ptr<Owned>> owned;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    owned.push_back(std::make_unique<Owned>(device, shapes[i], layouts[i]));
    owned.back()->poison();
  }
  return owned;
}

std::vector<Tensor> tensors_of(const std::vector<std::unique_ptr<Owned>>& owned) {
  std::vector<Tensor> tensors;
  for (const auto& one : owned) tensors.push_back(one->tensor());
  return tensors;
}

void poison(Buffer& buffer) {
  std::fill_n(static_cast<unsigned char*>(buffer.data()), buffer.bytes(), 0xff);
}

double dot(const Blob& a, const Blob& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    sum += static_cast<double>(a.values[i]) * static_cast<double>(b.values[i]);
  }
  return sum;
}

}  // namespace

Blob blob(Shape shape, std::vector<float> values) { return {std::move(shape), std::move(values)}; }

Blob spread(Shape shape, float low, float high, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(shape.count());
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = low + (high - low) * (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
  }
  const RandomStream random(seed, 0);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(values[i - 1], values[random.below(0, i, static_cast<std::uint32_t>(i))]);
  }
  return {std::move(shape), std::move(values)};
}

std::unique_ptr<Layer> make(const std::string& text) {
  caffe::LayerParameter definition;
  CREMA_ASSERT(google::protobuf::TextFormat::ParseFromString(text, &definition));
  if (!definition.has_phase()) definition.set_phase(caffe::TRAIN);
  return layer_type(definition.type()).make(definition);
}

int layout_count(const Layer& layer, const std::vector<Blob>& bottoms) {
  const auto device = make_cpu_device(1);
  const std::vector<Shape> shapes = shapes_of(bottoms);
  return static_cast<int>(choices_of(layer, *device, shapes, layer.infer(shapes)).size());
}

std::vector<Blob> spread_params(const Layer& layer, const std::vector<Blob>& bottoms) {
  std::vector<Blob> params;
  for (const ParamDef& param : layer.infer(shapes_of(bottoms)).params) {
    params.push_back(spread(param.shape, -1, 1, 100 + params.size()));
  }
  return params;
}

std::vector<Blob> spread_gradients(const Layer& layer, const std::vector<Blob>& bottoms) {
  std::vector<Blob> gradients;
  for (const Shape& top : tops_of(layer, bottoms)) {
    gradients.push_back(top.count() == 1 ? blob(top, {0.7f})
                                         : spread(top, -1, 1, 200 + gradients.size()));
  }
  return gradients;
}

Result run(const Layer& layer, const std::vector<Blob>& bottoms, const std::vector<Blob>& params,
           const std::vector<Blob>& top_gradients, const RunOptions& options) {
  const auto device = make_cpu_device(options.threads);
  const std::vector<Shape> shapes = shapes_of(bottoms);
  const Inference inference = layer.infer(shapes);
  const LayoutChoice choice =
      choices_of(layer, *device, shapes, inference)[static_cast<std::size_t>(options.layout)];
  std::vector<char> bottom_wanted = options.bottom_gradients;
  std::vector<char> param_wanted = options.param_gradients;
  if (bottom_wanted.empty()) {
    for (std::size_t i = 0; i < bottoms.size(); ++i) {
      bottom_wanted.push_back(layer.differentiable(static_cast<int>(i)));
    }
  }
  if (param_wanted.empty()) param_wanted.assign(params.size(), 1);
  if (!options.backward) {
    bottom_wanted.assign(bottoms.size(), 0);
    param_wanted.assign(params.size(), 0);
  }

  PlanRequest request{*device,
                      shapes,
                      inference.tops,
                      param_shapes(inference),
                      choice.bottoms,
                      choice.tops,
                      choice.params,
                      bottom_wanted,
                      param_wanted,
                      options.fused_relu,
                      options.fused_relu_slope};
  const std::unique_ptr<Op> op = layer.plan(request);
  const std::vector<Shape> tops = tops_of(layer, bottoms);

  const auto bottom_memory = allocate(*device, shapes, choice.bottoms);
  const auto top_memory = allocate(*device, tops, choice.tops);
  const auto param_memory = allocate(*device, request.params, choice.params);
  for (std::size_t i = 0; i < bottoms.size(); ++i) bottom_memory[i]->set(bottoms[i].values);
  for (std::size_t i = 0; i < params.size(); ++i) param_memory[i]->set(params[i].values);
  Buffer workspace(*device, op->workspace_bytes()), scratch(*device, op->scratch_bytes());
  poison(workspace);
  poison(scratch);

  // As the memory pass decides it.
  const bool in_place = options.in_place && layer.forward_in_place() &&
                        !(options.backward && layer.backward_reads_bottom(0));
  RunContext context{*device,
                     tensors_of(bottom_memory),
                     tensors_of(top_memory),
                     tensors_of(param_memory),
                     {},
                     {},
                     {},
                     {},
                     workspace.data(),
                     scratch.data(),
                     options.pass,
                     options.describe_item};
  for (std::size_t i = 0; i < context.tops.size(); ++i) {
    const bool view = options.views && layer.is_view(static_cast<int>(i));
    if (view || (in_place && i == 0)) {
      context.tops[i] =
          Tensor(*device, tops[i], choice.tops[i], bottom_memory[0]->tensor().update());
    }
  }
  op->forward(context);

  Result result;
  result.engine = op->engine();
  for (const Tensor& top : context.tops) result.tops.push_back(plain(top));
  if (!request.any_gradient()) return result;

  // What the memory pass may do between forward and backward.
  for (std::size_t i = 0; i < bottoms.size(); ++i) {
    if (!layer.backward_reads_bottom(static_cast<int>(i)) && !(in_place && i == 0)) {
      bottom_memory[i]->poison();
    }
  }
  for (std::size_t i = 0; i < context.tops.size(); ++i) {
    const bool read =
        layer.backward_reads_top(static_cast<int>(i)) || (i == 0 && options.fused_relu);
    if (!read && !layer.is_view(static_cast<int>(i))) {
      std::fill_n(context.tops[i].write(), context.tops[i].elements(), kNan);
    }
  }
  poison(scratch);

  const auto top_gradient_memory = allocate(*device, tops, choice.tops);
  const auto bottom_gradient_memory = allocate(*device, shapes, choice.bottoms);
  const auto param_gradient_memory = allocate(*device, request.params, choice.params);
  context.top_gradients.resize(context.tops.size());
  context.bottom_gradients.resize(bottoms.size());
  context.param_gradients.resize(params.size());
  for (std::size_t i = 0; i < top_gradients.size(); ++i) {
    if (top_gradients[i].values.empty()) continue;
    top_gradient_memory[i]->set(top_gradients[i].values);
    context.top_gradients[i] = top_gradient_memory[i]->tensor();
  }
  for (std::size_t i = 0; i < bottoms.size(); ++i) {
    if (bottom_wanted[i]) context.bottom_gradients[i] = bottom_gradient_memory[i]->tensor();
  }
  const bool gradient_in_place = (options.views && layer.is_gradient_view()) ||
                                 (options.in_place && layer.backward_in_place());
  if (gradient_in_place && context.top_gradients[0] && bottom_wanted[0]) {
    context.bottom_gradients[0] =
        Tensor(*device, shapes[0], choice.bottoms[0], context.top_gradients[0].update());
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!param_wanted[i]) continue;
    context.param_gradients[i] = param_gradient_memory[i]->tensor();
    if (!options.accumulate_on.empty()) {
      param_gradient_memory[i]->set(options.accumulate_on[i].values);
    }
  }
  context.accumulate.assign(params.size(), options.accumulate_on.empty() ? 0 : 1);
  op->backward(context);

  for (const Tensor& gradient : context.bottom_gradients) {
    result.bottom_gradients.push_back(gradient ? plain(gradient) : Blob{});
  }
  for (const Tensor& gradient : context.param_gradients) {
    result.param_gradients.push_back(gradient ? plain(gradient) : Blob{});
  }
  return result;
}

void expect_near(const Blob& actual, const Blob& expected, double tolerance, const char* what) {
  ASSERT_EQ(actual.shape, expected.shape) << what;
  double scale = 1;
  for (const float value : expected.values) {
    scale = std::max(scale, std::abs(static_cast<double>(value)));
  }
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const auto a = static_cast<double>(actual.values[i]);
    const auto e = static_cast<double>(expected.values[i]);
    const bool same = std::isnan(e) ? std::isnan(a) : std::abs(a - e) <= tolerance * scale;
    ASSERT_TRUE(same) << what << "[" << i << "] is " << a << ", not " << e;
  }
}

namespace {

void expect_same(const Result& actual, const Result& expected, double tolerance,
                 const std::string& what) {
  for (std::size_t i = 0; i < expected.tops.size(); ++i) {
    expect_near(actual.tops[i], expected.tops[i], tolerance, (what + ", top").c_str());
  }
  for (std::size_t i = 0; i < expected.bottom_gradients.size(); ++i) {
    expect_near(actual.bottom_gradients[i], expected.bottom_gradients[i], tolerance,
                (what + ", bottom gradient").c_str());
  }
  for (std::size_t i = 0; i < expected.param_gradients.size(); ++i) {
    expect_near(actual.param_gradients[i], expected.param_gradients[i], tolerance,
                (what + ", parameter gradient").c_str());
  }
}

}  // namespace

Blob differences(const Layer& layer, std::vector<Blob> bottoms, std::vector<Blob> params,
                 const std::vector<Blob>& top_gradients, bool by_param, std::size_t which,
                 double h) {
  RunOptions options;
  options.backward = false;
  std::vector<float>& values = (by_param ? params : bottoms)[which].values;
  Blob result{(by_param ? params : bottoms)[which].shape, {}};
  const auto objective = [&] {
    const Result at = run(layer, bottoms, params, {}, options);
    double sum = 0;
    for (std::size_t i = 0; i < top_gradients.size(); ++i) {
      if (!top_gradients[i].values.empty()) sum += dot(at.tops[i], top_gradients[i]);
    }
    return sum;
  };
  for (float& value : values) {
    const float middle = value;
    value = middle + static_cast<float>(h);
    const double right = value, above = objective();
    value = middle - static_cast<float>(h);
    const double left = value, below = objective();
    value = middle;
    result.values.push_back(static_cast<float>((above - below) / (right - left)));
  }
  return result;
}

void check_forms(const Layer& layer, const std::vector<Blob>& bottoms,
                 const std::vector<Blob>& params, const std::vector<Blob>& top_gradients,
                 double tolerance) {
  const Result reference = run(layer, bottoms, params, top_gradients);
  const int layouts = layout_count(layer, bottoms);
  for (int layout = 0; layout < layouts; ++layout) {
    for (const int threads : {1, 2, 3}) {
      for (const bool in_place : {false, true}) {
        RunOptions options;
        options.layout = layout;
        options.threads = threads;
        options.in_place = in_place;
        const std::string what =
            fmt::format("layout {}, {} threads{}", layout, threads, in_place ? ", in place" : "");
        expect_same(run(layer, bottoms, params, top_gradients, options), reference, tolerance,
                    what);
      }
    }
    RunOptions forward;
    forward.layout = layout;
    forward.in_place = true;
    forward.backward = false;
    Result tops = reference;
    tops.bottom_gradients.clear();
    tops.param_gradients.clear();
    expect_same(run(layer, bottoms, params, {}, forward), tops, tolerance,
                "forward alone, in place");
    if (!params.empty()) {
      RunOptions options;
      options.layout = layout;
      for (const Blob& param : params) {
        options.accumulate_on.push_back(spread(param.shape, -1, 1, 300));
      }
      Result sum = reference;
      for (std::size_t i = 0; i < params.size(); ++i) {
        std::vector<float>& values = sum.param_gradients[i].values;
        std::transform(values.begin(), values.end(), options.accumulate_on[i].values.begin(),
                       values.begin(), std::plus<>());
      }
      expect_same(run(layer, bottoms, params, top_gradients, options), sum, tolerance,
                  "accumulated");
    }
    RunOptions copies;
    copies.layout = layout;
    copies.views = false;
    expect_same(run(layer, bottoms, params, top_gradients, copies), reference, tolerance, "copies");
    // Nothing from above is like zeros from above, here as everywhere.
    RunOptions options;
    options.layout = layout;
    const Result nothing = run(layer, bottoms, params, {}, options);
    for (const auto* list : {&nothing.bottom_gradients, &nothing.param_gradients}) {
      for (const Blob& gradient : *list) {
        EXPECT_THAT(gradient.values, testing::Each(testing::Eq(0.0f)));
      }
    }
  }
}

void check_layer(const std::string& text, const std::vector<Blob>& bottoms,
                 const std::vector<Blob>& params, double h, double tolerance) {
  SCOPED_TRACE(text);
  const auto layer = make(text);
  const std::vector<Blob> gradients = spread_gradients(*layer, bottoms);
  check_forms(*layer, bottoms, params, gradients, 1e-5);
  if (h == 0) return;
  const Result reference = run(*layer, bottoms, params, gradients);
  for (std::size_t i = 0; i < bottoms.size(); ++i) {
    if (!layer->differentiable(static_cast<int>(i))) continue;
    expect_near(reference.bottom_gradients[i],
                differences(*layer, bottoms, params, gradients, false, i, h), tolerance,
                "bottom gradient and finite differences");
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    expect_near(reference.param_gradients[i],
                differences(*layer, bottoms, params, gradients, true, i, h), tolerance,
                "parameter gradient and finite differences");
  }
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUser) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

std::string infer_error(const std::string& text, const std::vector<Shape>& bottoms) {
  return error_of([&] { make(text)->infer(bottoms); });
}

}  // namespace crema::test
