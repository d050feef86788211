#include "records.h"

namespace crema::test {
namespace {

/// `fields` of a factor or summand that spans axes of the bottom, or comes as a second bottom.
Draw broadcast(Random& r, const char* message, const std::string& fields) {
  const Shape shape = r.shape(1, 5);
  const std::int64_t axis = r.between(0, shape.axes() - 1);
  const std::int64_t spanned = r.between(0, shape.axes() - axis);
  Draw draw{fmt::format("{} {{ axis: {} ", message, axis), {r.values(shape)}};
  if (r.coin()) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = axis; i < axis + spanned; ++i) dims.push_back(shape[static_cast<int>(i)]);
    draw.bottoms.push_back(r.values(Shape(dims)));
  } else {
    draw.fields += fmt::format("num_axes: {} ", spanned);
  }
  draw.fields += fields + "}";
  return draw;
}

}  // namespace

std::vector<Record> learned_records() {
  return {
      {"Bias", "", [](Random& r) { return broadcast(r, "bias_param", ""); }},
      {"Embed", "",
       [](Random& r) {
         const std::int64_t rows = r.between(1, 5);
         return Draw{fmt::format("embed_param {{ input_dim: {} num_output: {} bias_term: {} }}",
                                 rows, r.between(1, 5), r.coin()),
                     {r.integers(r.shape(1, 3), rows)}};
       }},
      {"InnerProduct", "",
       [](Random& r) {
         const Shape shape = r.shape(2, 5);
         return Draw{
             fmt::format(
                 "inner_product_param {{ num_output: {} bias_term: {} transpose: {} axis: {} }}",
                 r.between(1, 5), r.coin(), r.coin(), r.between(0, shape.axes() - 1)),
             {r.values(shape)}};
       }},
      {"InnerProduct", "image",
       [](Random& r) {
         return Draw{fmt::format("inner_product_param {{ num_output: {} }}", r.between(1, 5)),
                     {r.values({r.between(1, 3), r.between(2, 4), 3, r.between(2, 3)})}};
       }},
      {"Parameter", "",
       [](Random& r) {
         return Draw{fmt::format("parameter_param {{ shape {{ dim: {} dim: {} }} }}",
                                 r.between(1, 5), r.between(1, 5)),
                     {}};
       }},
      {"Scale", "",
       [](Random& r) {
         return broadcast(r, "scale_param", fmt::format("bias_term: {} ", r.coin()));
       }},
  };
}

}  // namespace crema::test
