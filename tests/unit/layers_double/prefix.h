// Included in front of every file of the build in double precision (-include): `float` means double
// from here on.
//
// Finite differences in float tell a right gradient from one that is wrong by a few thousandths;
// in double by a few billionths. So tests/CMakeLists.txt compiles the layers, and all that they run
// on, once more with this file, into one program that links nothing of the build in float.
//
// The headers of others and ours whose floats are not blobs come first and keep their floats.
#pragma once

#include <dnnl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "caffe.pb.h"

#define float double
