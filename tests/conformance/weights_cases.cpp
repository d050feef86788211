// weights/: weight files of every age, loaded into a net.
#include <memory>

#include "cases.h"
#include "directives.h"
#include "folders.h"
#include "hdf5_values.h"
#include "net/net.h"
#include "proto/io.h"

namespace crema::conformance {
namespace {

void compare(const Directives& directives, Net* net, Report* report) {
  const Values values = read_values("expected.h5");
  for (const auto& [path, array] : values_below(values, "params")) {
    const auto [layer, index] = param_path(path);
    const std::vector<std::vector<float>> params = net->read_params(layer);
    if (index >= static_cast<int>(params.size())) {
      report->fail("the net has no parameter " + path);
      continue;
    }
    report->compare("parameter " + path, params[static_cast<std::size_t>(index)], array.values,
                    directives.tolerance);
  }
  for (const auto& [blob, array] : values_below(values, "inputs")) {
    net->write_blob(blob, array.values);
  }
  net->forward();
  for (const auto& [blob, array] : values_below(values, "outputs")) {
    report->compare("output " + blob, net->shape(blob), net->read_blob(blob), array,
                    directives.tolerance);
  }
}

}  // namespace

void run_weights_case(const std::string& folder, Report* report) {
  const WorkingDirectory directory(folder);
  const Directives directives = read_directives("net.prototxt");
  const std::unique_ptr<Device> device = make_cpu_device();
  NetOptions options;
  options.state.set_phase(caffe::TEST);
  options.keep_all = true;
  Net net(read_net("net.prototxt"), *device, options);
  const auto load = [&] {
    for (const std::string& file : directives.weights) net.load(read_weights(file));
  };
  if (directives.expect_error) {
    expect_refusal(load, report);
  } else {
    load();
    compare(directives, &net, report);
  }
}

}  // namespace crema::conformance
