// Nets that nobody would write: a dozen layers connected at random, with branches, in-place layers,
// losses in the middle, frozen parameters and refused gradients.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/philox.h"

namespace crema::testing {

class RandomNet {
 public:
  RandomNet(std::uint64_t seed, bool dropout) : stream_(seed, 99), dropout_(dropout) {}

  std::string text() {
    add("Input", "", "x", "input_param { shape { dim: 2 dim: 4 dim: 5 dim: 5 } }");
    add("Input", "", "label", "input_param { shape { dim: 2 } }");
    if (draw(4) == 0) text_ += "force_backward: true\n";
    blobs_.push_back({"x", false, true});
    // So that something learns.
    image_layer("Convolution");
    const int layers = 4 + draw(12);
    for (int i = 0; i < layers; ++i) step();
    add("EuclideanLoss", bottom(pick()) + bottom(pick()), "distance", weight(3));
    const std::string scores = name();
    add("InnerProduct", bottom(pick()), scores, "inner_product_param { num_output: 3 }");
    if (draw(2) == 0) add("ReLU", bottom(scores), scores, "");
    add("SoftmaxWithLoss", bottom(scores) + bottom("label"), "loss", "");
    return text_;
  }

 private:
  struct Blob {
    std::string name;
    bool used;
    bool input;
  };

  int draw(int n) {
    return static_cast<int>(stream_.below(0, next_++, static_cast<std::uint32_t>(n)));
  }
  std::string name() { return fmt::format("b{}", names_++); }
  static std::string bottom(const std::string& blob) {
    return fmt::format("bottom: \"{}\" ", blob);
  }
  std::string weight(int one_of) { return draw(one_of) == 0 ? "loss_weight: 0.5 " : ""; }

  /// A blob to read, preferably one that nobody reads yet.
  std::string pick() {
    std::size_t best = static_cast<std::size_t>(draw(static_cast<int>(blobs_.size())));
    for (int i = 0; i < 2 && blobs_[best].used; ++i) {
      best = static_cast<std::size_t>(draw(static_cast<int>(blobs_.size())));
    }
    blobs_[best].used = true;
    return blobs_[best].name;
  }

  void add(const std::string& type, const std::string& bottoms, const std::string& top,
           const std::string& more) {
    text_ += fmt::format("layer {{ name: \"l{}\" type: \"{}\" {}top: \"{}\" {} }}\n", layers_++,
                         type, bottoms, top, more);
  }

  std::string parameter(const std::string& type) {
    if (type == "Convolution") {
      const std::string frozen = draw(5) == 0 ? "param { lr_mult: 0 } param { lr_mult: 0 } " : "";
      return frozen +
             "convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "
             "\"xavier\" } }";
    }
    if (type == "Pooling") {
      return fmt::format("pooling_param {{ pool: {} kernel_size: 3 pad: 1 }}",
                         draw(2) == 0 ? "MAX" : "AVE");
    }
    if (type == "LRN") return "lrn_param { local_size: 3 alpha: 0.5 }";
    if (type == "ReLU" && draw(4) == 0) return "relu_param { negative_slope: -0.5 }";
    return "";
  }

  void image_layer(const std::string& type) {
    const std::string from = pick(), top = name();
    // A weight is a use: with a layer in place behind it the blob would be made twice.
    const std::string loss = weight(12);
    std::string more = parameter(type) + " " + loss;
    if (draw(12) == 0) more += draw(2) == 0 ? "propagate_down: false" : "propagate_down: true";
    add(type, bottom(from), top, more);
    blobs_.push_back({top, !loss.empty(), false});
  }

  void in_place_layer() {
    static const char* const types[] = {"ReLU", "Sigmoid", "TanH", "Dropout"};
    for (Blob& blob : blobs_) {
      if (blob.used || blob.input) continue;
      // The blob's next user gets what the layer makes; it is as unused as before.
      add(types[draw(dropout_ ? 4 : 3)], bottom(blob.name), blob.name, "");
      return;
    }
  }

  void concat() {
    const std::string wide = name(), narrow = name();
    add("Concat", bottom(pick()) + bottom(pick()), wide, "");
    add("Convolution", bottom(wide), narrow, parameter("Convolution"));
    blobs_.push_back({narrow, false, false});
  }

  void eltwise() {
    static const char* const operations[] = {"SUM", "SUM coeff: 1 coeff: -0.5", "PROD", "MAX"};
    const std::string top = name();
    add("Eltwise", bottom(pick()) + bottom(pick()), top,
        fmt::format("eltwise_param {{ operation: {} }}", operations[draw(4)]));
    blobs_.push_back({top, false, false});
  }

  /// Cut in two and joined the other way round.
  void slice() {
    const std::string first = name(), second = name(), top = name();
    add("Slice", bottom(pick()), first + "\" top: \"" + second, "slice_param { slice_point: 1 }");
    add("Concat", bottom(second) + bottom(first), top, "");
    blobs_.push_back({top, false, false});
  }

  /// Views of views.
  void reshape() {
    const std::string flat = name(), top = name();
    add("Flatten", bottom(pick()), flat, "");
    add("Reshape", bottom(flat), top, "reshape_param { shape { dim: 0 dim: 4 dim: 5 dim: -1 } }");
    blobs_.push_back({top, false, false});
  }

  void step() {
    static const char* const types[] = {"Convolution", "Pooling", "LRN",     "ReLU",  "Sigmoid",
                                        "TanH",        "Dropout", "Softmax", "Concat"};
    int kind = draw(20);
    if (kind == 6 && !dropout_) kind = 3;
    if (kind < 9 && kind != 8) return image_layer(types[kind]);
    if (kind == 8) {
      const std::string from = pick(), top = name();
      add("Concat", bottom(from), top, "");  // of one: a view
      blobs_.push_back({top, false, false});
    } else if (kind < 12) {
      in_place_layer();
    } else if (kind < 14) {
      concat();
    } else if (kind < 17) {
      eltwise();
    } else if (kind < 19) {
      slice();
    } else {
      reshape();
    }
  }

  RandomStream stream_;
  bool dropout_;
  std::uint64_t next_ = 0;
  int names_ = 0, layers_ = 0;
  std::vector<Blob> blobs_;
  std::string text_;
};

/// `dropout`: layers whose masks go by the place in memory, so that they differ between layouts.
inline std::string random_net(std::uint64_t seed, bool dropout = true) {
  return RandomNet(seed, dropout).text();
}

}  // namespace crema::testing
