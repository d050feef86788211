// layers/: a net, its inputs and parameters, and what Caffe makes of them.
#include <algorithm>
#include <boost/filesystem.hpp>
#include <memory>

#include "cases.h"
#include "directives.h"
#include "folders.h"
#include "hdf5_values.h"
#include "net_access.h"
#include "proto/io.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
namespace {

bool is_split_top(const std::string& blob) {
  const std::size_t at = blob.rfind("_split_");
  return at != std::string::npos && at + 7 < blob.size() &&
         std::all_of(blob.begin() + static_cast<std::ptrdiff_t>(at) + 7, blob.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

class LayerCase {
 public:
  LayerCase(const Directives& directives, Device& device, const std::string& prototxt)
      : directives_(directives),
        wants_backward_(!directives.backward.empty()),
        net_(read_net(prototxt), device, options()) {}

  void run(const Values& values, Report* report) {
    values_ = values;
    report_ = report;
    if (!directives_.reshape.empty()) net_.reshape(directives_.reshape);
    prepare_params();
    net_.clear_gradients();
    float loss = 0;
    for (int i = 0; i < directives_.forwards; ++i) {
      write_inputs();
      loss = net_.forward();
    }
    compare_outputs(loss);
    if (!wants_backward_) return;
    for (int i = 0; i < directives_.backwards; ++i) {
      if (i > 0) {
        write_inputs();
        net_.forward();
      }
      for (const auto& [blob, array] : values_below(values_, "top_grads")) {
        set_output_gradient(&net_, blob, array.values);
      }
      net_.backward();
    }
    compare_gradients();
  }

 private:
  NetOptions options() const {
    NetOptions options;
    options.state = directives_.state;
    options.backward = wants_backward_;
    options.keep_all = true;
    options.expose_gradients = wants_backward_;
    return options;
  }

  void prepare_params() {
    for (const auto& [path, array] : values_below(values_, "params")) {
      const auto [layer, index] = param_path(path);
      const ParamNode* param = find_param(net_, layer, index);
      if (param == nullptr) {
        report_->fail("the net has no parameter " + path);
        continue;
      }
      if (directives_.params_from_fillers) {
        report_->compare("parameter " + path, net_.read_params(layer)[at(index)], array.values,
                         directives_.tolerance);
      } else {
        net_.write_param(layer, index, array.values);
      }
      // A sharer's own shape may be another one (share_mode: PERMISSIVE).
      const std::string& owner = net_.graph().nodes[at(param->owner)].name();
      if (owner == layer && param->index == index) {
        report_->check(param->shape == array.shape,
                       fmt::format("parameter {} has shape {}, expected {}", path,
                                   param->shape.str(), array.shape.str()));
      }
    }
  }

  void write_inputs() {
    for (const auto& [blob, array] : values_below(values_, "inputs")) {
      report_->check(net_.shape(blob) == array.shape,
                     fmt::format("input {} has shape {}, expected {}", blob, net_.shape(blob).str(),
                                 array.shape.str()));
      net_.write_blob(blob, array.values);
    }
  }

  void compare_outputs(float loss) {
    for (const auto& [blob, array] : values_below(values_, "outputs")) {
      if (!net_.has_blob(blob)) {
        report_->check(is_split_top(blob), "the net has no blob " + blob);
        continue;
      }
      report_->compare("output " + blob, net_.shape(blob), net_.read_blob(blob), array,
                       directives_.tolerance);
    }
    const auto expected = values_.find("loss");
    if (expected != values_.end()) {
      report_->compare("loss", {loss}, expected->second.values, directives_.tolerance);
    }
    for (const auto& [path, array] : values_below(values_, "params_after")) {
      const auto [layer, index] = param_path(path);
      report_->compare("parameter " + path + " after forward", net_.read_params(layer)[at(index)],
                       array.values, directives_.tolerance);
    }
  }

  void compare_gradients() {
    for (const auto& [blob, array] : values_below(values_, "input_grads")) {
      report_->compare("gradient of " + blob, input_gradient(net_, blob), array.values,
                       directives_.tolerance);
    }
    for (const auto& [path, array] : values_below(values_, "param_grads")) {
      const auto [layer, index] = param_path(path);
      report_->compare("gradient of " + path, net_.read_param_gradient(layer, index), array.values,
                       directives_.tolerance);
    }
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  Directives directives_;
  bool wants_backward_;
  Net net_;
  Values values_;
  Report* report_ = nullptr;
};

}  // namespace

void run_layer_case(const std::string& prototxt, Report* report) {
  const fs::path path(prototxt);
  const WorkingDirectory directory(path.parent_path().string());
  const std::string file = path.filename().string();
  const Directives directives = read_directives(file);
  const std::unique_ptr<Device> device = make_cpu_device();
  if (directives.expect_error) {
    expect_refusal([&] { LayerCase(directives, *device, file); }, report);
    return;
  }
  const Values values = read_values(fs::path(file).replace_extension(".h5").string());
  LayerCase(directives, *device, file).run(values, report);
}

}  // namespace crema::conformance
