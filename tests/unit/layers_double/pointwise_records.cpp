#include "records.h"

namespace crema::test {

std::vector<Record> pointwise_records() {
  return {
      {"AbsVal", "",
       [](Random& r) {
         return Draw{"", {r.values(r.shape(1, 5), -1, 1, {0})}};
       }},
      {"BNLL", "",
       [](Random& r) {
         return Draw{"", {r.values(r.shape(1, 5), -5, 5)}};
       }},
      {"Clip", "",
       [](Random& r) {
         const double low = r.real(-1, 0), high = r.real(0, 1);
         return Draw{fmt::format("clip_param {{ min: {} max: {} }}", low, high),
                     {r.values(r.shape(1, 5), -2, 2, {low, high})}};
       }},
      {"Dropout", "TRAIN",
       [](Random& r) {
         return Draw{fmt::format("dropout_param {{ dropout_ratio: {} }}", r.real(0.1, 0.9)),
                     {r.values(r.shape(1, 5))}};
       }},
      {"Dropout", "TEST",
       [](Random& r) {
         return Draw{"phase: TEST", {r.values(r.shape(1, 5))}};
       }},
      {"ELU", "",
       [](Random& r) {
         return Draw{fmt::format("elu_param {{ alpha: {} }}", r.real(-1, 2)),
                     {r.values(r.shape(1, 5), -2, 2, {0})}};
       }},
      {"Exp", "",
       [](Random& r) {
         const std::string base = r.coin() ? "-1" : fmt::format("{}", r.real(0.5, 3));
         return Draw{fmt::format("exp_param {{ base: {} scale: {} shift: {} }}", base,
                                 r.real(-1, 1), r.real(-1, 1)),
                     {r.values(r.shape(1, 5))}};
       }},
      {"Log", "",
       [](Random& r) {
         const std::string base = r.coin() ? "-1" : fmt::format("{}", r.real(1.5, 10));
         return Draw{fmt::format("log_param {{ base: {} scale: {} shift: {} }}", base,
                                 r.real(-1, 1), r.real(1.2, 2)),
                     {r.values(r.shape(1, 5))}};
       }},
      {"Power", "",
       [](Random& r) {
         const std::string power = r.pick({"-1.5", "-1", "0", "0.5", "1", "2", "2.5", "3"});
         return Draw{fmt::format("power_param {{ power: {} scale: {} shift: {} }}", power,
                                 r.real(-1, 1), r.real(1.2, 2)),
                     {r.values(r.shape(1, 5))}};
       }},
      {"Power", "negative",
       [](Random& r) {
         return Draw{"power_param { power: 3 scale: 0.5 shift: 0.1 }",
                     {r.values(r.shape(1, 5), -2, 2)}};
       }},
      {"ReLU", "",
       [](Random& r) {
         const std::string slope = r.coin() ? "0" : fmt::format("{}", r.real(-1, 2));
         return Draw{"relu_param { negative_slope: " + slope + " }",
                     {r.values(r.shape(1, 5), -1, 1, {0})}};
       }},
      {"Sigmoid", "",
       [](Random& r) {
         return Draw{"", {r.values(r.shape(1, 5), -4, 4)}};
       }},
      {"Swish", "",
       [](Random& r) {
         return Draw{fmt::format("swish_param {{ beta: {} }}", r.real(-1, 2)),
                     {r.values(r.shape(1, 5), -3, 3)}};
       }},
      {"TanH", "",
       [](Random& r) {
         return Draw{"", {r.values(r.shape(1, 5), -3, 3)}};
       }},
      {"PReLU", "",
       [](Random& r) {
         return Draw{fmt::format("prelu_param {{ channel_shared: {} }}", r.coin()),
                     {r.values(r.shape(2, 5), -1, 1, {0})}};
       }},
      {"Eltwise", "SUM",
       [](Random& r) {
         const Shape shape = r.shape(1, 5);
         Draw draw{"eltwise_param { operation: SUM ", {}};
         const bool coefficients = r.coin();
         for (std::int64_t i = r.between(2, 4); i > 0; --i) {
           draw.bottoms.push_back(r.values(shape));
           if (coefficients) draw.fields += fmt::format("coeff: {} ", r.real(-2, 2));
         }
         draw.fields += "}";
         return draw;
       }},
      {"Eltwise", "PROD",
       [](Random& r) {
         const Shape shape = r.shape(1, 5);
         Draw draw{
             fmt::format("eltwise_param {{ operation: PROD stable_prod_grad: {} }}", r.coin()), {}};
         for (std::int64_t i = r.between(2, 4); i > 0; --i) {
           draw.bottoms.push_back(r.values(shape, 0.5, 2));
         }
         return draw;
       }},
      {"Eltwise", "MAX",
       [](Random& r) {
         const Shape shape = r.shape(1, 5);
         Draw draw{"eltwise_param { operation: MAX }", {}};
         for (std::int64_t i = r.between(2, 4); i > 0; --i) {
           draw.bottoms.push_back(r.values(shape));
         }
         return draw;
       }},
  };
}

}  // namespace crema::test
