#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "") {
  return "type: 'LRN' bottom: 'x' top: 'y' lrn_param { " + fields + " }";
}

TEST(Lrn, AcrossByHand) {
  RunOptions options;
  options.backward = false;
  const Result result = run(*make(layer("local_size: 3 alpha: 3 beta: 0.5 k: 2")),
                            {blob({1, 3, 1, 1}, {1, 2, 3})}, {}, {}, options);
  expect_near(result.tops[0],
              blob({1, 3, 1, 1}, {1 / std::sqrt(7.0f), 2 / std::sqrt(16.0f), 3 / std::sqrt(15.0f)}),
              1e-6, "top");
}

TEST(Lrn, WithinByHand) {
  RunOptions options;
  options.backward = false;
  // k is not used.
  const Result result =
      run(*make(layer("norm_region: WITHIN_CHANNEL local_size: 3 alpha: 9 beta: 1 k: 5")),
          {blob({1, 1, 2, 3}, {1, 2, 3, 0, 1, 0})}, {}, {}, options);
  expect_near(result.tops[0], blob({1, 1, 2, 3}, {1.0f / 7, 2.0f / 16, 3.0f / 15, 0, 1.0f / 16, 0}),
              1e-6, "top");
}

TEST(Lrn, Grid) {
  const std::vector<Blob> image = {spread({2, 7, 3, 2}, -2, 2)};
  check_layer(layer(), image, {});
  check_layer(layer("local_size: 3 alpha: 0.5 beta: 0.75"), image, {});
  check_layer(layer("local_size: 9 alpha: 2"), {spread({1, 3, 3, 2})}, {});
  check_layer(layer("alpha: 0.0001"), image, {});
  check_layer(layer("k: 2 beta: 0.4"), image, {});
  for (const char* size : {"1", "3", "7", "99"}) {
    check_layer(layer(std::string("norm_region: WITHIN_CHANNEL alpha: 2 local_size: ") + size),
                {spread({2, 2, 4, 5}, -2, 2)}, {});
  }
  EXPECT_EQ(layout_count(*make(layer()), image), 2);
  EXPECT_EQ(layout_count(*make(layer("norm_region: WITHIN_CHANNEL")), image), 1);
}

TEST(Lrn, Errors) {
  EXPECT_EQ(infer_error(layer("local_size: 4"), {{2, 3, 4, 4}}),
            "lrn_param.local_size 4 is even; it must be odd, so that the window has a middle");
  EXPECT_THAT(
      infer_error(layer("norm_region: WITHIN_CHANNEL local_size: 4294967295"), {{1, 1, 2, 2}}),
      testing::HasSubstr("too large"));
  EXPECT_EQ(infer_error(layer(), {{2, 3}}),
            "the bottom must have 4 axes (N x C x H x W), not 2 (2x3)");
}

}  // namespace
}  // namespace crema::test
