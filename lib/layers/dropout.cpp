// Dropout (1 bottom, 1 top). In the TRAIN phase each value is kept with probability 1 -
// dropout_ratio and divided by that, else 0; in the TEST phase nothing is done (the top is the
// bottom).
//
//   y = x * m / (1 - ratio)        dx = dy * m / (1 - ratio), m in {0, 1}
//
// The mask is not stored: it is computed again in backward from the net's seed, the layer's name,
// the number of the forward pass and the element's index in the blob, so that it is the same for
// any number of threads and any memory layout. Srivastava et al., JMLR 15, 2014.
#include <algorithm>
#include <cstdint>

#include "base/philox.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {

/// to = from * scale where the element's random word reaches `threshold`, else 0. One index is four
/// elements: a block of the generator.
template <class Tag, class T>
void dropout_apply(const Device& device, RandomStream stream, std::uint64_t pass,
                   std::uint32_t threshold, T scale, std::int64_t n, const T* from, T* to) {
  parallel_for(
      Tag{}, device, (n + 3) / 4,
      [=] CREMA_LOOP_BODY(std::int64_t block) {
        const Philox4 random = stream.block(pass, static_cast<std::uint64_t>(block));
        const std::int64_t first = 4 * block;
        // A factor from the borrow of a subtraction, not from a comparison, which would become a
        // branch: half of them would be mispredicted (3 times slower).
        T factor[4];
        for (int i = 0; i < 4; ++i) {
          const std::uint64_t below = (std::uint64_t{random.x[i]} - threshold) >> 63;
          factor[i] = scale * static_cast<T>(static_cast<int>(1 - below));
        }
        if (first + 4 <= n) {
          for (int i = 0; i < 4; ++i) to[first + i] = from[first + i] * factor[i];
        } else {
          for (int i = 0; first + i < n; ++i) to[first + i] = from[first + i] * factor[i];
        }
      },
      40);
}

/// The same mask where memory is batch x spatial x channels: each element asks for its own word.
template <class Tag, class T>
void dropout_apply_channels_last(const Device& device, RandomStream stream, std::uint64_t pass,
                                 std::uint32_t threshold, T scale, std::int64_t channels,
                                 std::int64_t spatial, std::int64_t n, const T* from, T* to) {
  parallel_for(
      Tag{}, device, n,
      [=] CREMA_LOOP_BODY(std::int64_t i) {
        const std::int64_t channel = i % channels, position = i / channels % spatial;
        const std::int64_t image = i / (channels * spatial);
        const auto element =
            static_cast<std::uint64_t>((image * channels + channel) * spatial + position);
        to[i] = from[i] * (stream.bits(pass, element) < threshold ? T(0) : scale);
      },
      100);
}

CREMA_CUDA_LOOP("dropout", &dropout_apply<Cuda, float>)
CREMA_CUDA_LOOP("dropout.channels_last", &dropout_apply_channels_last<Cuda, float>)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "layers/view.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

class DropoutOp final : public Op {
 public:
  DropoutOp(float ratio, std::uint64_t seed, const std::string& name)
      : stream_(seed, stream_id(name)),
        threshold_(static_cast<std::uint32_t>(static_cast<double>(ratio) * 0x1p32)),
        scale_(1 / (1 - ratio)) {}

  void forward(const RunContext& run) override { apply(run, run.bottoms[0], run.tops[0]); }
  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      apply(run, run.top_gradients[0], run.bottom_gradients[0]);
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  void apply(const RunContext& run, const Tensor& from, const Tensor& to) const {
    if (is_channels_last(to.layout())) {
      const Shape& shape = to.shape();
      run_loop(run.device, "dropout.channels_last", &dropout_apply_channels_last<Cpu, float>,
               stream_, run.pass, threshold_, scale_, shape[1], shape.count_from(2), to.elements(),
               from.read(), to.write());
    } else {
      CREMA_ASSERT(to.layout().is_plain());
      run_loop(run.device, "dropout", &dropout_apply<Cpu, float>, stream_, run.pass, threshold_,
               scale_, to.elements(), from.read(), to.write());
    }
  }

  RandomStream stream_;
  std::uint32_t threshold_;
  float scale_;
};

class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(const caffe::LayerParameter& definition)
      : Layer(definition), ratio_(definition.dropout_param().dropout_ratio()) {
    require(ratio_ >= 0 && ratio_ < 1,
            "dropout_param.dropout_ratio {} is not in 0 <= ratio < 1 (1 would drop everything)",
            ratio_);
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    Inference inference;
    inference.tops = {bottoms[0]};
    return inference;
  }

  bool any_layout() const override { return true; }
  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    if (!active()) return std::make_unique<ViewOp>();
    return std::make_unique<DropoutOp>(ratio_, seed(), name());
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool forward_in_place() const override { return true; }
  bool backward_in_place() const override { return true; }
  bool is_view(int) const override { return !active(); }
  bool is_gradient_view() const override { return !active(); }

 private:
  bool active() const { return phase() == caffe::TRAIN && ratio_ > 0; }

  float ratio_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const caffe::LayerParameter& definition) {
  return std::make_unique<DropoutLayer>(definition);
}

}  // namespace crema
#endif
