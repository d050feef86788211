#include "records.h"

namespace crema::test {
namespace {

/// Bottoms of a recurrent layer with `states` exposed states, if any.
Draw recurrent(Random& r, std::int64_t states) {
  const std::int64_t steps = r.between(1, 5), streams = r.between(1, 3), units = r.between(1, 4);
  const bool exposed = r.coin();
  Draw draw{fmt::format("recurrent_param {{ num_output: {} expose_hidden: {} }}", units, exposed),
            {r.values({steps, streams, r.between(1, 4)}, -2, 2), r.integers({steps, streams}, 2)}};
  if (r.coin()) draw.bottoms.push_back(r.values({streams, r.between(1, 3)}));
  if (exposed) {
    for (std::int64_t i = 0; i < states; ++i) draw.bottoms.push_back(r.values({1, streams, units}));
    draw.tops += static_cast<int>(states);
  }
  draw.tops_with_gradient = 1;  // as in Caffe none passes through the states at either end
  return draw;
}

}  // namespace

std::vector<Record> recurrent_records() {
  return {
      {"LSTM", "", [](Random& r) { return recurrent(r, 2); }},
      // cont is 0 or 1: the gradient is Caffe's, which is the derivative only then.
      {"LSTMUnit", "",
       [](Random& r) {
         const std::int64_t streams = r.between(1, 4), units = r.between(1, 5);
         Draw draw{"",
                   {r.values({1, streams, units}), r.values({1, streams, 4 * units}, -2, 2),
                    r.integers({1, streams}, 2)}};
         draw.tops = 2;
         return draw;
       }},
      {"RNN", "", [](Random& r) { return recurrent(r, 1); }},
  };
}

}  // namespace crema::test
