// One loop index is a few units of one stream. Compiled twice (kernels/device_tags.h).
#include "primitives/lstm_cell.h"

#include "kernels/fast_tanh.h"
#include "kernels/loop_registry.h"
#include "kernels/parallel_for.h"
#include "kernels/row_chunks.h"

// What these loops write never is what another unit reads, but with this many pointers the compiler
// does not find that out at run time.
#ifdef __CUDACC__
#define CREMA_INDEPENDENT
#else
#define CREMA_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace crema {
namespace loops {

/// Units of a stream that one thread takes at a time.
constexpr std::int64_t kUnits = 64;

/// In the form that overflows nowhere.
template <class T>
CREMA_FUNCTOR T logistic(T x) {
  return T(0.5) * fast_tanh(T(0.5) * x) + T(0.5);
}

template <class D, class T>
void lstm_cell_forward(const Device& device, const LstmCellShape& shape, const T* cont,
                       const T* c_previous, const T* sums, T* activations, T* c, T* h) {
  const std::int64_t hidden = shape.hidden;
  const RowChunks chunks = row_chunks(D{}, hidden, kUnits);
  parallel_for(
      D{}, device, shape.streams * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t chunk) {
        const std::int64_t stream = chunks.row(chunk), first = stream * hidden;
        const std::int64_t end = chunks.end(chunk);
        const T keep = cont[stream];
        const T* const in = sums + 4 * first;
        T* const out = activations + 4 * first;
        CREMA_INDEPENDENT
        for (std::int64_t unit = chunks.begin(chunk); unit < end; ++unit) {
          const T i = logistic(in[unit]);
          const T f = keep * logistic(in[unit + hidden]);
          const T o = logistic(in[unit + 2 * hidden]);
          const T g = fast_tanh(in[unit + 3 * hidden]);
          out[unit] = i;
          out[unit + hidden] = f;
          out[unit + 2 * hidden] = o;
          out[unit + 3 * hidden] = g;
          const T cell = f * c_previous[first + unit] + i * g;
          c[first + unit] = cell;
          h[first + unit] = o * fast_tanh(cell);
        }
      },
      20 * chunks.size);
}

template <class D, class T>
void lstm_cell_backward(const Device& device, const LstmCellShape& shape, const T* c_previous,
                        const T* activations, const T* c, const T* dc, const T* dh, T* dc_previous,
                        T* dsums) {
  const std::int64_t hidden = shape.hidden;
  const RowChunks chunks = row_chunks(D{}, hidden, kUnits);
  parallel_for(
      D{}, device, shape.streams * chunks.per_row,
      [=] CREMA_LOOP_BODY(std::int64_t chunk) {
        const std::int64_t first = chunks.row(chunk) * hidden, end = chunks.end(chunk);
        const T* const in = activations + 4 * first;
        T* const out = dsums + 4 * first;
        CREMA_INDEPENDENT
        for (std::int64_t unit = chunks.begin(chunk); unit < end; ++unit) {
          const T i = in[unit];
          const T f = in[unit + hidden];
          const T o = in[unit + 2 * hidden];
          const T g = in[unit + 3 * hidden];
          const T squashed = fast_tanh(c[first + unit]);
          const T above = dh[first + unit];
          const T cell = dc[first + unit] + above * o * (1 - squashed * squashed);
          dc_previous[first + unit] = cell * f;
          out[unit] = cell * g * i * (1 - i);
          out[unit + hidden] = cell * c_previous[first + unit] * f * (1 - f);
          out[unit + 2 * hidden] = above * squashed * o * (1 - o);
          out[unit + 3 * hidden] = cell * i * (1 - g * g);
        }
      },
      10 * chunks.size);
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
