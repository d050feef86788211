#include "records.h"

namespace crema::test {
namespace {

/// Kernels, strides, pads and dilations for `axes` spatial axes, as convolution_param has them.
std::string window(Random& r, std::int64_t axes) {
  std::string text;
  for (std::int64_t i = 0; i < axes; ++i) text += fmt::format("kernel_size: {} ", r.between(1, 3));
  for (std::int64_t i = 0; i < axes; ++i) text += fmt::format("stride: {} ", r.between(1, 2));
  for (std::int64_t i = 0; i < axes; ++i) text += fmt::format("pad: {} ", r.between(0, 1));
  for (std::int64_t i = 0; i < axes; ++i) text += fmt::format("dilation: {} ", r.between(1, 2));
  return text;
}

/// A convolution or deconvolution over `axes` spatial axes.
Draw filters(Random& r, std::int64_t axes) {
  const std::int64_t group = r.between(1, 3);
  const bool depthwise = group > 1 && r.coin();
  const std::int64_t channels = group * (depthwise ? 1 : r.between(1, 2));
  const std::int64_t outputs = group * (depthwise ? 1 : r.between(1, 2));
  std::vector<std::int64_t> dims = {r.between(1, 2), channels};
  // 5 is what the largest kernel covers with the largest dilation.
  for (std::int64_t i = 0; i < axes; ++i) dims.push_back(r.between(5, axes > 2 ? 5 : 7));
  Draw draw{fmt::format("convolution_param {{ num_output: {} group: {} bias_term: {} {}}}", outputs,
                        group, r.coin(), window(r, axes)),
            {}};
  draw.tops = axes == 2 ? static_cast<int>(r.between(1, 2)) : 1;
  for (int i = 0; i < draw.tops; ++i) draw.bottoms.push_back(r.values(Shape(dims)));
  return draw;
}

Draw pooling(Random& r, const char* method, double low) {
  const Shape shape{r.between(1, 2), r.channels(), r.between(3, 6), r.between(3, 6)};
  Draw draw{"", {r.values(shape, low, 1)}};
  const bool floor = r.coin();
  std::string size = "global_pooling: true ";
  if (r.between(0, 4) > 0) {
    size.clear();
    for (const char* side : {"h", "w"}) {
      const std::int64_t kernel = r.between(1, 3);
      // With CEIL a last window beyond the image would be refused.
      size += fmt::format("kernel_{0}: {1} stride_{0}: {2} pad_{0}: {3} ", side, kernel,
                          r.between(1, floor ? 3 : kernel), r.between(0, (kernel - 1) / 2));
    }
  }
  draw.fields = fmt::format("pooling_param {{ pool: {} round_mode: {} {}}}", method,
                            floor ? "FLOOR" : "CEIL", size);
  return draw;
}

}  // namespace

std::vector<Record> spatial_records() {
  return {
      {"Convolution", "1d", [](Random& r) { return filters(r, 1); }},
      {"Convolution", "2d", [](Random& r) { return filters(r, 2); }},
      {"Convolution", "3d", [](Random& r) { return filters(r, 3); }},
      {"Deconvolution", "1d", [](Random& r) { return filters(r, 1); }},
      {"Deconvolution", "2d", [](Random& r) { return filters(r, 2); }},
      {"Deconvolution", "3d", [](Random& r) { return filters(r, 3); }},
      {"Im2col", "",
       [](Random& r) {
         return Draw{
             "convolution_param { " + window(r, 2) + "}",
             {r.values({r.between(1, 2), r.between(1, 3), r.between(5, 7), r.between(5, 7)})}};
       }},
      {"Pooling", "AVE", [](Random& r) { return pooling(r, "AVE", -1); }},
      {"Pooling", "MAX",
       [](Random& r) {
         Draw draw = pooling(r, "MAX", -1);
         draw.tops = static_cast<int>(r.between(1, 2));
         draw.tops_with_gradient = 1;  // the second tells who won
         return draw;
       }},
      // Which elements are drawn is the same at each pass with the same number.
      {"Pooling", "STOCHASTIC", [](Random& r) { return pooling(r, "STOCHASTIC", 0.1); }},
      {"Pooling", "STOCHASTIC_TEST",
       [](Random& r) {
         Draw draw = pooling(r, "STOCHASTIC", 0.1);
         draw.fields += " phase: TEST";
         return draw;
       }},
      {"Pooling", "3d",
       [](Random& r) {
         return Draw{fmt::format("pooling_param {{ pool: {} kernel_size_3d: 2 kernel_size_3d: 3 "
                                 "kernel_size_3d: 2 stride_3d: {} pad_3d: {} }}",
                                 r.pick({"MAX", "AVE"}), r.between(1, 2), r.between(0, 1)),
                     {r.values({1, r.between(1, 3), r.between(3, 4), 4, r.between(3, 4)})}};
       }},
      {"SPP", "",
       [](Random& r) {
         return Draw{
             fmt::format("spp_param {{ pyramid_height: {} pool: {} }}", r.between(1, 3),
                         r.pick({"MAX", "AVE"})),
             {r.values({r.between(1, 2), r.between(1, 3), r.between(6, 8), r.between(6, 8)})}};
       }},
  };
}

}  // namespace crema::test
