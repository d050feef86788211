// The pointwise part of one time step of an LSTM, for LSTM and LSTMUnit:
//
//   i, f, o = sigmoid of their sums, g = tanh of its sum, F = cont * f
//   c = F * c_previous + i * g        h = o * tanh(c)
//
// backward, with dc and dh from above:
//
//   dc' = dc + dh * o * (1 - tanh(c)^2)      dc_previous = dc' * F
//   di' = dc' * g * i * (1 - i)              df' = dc' * c_previous * F * (1 - F)
//   do' = dh * tanh(c) * o * (1 - o)         dg' = dc' * i * (1 - g^2)
//
// df' is Caffe's: exact where cont is 0 or 1, as it should be.
#pragma once

#include "tensor/device.h"

namespace crema {

/// Sequences that run side by side and units of each. c and h are streams x hidden, gates streams
/// x 4*hidden (i, f, o, g), cont one number a stream.
struct LstmCellShape {
  std::int64_t streams = 0, hidden = 0;
};

/// `activations` are i, F, o, g, which backward wants; they may overwrite `sums`.
void lstm_cell_forward(Device& device, const LstmCellShape& shape, const float* cont,
                       const float* c_previous, const float* sums, float* activations, float* c,
                       float* h);

/// dc_previous, of the step before, may overwrite dc.
void lstm_cell_backward(Device& device, const LstmCellShape& shape, const float* c_previous,
                        const float* activations, const float* c, const float* dc, const float* dh,
                        float* dc_previous, float* dsums);

}  // namespace crema
