// The comment lines at the head of a case's prototxt: `# KEY: VALUE`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "tensor/shape.h"

namespace crema::conformance {

struct Directives {
  caffe::NetState state;
  double tolerance = 1e-4;
  int forwards = 1, backwards = 1, batches = 0;
  /// Parameters are what the net's fillers make of them.
  bool params_from_fillers = false;
  /// Input blobs and perhaps "params".
  std::vector<std::string> backward;
  bool expect_error = false;
  std::map<std::string, Shape> reshape;
  /// Files of a weight case, in order.
  std::vector<std::string> weights;
  /// Of whole nets: blob to rule ("signal 1").
  std::map<std::string, std::string> inputs;
};

/// Fails on a key that the corpus' README does not know.
Directives read_directives(const std::string& prototxt);

}  // namespace crema::conformance
