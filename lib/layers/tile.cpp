// Tile (1 bottom, 1 top): the block of axes from `axis` on is repeated `tiles` times.
//
//   y[o, t, i] = x[o, i]        dx[o, i] = sum over t of dy[o, t, i]
//
// The size of `axis` becomes `tiles` times what it was. Along items and channels (axes 0 and 1) it
// also works channels-last.
#include <cstdint>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/row_chunks.h"

namespace crema {

template <class Tag, class T>
void tile_gradient(const Device& device, std::int64_t outer, std::int64_t tiles, std::int64_t inner,
                   const T* dy, T* dx) {
  const RowChunks chunks = row_chunks(Tag{}, inner);
  parallel_for(
      Tag{}, device, outer * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t index) {
        const std::int64_t row = chunks.row(index), end = chunks.end(index);
        const T* from = dy + row * tiles * inner;
        T* const to = dx + row * inner;
        for (std::int64_t i = chunks.begin(index); i < end; ++i) to[i] = from[i];
        for (std::int64_t tile = 1; tile < tiles; ++tile) {
          from += inner;
          for (std::int64_t i = chunks.begin(index); i < end; ++i) to[i] += from[i];
        }
      },
      tiles * (inner < chunks.size ? inner : chunks.size));
}

CREMA_CUDA_LOOP("tile_gradient", &tile_gradient<Cuda, float>)

}  // namespace crema

#ifndef __CUDACC__
#include "base/error.h"
#include "kernels/strided_copy.h"
#include "layers/fields.h"
#include "primitives/layouts.h"

namespace crema {
namespace {

class TileOp final : public Op {
 public:
  TileOp(std::int64_t outer, std::int64_t tiles, std::int64_t inner)
      : outer_(outer), tiles_(tiles), inner_(inner) {
    copies_.add_axis(outer, inner, tiles * inner);
    copies_.add_axis(tiles, 0, inner);
    copies_.add_axis(inner, 1, 1);
  }

  void forward(const RunContext& run) override {
    strided_copy(run.device, copies_, run.bottoms[0].read(), run.tops[0].write());
  }

  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      run_loop(run.device, "tile_gradient", &tile_gradient<Cpu, float>, outer_, tiles_, inner_,
               run.top_gradients[0].read(), run.bottom_gradients[0].write());
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  std::int64_t outer_, tiles_, inner_;
  StridedCopy copies_;
};

class TileLayer final : public Layer {
 public:
  explicit TileLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    require(parameter().has_tiles(), "tile_param.tiles is missing: say how often to repeat");
    require(parameter().tiles() > 0, "tile_param.tiles {} must be at least 1", parameter().tiles());
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const int axis = this->axis(bottoms[0]);
    // A shape, since it refuses what cannot be counted.
    const std::int64_t size = Shape{bottoms[0][axis], parameter().tiles()}.count();
    Inference inference;
    inference.tops = {bottoms[0].with(axis, size)};
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (axis(request.bottoms[0]) > 1) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    const int axis = this->axis(bottom);
    const std::int64_t count = bottom.count();
    std::int64_t inner = bottom.count_from(axis);
    if (axis == 1 && is_channels_last(request.top_layouts[0])) inner = bottom[1];
    return std::make_unique<TileOp>(inner > 0 ? count / inner : 0, parameter().tiles(), inner);
  }
  bool backward_reads_bottom(int) const override { return false; }

 private:
  const caffe::TileParameter& parameter() const { return definition().tile_param(); }
  int axis(const Shape& bottom) const {
    return axis_of(bottom, parameter().axis(), "tile_param.axis");
  }
};

}  // namespace

std::unique_ptr<Layer> make_tile(const caffe::LayerParameter& definition) {
  return std::make_unique<TileLayer>(definition);
}

}  // namespace crema
#endif
