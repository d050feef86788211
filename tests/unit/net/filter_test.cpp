// Filter: its tops' size is known only in the middle of a pass, when what follows is planned again.
#include "base/error.h"
#include "support.h"

namespace crema {
namespace {

using namespace testing;

/// What follows the selection holds a convolution, a layer in place, a product and a loss.
const std::string kTail = R"(
layer { name: "c" type: "Convolution" bottom: "k" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "r" type: "ReLU" bottom: "c" top: "c" }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "l" top: "loss"
  propagate_down: true propagate_down: false })";

std::string filtering(int items) {
  const std::string n = std::to_string(items);
  return "force_backward: true\n" + input_layer("x", n + "x3x6x6") + input_layer("y", n) +
         input_layer("s", n) + R"(
layer { name: "pre" type: "Convolution" bottom: "x" top: "pre"
  convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "f" type: "Filter" bottom: "pre" bottom: "y" bottom: "s" top: "k" top: "l" })" +
         kTail;
}

NetOptions trained() {
  NetOptions options;
  options.state = state_of(caffe::TRAIN);
  options.backward = true;
  options.expose_gradients = true;
  options.keep_all = true;
  options.seed = 3;
  return options;
}

/// The items i of `values` for which selector[i] is not 0.
std::vector<float> kept(const std::vector<float>& values, const std::vector<float>& selector) {
  const std::size_t length = values.size() / selector.size();
  std::vector<float> result;
  for (std::size_t i = 0; i < selector.size(); ++i) {
    if (selector[i] == 0) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * length);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
  }
  return result;
}

TEST(FilterTest, EveryPassGivesWhatANetOfTheKeptItemsGives) {
  for (const int threads : {1, 2}) {
    const auto device = make_cpu_device(threads);
    Net net(net_of(filtering(5)), *device, trained());
    const std::vector<float> x = random_values(5 * 3 * 36, 1), y = random_labels(5, 5, 2);
    for (const std::vector<float>& selector : std::vector<std::vector<float>>{
             {1, 0, 1, 1, 0}, {0, -1, 0, 0, 0.5f}, {1, 1, 1, 1, 1}, {0, 0, 0, 1, 0}}) {
      net.write_blob("x", x);
      net.write_blob("y", y);
      net.write_blob("s", selector);
      net.clear_gradients();
      const float loss = net.forward();
      net.backward();

      const auto count =
          std::count_if(selector.begin(), selector.end(), [](float value) { return value != 0; });
      Net plain(net_of("force_backward: true\n" + input_layer("k", fmt::format("{}x4x6x6", count)) +
                       input_layer("l", std::to_string(count)) + kTail),
                *device, trained());
      plain.write_blob("k", kept(net.read_blob("pre"), selector));
      plain.write_blob("l", kept(y, selector));
      plain.clear_gradients();
      EXPECT_FLOAT_EQ(loss, plain.forward());
      plain.backward();
      EXPECT_EQ(net.shape("k"), plain.shape("k"));
      EXPECT_EQ(net.shape("ip"), plain.shape("ip"));
      expect_near(net.read_blob("ip"), plain.read_blob("ip"), 1e-5, "ip");
      for (const char* layer : {"c", "ip"}) {
        expect_near(net.read_param_gradient(layer, 0), plain.read_param_gradient(layer, 0), 1e-5,
                    layer);
      }
      expect_near(net.read_gradient("k"), plain.read_gradient("k"), 1e-5, "k");
      // Back through the selection: what was left out gets 0.
      const std::vector<float> dx = net.read_gradient("pre");
      expect_near(kept(dx, selector), plain.read_gradient("k"), 1e-5, "pre");
      for (std::size_t i = 0; i < selector.size(); ++i) {
        if (selector[i] != 0) continue;
        for (std::size_t j = 0; j < 4 * 36; ++j) EXPECT_EQ(dx[i * 4 * 36 + j], 0);
      }
    }
  }
}

TEST(FilterTest, NothingKeptIsFine) {
  const auto device = make_cpu_device(2);
  Net net(net_of(filtering(4)), *device, trained());
  net.write_blob("x", random_values(4 * 3 * 36, 1));
  net.write_blob("y", random_labels(4, 5, 2));
  net.write_blob("s", {0, 0, 0, 0});
  net.clear_gradients();
  EXPECT_EQ(net.forward(), 0);
  EXPECT_EQ(net.shape("ip"), Shape({0, 5}));
  net.backward();
  for (const float value : net.read_param_gradient("c", 0)) EXPECT_EQ(value, 0);
  // And the items come back.
  net.write_blob("s", {1, 1, 0, 0});
  EXPECT_GT(net.forward(), 0);
}

TEST(FilterTest, OneSelectionAfterAnother) {
  const auto device = make_cpu_device(1);
  Net net(net_of(input_layer("x", "4x2") + input_layer("s", "4") + input_layer("t", "4") + R"(
layer { name: "f" type: "Filter" bottom: "x" bottom: "t" bottom: "s" top: "a" top: "u" }
layer { name: "g" type: "Filter" bottom: "a" bottom: "u" top: "b" })"),
          *device, trained());
  net.write_blob("x", {1, 2, 3, 4, 5, 6, 7, 8});
  net.write_blob("s", {1, 1, 0, 1});
  net.write_blob("t", {0, 1, 1, 1});
  net.forward();
  EXPECT_EQ(net.read_blob("b"), (std::vector<float>{3, 4, 7, 8}));
  net.write_blob("s", {1, 1, 1, 1});
  net.forward();
  EXPECT_EQ(net.read_blob("b"), (std::vector<float>{3, 4, 5, 6, 7, 8}));
  net.write_blob("t", {1, 0, 0, 0});
  net.forward();
  EXPECT_EQ(net.read_blob("b"), (std::vector<float>{1, 2}));
}

TEST(FilterTest, WhatCannotFollowIsAnErrorEveryTimeAndChangesNothing) {
  const auto device = make_cpu_device(1);
  Net net(net_of(input_layer("x", "4x2") + input_layer("s", "4") + R"(
layer { name: "f" type: "Filter" bottom: "x" bottom: "s" top: "a" }
layer { name: "p" type: "Power" bottom: "a" top: "b" power_param { shift: 1 } }
layer { name: "r" type: "Reshape" bottom: "b" top: "c" reshape_param { shape { dim: 2 dim: -1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip"
  inner_product_param { axis: 0 num_output: 1 bias_term: false weight_filler { value: 1 } } })"),
          *device, trained());
  net.write_blob("x", {1, 2, 3, 4, 5, 6, 7, 8});
  net.write_blob("s", {1, 1, 1, 1});
  EXPECT_EQ(net.forward(), 0);
  EXPECT_EQ(net.read_blob("ip"), (std::vector<float>{36 + 8}));
  for (int i = 0; i < 2; ++i) {
    net.write_blob("s", {1, 0, 1, 1});  // 6 values: 2 x 3, for which the product has no weights
    EXPECT_EQ(error_of([&] { net.forward(); }),
              "net.prototxt:7: layer \"ip\" (InnerProduct): its parameter 0 has shape 1x8, but "
              "these inputs ask for 1x6");
    EXPECT_EQ(net.shape("a"), Shape({4, 2}));
    EXPECT_EQ(net.shape("c"), Shape({2, 4}));
    net.write_blob("s", {1, 1, 1, 1});
    net.forward();
    EXPECT_EQ(net.read_blob("ip"), (std::vector<float>{36 + 8}));
  }
}

TEST(FilterTest, Errors) {
  const auto built = [](const std::string& bottoms, const std::string& tops) {
    return error_of([&] {
      inferred(input_layer("x", "4x2") + input_layer("s", "4x1") + input_layer("t", "3") +
               input_layer("w", "4x2") + "layer { name: 'f' type: 'Filter' " + bottoms + tops +
               "}");
    });
  };
  const std::string at = "net.prototxt:5: layer \"f\" (Filter): ";
  EXPECT_EQ(built("bottom: 'x' bottom: 't' ", "top: 'y' "),
            at + "the selector (bottom 1) is 3: it selects among 3 items, but bottom 0 is 4x2");
  EXPECT_EQ(built("bottom: 'x' bottom: 'w' ", "top: 'y' "),
            at + "the selector (bottom 1) must hold one value an item, but is 4x2");
  EXPECT_EQ(
      built("bottom: 'x' bottom: 's' ", "top: 'y' top: 'z' "),
      at + "gives one top for each bottom but the last, the selector: 1 for 2 bottoms, not 2");
}

}  // namespace
}  // namespace crema
