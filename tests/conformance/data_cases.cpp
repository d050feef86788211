// data/: what data layers read, batch by batch.
#include <boost/filesystem.hpp>
#include <memory>

#include "cases.h"
#include "directives.h"
#include "folders.h"
#include "hdf5_values.h"
#include "net/net.h"
#include "proto/io.h"

namespace crema::conformance {
namespace {

/// What the net's HDF5Output layer wrote.
void compare_written_file(double tolerance, Report* report) {
  const Values expected = read_values("expected_out.h5"), written = read_values("out.h5");
  report->check(written.size() == expected.size(), "out.h5 has other datasets than expected");
  for (const auto& [path, array] : expected) {
    const auto found = written.find(path);
    if (found == written.end()) {
      report->fail("out.h5 has no dataset " + path);
    } else {
      report->compare("out.h5 " + path, found->second.shape, found->second.values, array,
                      tolerance);
    }
  }
}

}  // namespace

void run_data_case(const std::string& folder, Report* report) {
  const TemporaryCopy copy(folder);
  const WorkingDirectory directory(copy.path());
  const Directives directives = read_directives("net.prototxt");
  const Values values = read_values("expected.h5");
  const std::unique_ptr<Device> device = make_cpu_device();
  {
    NetOptions options;
    options.state = directives.state;
    options.keep_all = true;
    Net net(read_net("net.prototxt"), *device, options);
    for (int batch = 0; batch < directives.batches; ++batch) {
      net.forward();
      for (const auto& [top, array] : values_below(values, fmt::format("batch{}", batch))) {
        report->compare(fmt::format("batch {}: {}", batch, top), net.shape(top), net.read_blob(top),
                        array, directives.tolerance);
      }
    }
  }
  if (boost::filesystem::exists("expected_out.h5")) {
    compare_written_file(directives.tolerance, report);
  }
}

}  // namespace crema::conformance
