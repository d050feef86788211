// The `describe-net` tool without its flags.
#pragma once

#include <map>
#include <string>

#include "caffe.pb.h"
#include "commands/device_choice.h"
#include "proto/fork_fields.h"
#include "tensor/shape.h"

namespace crema {

struct DescribeOptions {
  std::string model;
  caffe::Phase phase = caffe::TEST;
  int level = 0;
  std::string stages;
  std::string weights;
  /// "data=32x3x227x227,…": data layers with such a top need no source.
  std::string input_shapes;
  DeviceChoice device;
  Dialect dialect = Dialect::kDetect;
  /// Engines, layouts, refusals.
  bool explain = false;
};

/// Parses, upgrades, infers and plans a net and prints a table of its layers to standard output.
/// Allocates no blob. Returns 0, or 1 when weights were given that do not fit.
int describe_net(const DescribeOptions& options);

/// "data=32x3x227x227,label=32"
std::map<std::string, Shape> parse_shapes(const std::string& text);

}  // namespace crema
