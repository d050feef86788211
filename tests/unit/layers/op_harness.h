// Runs one layer outside of a net, the way the executor would, and checks what every layer must
// keep to.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/layer.h"

namespace crema::test {

struct Blob {
  Shape shape;
  std::vector<float> values;
};

/// Values in [low, high], all different and well apart, in a random-looking order.
Blob spread(Shape shape, float low = -1, float high = 1, std::uint64_t seed = 1);
Blob blob(Shape shape, std::vector<float> values);

/// A layer from the text of its definition, with its type's maker; phase TRAIN unless given.
std::unique_ptr<Layer> make(const std::string& text);

struct RunOptions {
  int layout = 0;  ///< index into layouts(): 0 is plain, see layout_count()
  int threads = 1;
  bool in_place = false;  ///< where the layer says that it can
  bool views = true;      ///< share memory where the layer says that a top or gradient is a view
  bool backward = true;
  /// Gradients by which bottoms (all that are differentiable, if empty) and parameters (all).
  std::vector<char> bottom_gradients, param_gradients;
  /// Parameter gradients hold these before and are added to.
  std::vector<Blob> accumulate_on;
  std::uint64_t pass = 0;
  bool fused_relu = false;
  float fused_relu_slope = 0;
  std::function<std::string(int)> describe_item;
};

struct Result {
  std::vector<Blob> tops, bottom_gradients, param_gradients;  ///< plain order
  std::string engine;
};

/// Runs forward and, unless told otherwise, backward. Everything that backward has not declared to
/// read is NaN by then, and so is all that it must overwrite. `top_gradients` may be shorter than
/// the tops, or hold empty shapes' blobs with no value for "no gradient arrives".
Result run(const Layer& layer, const std::vector<Blob>& bottoms, const std::vector<Blob>& params,
           const std::vector<Blob>& top_gradients, const RunOptions& options = {});

int layout_count(const Layer& layer, const std::vector<Blob>& bottoms);

/// Parameters of the layer for these bottoms, with spread values.
std::vector<Blob> spread_params(const Layer& layer, const std::vector<Blob>& bottoms);
/// Gradients of the tops, with spread values.
std::vector<Blob> spread_gradients(const Layer& layer, const std::vector<Blob>& bottoms);

void expect_near(const Blob& actual, const Blob& expected, double tolerance, const char* what);

/// In place = not in place, any number of threads, every layout = plain, views = copies,
/// accumulated = started at 0 plus what was there, no gradient from above = zero gradient.
void check_forms(const Layer& layer, const std::vector<Blob>& bottoms,
                 const std::vector<Blob>& params, const std::vector<Blob>& top_gradients,
                 double tolerance);

/// The gradient of the sum of top_gradient * top by a bottom or parameter, by central differences
/// with step `h`. `top_gradients` may be as for run().
Blob differences(const Layer& layer, std::vector<Blob> bottoms, std::vector<Blob> params,
                 const std::vector<Blob>& top_gradients, bool by_param, std::size_t which,
                 double h);

/// check_forms(), then finite differences with step `h` for all differentiable bottoms and all
/// parameters. h 0: no finite differences. In float they find coarse errors only;
/// tests/unit/layers_double has the sharp ones.
void check_layer(const std::string& text, const std::vector<Blob>& bottoms,
                 const std::vector<Blob>& params, double h = 1e-2, double tolerance = 2e-3);

/// Text of the user error that `body` ends with; fails when it ends otherwise.
std::string error_of(const std::function<void()>& body);
/// Of making the layer and inferring its shapes.
std::string infer_error(const std::string& text, const std::vector<Shape>& bottoms);

}  // namespace crema::test
