// Layers that put values elsewhere, repeat them, or add them up.
#include "records.h"

namespace crema::test {

std::vector<Record> arrangement_records() {
  return {
      {"BatchReindex", "",
       [](Random& r) {
         const Shape shape = r.shape(1, 4);
         return Draw{"", {r.values(shape), r.integers({r.between(1, 6)}, shape[0])}};
       }},
      {"Concat", "",
       [](Random& r) {
         Shape shape = r.shape(1, 5);
         const auto axis = static_cast<int>(r.between(0, shape.axes() - 1));
         Draw draw{fmt::format("concat_param {{ axis: {} }}", axis), {}};
         for (std::int64_t i = r.between(1, 4); i > 0; --i) {
           std::vector<std::int64_t> dims;
           for (int j = 0; j < shape.axes(); ++j) dims.push_back(j == axis ? i : shape[j]);
           draw.bottoms.push_back(r.values(Shape(dims)));
         }
         return draw;
       }},
      {"Crop", "",
       [](Random& r) {
         const std::int64_t high = r.between(1, 3), wide = r.between(1, 3);
         return Draw{
             fmt::format("crop_param {{ axis: 2 offset: {} offset: {} }}", r.between(0, 2),
                         r.between(0, 2)),
             {r.values({2, r.between(1, 3), high + 2, wide + 3}), r.values({1, 1, high, wide})}};
       }},
      {"Filter", "",
       [](Random& r) {
         const std::int64_t items = r.between(2, 6);
         Blob selector = r.integers({items}, 2);
         selector.values[static_cast<std::size_t>(r.between(0, items - 1))] = 1;
         Draw draw{"", {r.values({items, r.between(1, 4)}), r.values({items, 2, 2}), selector}};
         draw.tops = 2;
         return draw;
       }},
      {"Flatten", "",
       [](Random& r) {
         const Shape shape = r.shape(3, 5);
         const std::int64_t axis = r.between(0, shape.axes() - 1);
         return Draw{fmt::format("flatten_param {{ axis: {} end_axis: {} }}", axis,
                                 r.between(axis, shape.axes() - 1)),
                     {r.values(shape)}};
       }},
      {"Permute", "",
       [](Random& r) {
         return Draw{fmt::format("permute_param {{ {} }}",
                                 r.pick({"", "order: 0 order: 2 order: 3 order: 1", "order: 3",
                                         "order: 2 order: 0", "order: 1 order: 3 order: 0"})),
                     {r.values(r.shape(4, 5))}};
       }},
      {"Reduction", "",
       [](Random& r) {
         const Shape shape = r.shape(1, 4);
         return Draw{fmt::format("reduction_param {{ operation: {} axis: {} coeff: {} }}",
                                 r.pick({"SUM", "ASUM", "SUMSQ", "MEAN"}),
                                 r.between(0, shape.axes() - 1), r.real(0.5, 2)),
                     {r.values(shape, -1, 1, {0})}};
       }},
      {"Reshape", "",
       [](Random& r) {
         return Draw{"reshape_param { shape { dim: -1 dim: 0 } axis: 1 num_axes: 2 }",
                     {r.values(r.shape(3, 4))}};
       }},
      {"Slice", "",
       [](Random& r) {
         std::vector<std::int64_t> dims = {r.between(4, 6), r.between(4, 6), r.between(4, 5)};
         const std::int64_t first = r.between(1, 2), second = r.between(first + 1, 3);
         Draw draw{fmt::format("slice_param {{ axis: {} slice_point: {} slice_point: {} }}",
                               r.between(0, 2), first, second),
                   {r.values(Shape(dims))}};
         draw.tops = 3;
         return draw;
       }},
      {"Split", "",
       [](Random& r) {
         Draw draw{"", {r.values(r.shape(1, 5))}};
         draw.tops = static_cast<int>(r.between(1, 4));
         return draw;
       }},
      {"Tile", "",
       [](Random& r) {
         const Shape shape = r.shape(1, 5, 3);
         return Draw{fmt::format("tile_param {{ axis: {} tiles: {} }}",
                                 r.between(0, shape.axes() - 1), r.between(1, 4)),
                     {r.values(shape)}};
       }},
  };
}

}  // namespace crema::test
