// One loop index is one unit of one stream. Compiled twice (kernels/device_tags.h).
#include "primitives/lstm_cell.h"

#include <cmath>

#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"

namespace crema {
namespace loops {

/// In the form that overflows nowhere.
template <class T>
CREMA_FUNCTOR T logistic(T x) {
  return T(0.5) * std::tanh(T(0.5) * x) + T(0.5);
}

template <class D, class T>
void lstm_cell_forward(const Device& device, const LstmCellShape& shape, const T* cont,
                       const T* c_previous, const T* sums, T* activations, T* c, T* h) {
  const std::int64_t hidden = shape.hidden;
  parallel_for(
      D{}, device, shape.streams * hidden,
      [=] CREMA_LOOP_BODY(std::int64_t unit) {
        const std::int64_t stream = unit / hidden;
        const std::int64_t first = 4 * stream * hidden + unit % hidden;
        const T i = logistic(sums[first]);
        const T f = cont[stream] * logistic(sums[first + hidden]);
        const T o = logistic(sums[first + 2 * hidden]);
        const T g = std::tanh(sums[first + 3 * hidden]);
        activations[first] = i;
        activations[first + hidden] = f;
        activations[first + 2 * hidden] = o;
        activations[first + 3 * hidden] = g;
        const T cell = f * c_previous[unit] + i * g;
        c[unit] = cell;
        h[unit] = o * std::tanh(cell);
      },
      80);
}

template <class D, class T>
void lstm_cell_backward(const Device& device, const LstmCellShape& shape, const T* c_previous,
                        const T* activations, const T* c, const T* dc, const T* dh, T* dc_previous,
                        T* dsums) {
  const std::int64_t hidden = shape.hidden;
  parallel_for(
      D{}, device, shape.streams * hidden,
      [=] CREMA_LOOP_BODY(std::int64_t unit) {
        const std::int64_t first = 4 * (unit / hidden) * hidden + unit % hidden;
        const T i = activations[first];
        const T f = activations[first + hidden];
        const T o = activations[first + 2 * hidden];
        const T g = activations[first + 3 * hidden];
        const T squashed = std::tanh(c[unit]);
        const T above = dh == nullptr ? T(0) : dh[unit];
        const T cell = (dc == nullptr ? T(0) : dc[unit]) + above * o * (1 - squashed * squashed);
        if (dc_previous != nullptr) dc_previous[unit] = cell * f;
        dsums[first] = cell * g * i * (1 - i);
        dsums[first + hidden] = cell * c_previous[unit] * f * (1 - f);
        dsums[first + 2 * hidden] = above * squashed * o * (1 - o);
        dsums[first + 3 * hidden] = cell * i * (1 - g * g);
      },
      40);
}

}  // namespace loops

#ifdef __CUDACC__

CREMA_CUDA_LOOP("lstm_cell.forward", &loops::lstm_cell_forward<Cuda, float>)
CREMA_CUDA_LOOP("lstm_cell.backward", &loops::lstm_cell_backward<Cuda, float>)

#else

void lstm_cell_forward(Device& device, const LstmCellShape& shape, const float* cont,
                       const float* c_previous, const float* sums, float* activations, float* c,
                       float* h) {
  run_loop(device, "lstm_cell.forward", &loops::lstm_cell_forward<Cpu, float>, shape, cont,
           c_previous, sums, activations, c, h);
}

void lstm_cell_backward(Device& device, const LstmCellShape& shape, const float* c_previous,
                        const float* activations, const float* c, const float* dc, const float* dh,
                        float* dc_previous, float* dsums) {
  run_loop(device, "lstm_cell.backward", &loops::lstm_cell_backward<Cpu, float>, shape, c_previous,
           activations, c, dc, dh, dc_previous, dsums);
}

#endif

}  // namespace crema
