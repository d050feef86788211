// nets/: whole architectures with computed weights, forward and backward. Only a few values and the
// norm of each blob and gradient are stored; they are compared relative to the array's own size.
#include <algorithm>
#include <boost/filesystem.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cases.h"
#include "directives.h"
#include "folders.h"
#include "formula.h"
#include "hdf5_values.h"
#include "net_access.h"
#include "proto/io.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
using Json = nlohmann::json;
namespace {

/// Of values and of the norm, unless the entry says otherwise.
struct Tolerances {
  double values, norm;
  /// An entry's `tolerance` is meant for both.
  bool common;
};
constexpr Tolerances kBlob{1e-3, 1e-3, true};
constexpr Tolerances kGradient{1e-2, 2e-3, false};
/// Our formula against the values stored with 9 digits.
constexpr double kFormula = 1e-6;

Shape shape_of(const Json& entry) {
  return Shape(entry.at("shape").get<std::vector<std::int64_t>>());
}

/// What the corpus keeps of an array.
void compare_summary(const std::string& what, const std::vector<float>& values, const Json& entry,
                     Tolerances tolerances, Report* report) {
  const double expected_norm = entry.at("l2");
  if (entry.contains("tolerance")) {
    tolerances.values = entry["tolerance"];
    if (tolerances.common) tolerances.norm = tolerances.values;
  }
  if (entry.contains("l2_tolerance")) tolerances.norm = entry["l2_tolerance"];
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * x;
  const double smallest = 1e-30;
  report->compare(what + " l2", std::sqrt(squares), expected_norm, tolerances.norm,
                  std::max(expected_norm, smallest));
  const double rms =
      expected_norm / std::sqrt(static_cast<double>(std::max<std::size_t>(values.size(), 1)));
  const auto compare_at = [&](const Json& stored, std::size_t offset) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      report->compare(fmt::format("{} [{}]", what, offset + i), values[offset + i], stored[i],
                      tolerances.values, std::max(rms, smallest));
    }
  };
  const Json& first = entry.at("first");
  if (first.size() > values.size()) {
    report->fail(fmt::format("{} has only {} values", what, values.size()));
    return;
  }
  compare_at(first, 0);
  if (entry.contains("last")) compare_at(entry["last"], values.size() - entry["last"].size());
}

class NetCase {
 public:
  NetCase(const std::string& prototxt, const std::string& phase, const Json& expected,
          Device& device, Report* report)
      : phase_(phase),
        expected_(expected),
        trains_(phase == "TRAIN"),
        report_(report),
        net_(read_net(prototxt), device, options()) {}

  void run() {
    compare_layers();
    write_inputs();
    write_params();
    net_.clear_gradients();
    const float loss = net_.forward();
    compare_loss(loss);
    for (const auto& [blob, entry] : expected_.at("blobs").items()) compare_blob(blob, entry);
    if (!trains_) return;
    for (const auto& [path, entry] : expected_.at("params_after").items()) {
      const auto [layer, index] = param_path(path);
      compare_summary(label("parameter " + path + " after forward"),
                      net_.read_params(layer)[static_cast<std::size_t>(index)], entry, kBlob,
                      report_);
    }
    net_.backward();
    for (const auto& [path, entry] : expected_.at("param_grads").items()) {
      const auto [layer, index] = param_path(path);
      compare_summary(label("gradient of " + path), net_.read_param_gradient(layer, index), entry,
                      kGradient, report_);
    }
  }

 private:
  NetOptions options() const {
    NetOptions options;
    options.state.set_phase(trains_ ? caffe::TRAIN : caffe::TEST);
    options.backward = trains_;
    // Not all: what is not asked for may be fused away or share memory, as in real runs.
    for (const auto& [blob, entry] : expected_.at("blobs").items()) options.keep.push_back(blob);
    return options;
  }

  std::string label(const std::string& what) const { return phase_ + " " + what; }

  const Node& layer(std::size_t index) const { return net_.graph().nodes[index]; }

  void compare_layers() {
    const Json& layers = expected_.at("layers");
    const std::vector<std::size_t> order = definition_order(net_);
    report_->check(
        order.size() == layers.size(),
        label(fmt::format("net has {} layers, expected {}", order.size(), layers.size())));
    for (std::size_t i = 0; i < std::min(order.size(), layers.size()); ++i) {
      const Node& node = layer(order[i]);
      report_->check(node.name() == layers[i].at(0) && node.type() == layers[i].at(1),
                     label(fmt::format("layer {} is \"{}\" ({}), expected {}", i, node.name(),
                                       node.type(), layers[i].dump())));
    }
  }

  /// The formula itself is checked with what is stored of its values.
  void check_formula(const std::string& what, const std::vector<float>& values, const Json& entry) {
    const std::vector<float> first = entry.at("first");
    const std::size_t count = std::min(first.size(), values.size());
    report_->compare(label("formula of " + what),
                     {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}, first,
                     kFormula);
  }

  void write_inputs() {
    for (const auto& [blob, entry] : expected_.at("inputs").items()) {
      const Shape shape = net_.shape(blob);
      report_->check(shape == shape_of(entry), label("input " + blob + " has another shape"));
      const std::vector<float> values = input_values(entry.at("rule"), entry.at("seed"), shape);
      check_formula(blob, values, entry);
      net_.write_blob(blob, values);
    }
  }

  void write_params() {
    const Json& params = expected_.at("params");
    const std::vector<std::size_t> order = definition_order(net_);
    std::size_t written = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = layer(order[i]);
      for (std::size_t blob = 0; blob < node.params.size(); ++blob) {
        const ParamNode& param = net_.graph().params[static_cast<std::size_t>(node.params[blob])];
        if (static_cast<std::size_t>(param.owner) != order[i]) continue;
        const std::string path = fmt::format("{}/{}", node.name(), blob);
        if (!params.contains(path)) {
          report_->fail(label("parameter " + path + " is not expected"));
          continue;
        }
        write_param(path, params[path], 1000 * i + blob, param.shape);
        ++written;
      }
    }
    report_->check(written == params.size(), label("parameters are missing"));
  }

  void write_param(const std::string& path, const Json& entry, std::uint64_t seed,
                   const Shape& shape) {
    report_->check(shape == shape_of(entry),
                   label(fmt::format("parameter {} has shape {}, expected {}", path, shape.str(),
                                     shape_of(entry).str())));
    report_->check(seed == entry.at("seed"), label("parameter " + path + " has another seed"));
    const std::vector<float> values = param_values(entry.at("rule"), seed, shape);
    check_formula(path, values, entry);
    const auto [name, index] = param_path(path);
    net_.write_param(name, index, values);
  }

  void compare_loss(float loss) {
    const double expected = expected_.at("loss");
    report_->compare(label("loss"), loss, expected, kBlob.values, std::max(1.0, expected));
    for (const auto& [blob, entry] : expected_.at("losses").items()) {
      const double value = entry.at("value");
      report_->check(net_.loss_weight(blob) == entry.at("weight").get<float>(),
                     label("loss weight of " + blob));
      report_->compare(label("loss " + blob), net_.read_blob(blob).at(0), value, kBlob.values,
                       std::max(1.0, value));
    }
  }

  void compare_blob(const std::string& blob, const Json& entry) {
    const Shape shape = net_.shape(blob);
    if (shape == shape_of(entry)) {
      compare_summary(label("blob " + blob), net_.read_blob(blob), entry, kBlob, report_);
    } else {
      report_->fail(label(fmt::format("blob {} has shape {}, expected {}", blob, shape.str(),
                                      shape_of(entry).str())));
    }
  }

  std::string phase_;
  const Json& expected_;
  bool trains_;
  Report* report_;
  Net net_;
};

}  // namespace

void run_net_case(const std::string& prototxt, Report* report) {
  const fs::path path(prototxt);
  const WorkingDirectory directory(path.parent_path().string());
  const std::string file = path.filename().string();
  const Json expected = Json::parse(read_file(fs::path(file).replace_extension(".json").string()));
  const std::unique_ptr<Device> device = make_cpu_device();
  for (const char* phase : {"TEST", "TRAIN"}) {
    if (expected.contains(phase)) NetCase(file, phase, expected[phase], *device, report).run();
  }
}

}  // namespace crema::conformance
