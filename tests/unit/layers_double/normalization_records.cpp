#include "records.h"

namespace crema::test {

std::vector<Record> normalization_records() {
  return {
      {"BatchNorm", "TRAIN",
       [](Random& r) {
         Draw draw{"", {r.values({r.between(2, 4), r.channels(), r.between(2, 4), 2}, -2, 3)}};
         draw.constants = {0, 1, 2};  // statistics, not learned
         return draw;
       }},
      {"BatchNorm", "TEST",
       [](Random& r) {
         const std::int64_t channels = r.channels();
         return Draw{"phase: TEST",
                     {r.values({r.between(1, 3), channels, r.between(1, 4)})},
                     {r.values({channels}), r.values({channels}, 0.5, 2), blob({1}, {1.5f})},
                     1,
                     1,
                     {0, 1, 2}};
       }},
      {"LRN", "ACROSS_CHANNELS",
       [](Random& r) {
         return Draw{
             fmt::format("lrn_param {{ local_size: {} alpha: {} beta: {} k: {} }}",
                         2 * r.between(0, 3) + 1, r.real(0.1, 2), r.real(0.3, 1.5), r.real(0.5, 2)),
             {r.values({r.between(1, 2), r.channels(), r.between(1, 4), 2}, -2, 2)}};
       }},
      {"LRN", "WITHIN_CHANNEL",
       [](Random& r) {
         return Draw{fmt::format("lrn_param {{ local_size: {} alpha: {} beta: {} norm_region: "
                                 "WITHIN_CHANNEL }}",
                                 2 * r.between(0, 2) + 1, r.real(0.1, 2), r.real(0.3, 1.5)),
                     {r.values({r.between(1, 2), r.between(1, 3), r.between(3, 5), r.between(3, 5)},
                               -2, 2)}};
       }},
      // The gradient is Caffe's, which is exact for eps 0 only.
      {"MVN", "",
       [](Random& r) {
         return Draw{
             fmt::format("mvn_param {{ eps: 1e-15 normalize_variance: {} across_channels: {} }}",
                         r.coin(), r.coin()),
             {r.values({r.between(1, 3), r.channels(), r.between(2, 4), 2}, -2, 3)}};
       }},
      {"Softmax", "",
       [](Random& r) {
         const Shape shape = r.shape(2, 4);
         return Draw{fmt::format("softmax_param {{ axis: {} }}", r.between(0, shape.axes() - 1)),
                     {r.values(shape, -3, 3)}};
       }},
  };
}

}  // namespace crema::test
