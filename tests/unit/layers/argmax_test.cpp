#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/philox.h"
#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string layer(const std::string& fields = "") {
  return "type: 'ArgMax' bottom: 'x' top: 'y' argmax_param { " + fields + " }";
}

Blob top_of(const std::string& fields, const Blob& x, RunOptions options = {}) {
  return run(*make(layer(fields)), {x}, {}, {}, options).tops[0];
}

TEST(ArgMax, OverAllAxesButTheFirst) {
  const Blob x = blob({2, 2, 2}, {1, 4, 3, 2, 5, 6, 7, 8});
  const Blob first = top_of("", x);
  EXPECT_EQ(first.shape, Shape({2, 1, 1}));
  EXPECT_THAT(first.values, ElementsAre(1, 3));
  const Blob both = top_of("top_k: 3 out_max_val: true", x);
  EXPECT_EQ(both.shape, Shape({2, 2, 3}));
  EXPECT_THAT(both.values, ElementsAre(1, 2, 3, 4, 3, 2, 3, 2, 1, 8, 7, 6));
}

TEST(ArgMax, Shapes) {
  const auto shape = [](const std::string& fields, const Shape& bottom) {
    return make(layer(fields))->infer({bottom}).tops[0];
  };
  EXPECT_EQ(shape("", {5}), Shape({5, 1, 1}));  // of each item its only value
  EXPECT_EQ(shape("top_k: 2", {5, 7}), Shape({5, 1, 2}));
  EXPECT_EQ(shape("top_k: 2 out_max_val: true", {5, 7}), Shape({5, 2, 2}));
  EXPECT_EQ(shape("top_k: 2", {5, 7, 2, 2, 3}), Shape({5, 1, 2, 1, 1}));
  EXPECT_EQ(shape("axis: 0 top_k: 2", {5, 7}), Shape({2, 7}));
  EXPECT_EQ(shape("axis: -1 top_k: 2 out_max_val: true", {5, 7, 3}), Shape({5, 7, 2}));
  EXPECT_EQ(shape("", {0, 7}), Shape({0, 1, 1}));
}

TEST(ArgMax, LargerPositionsComeFirstAmongEqualValues) {
  const Blob x = blob({1, 5}, {2, 3, 3, 1, 3});
  EXPECT_THAT(top_of("", x).values, ElementsAre(4));
  EXPECT_THAT(top_of("top_k: 5", x).values, ElementsAre(4, 2, 1, 0, 3));
  EXPECT_THAT(top_of("top_k: 2", x).values, ElementsAre(4, 2));
}

TEST(ArgMax, NanIsTheLargest) {
  const Blob x = blob({1, 5}, {kNan, 9, INFINITY, kNan, -INFINITY});
  EXPECT_THAT(top_of("", x).values, ElementsAre(3));
  EXPECT_THAT(top_of("top_k: 5", x).values, ElementsAre(3, 0, 2, 1, 4));
  EXPECT_THAT(top_of("top_k: 3", x).values, ElementsAre(3, 0, 2));
}

/// Against a sort of each line, with many ties, in every layout and number of threads.
TEST(ArgMax, AlongAnAxis) {
  const RandomStream random(11, 0);
  std::uint64_t drawn = 0;
  for (const Shape& shape : {Shape{3, 5, 4, 2}, Shape{2, 9}, Shape{4, 6, 3}, Shape{2, 60, 40, 9}}) {
    Blob x{shape, std::vector<float>(static_cast<std::size_t>(shape.count()))};
    for (float& value : x.values) value = static_cast<float>(random.below(0, drawn++, 7));
    for (int axis = 0; axis < shape.axes(); ++axis) {
      const std::int64_t n = shape[axis], inner = shape.count_from(axis + 1);
      for (const std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(n, 3), n}) {
        Blob positions{shape.with(axis, k), {}}, values{shape.with(axis, k), {}};
        positions.values.resize(static_cast<std::size_t>(positions.shape.count()));
        values.values = positions.values;
        for (std::int64_t line = 0; line < shape.count() / n; ++line) {
          const std::int64_t o = line / inner, i = line % inner;
          const auto value = [&](std::int64_t at) {
            return x.values[static_cast<std::size_t>((o * n + at) * inner + i)];
          };
          std::vector<std::int64_t> order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), 0);
          std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            return value(a) != value(b) ? value(a) > value(b) : a > b;
          });
          for (std::int64_t j = 0; j < k; ++j) {
            const auto to = static_cast<std::size_t>((o * k + j) * inner + i);
            positions.values[to] = static_cast<float>(order[static_cast<std::size_t>(j)]);
            values.values[to] = value(order[static_cast<std::size_t>(j)]);
          }
        }
        const std::string fields = fmt::format("axis: {} top_k: {} ", axis, k);
        const int layouts = layout_count(*make(layer(fields)), {x});
        for (int layout = 0; layout < layouts; ++layout) {
          for (const int threads : {1, 3}) {
            RunOptions options;
            options.layout = layout;
            options.threads = threads;
            expect_near(top_of(fields, x, options), positions, 0, "positions");
            expect_near(top_of(fields + "out_max_val: true", x, options), values, 0, "values");
          }
        }
      }
    }
  }
}

TEST(ArgMax, HasNoGradient) { EXPECT_FALSE(make(layer())->differentiable(0)); }

TEST(ArgMax, Errors) {
  EXPECT_EQ(infer_error(layer("top_k: 0"), {{2, 3}}),
            "argmax_param.top_k is 0, it must be at least 1");
  EXPECT_EQ(infer_error(layer("top_k: 13"), {{2, 3, 4}}),
            "argmax_param.top_k 13 is more than the 12 values of 2x3x4 to choose from");
  EXPECT_EQ(infer_error(layer("axis: 1 top_k: 4"), {{2, 3, 4}}),
            "argmax_param.top_k 4 is more than the 3 values of 2x3x4 to choose from");
  EXPECT_EQ(infer_error(layer(), {{2, 0}}),
            "argmax_param.top_k 1 is more than the 0 values of 2x0 to choose from");
  EXPECT_EQ(infer_error(layer("axis: 2"), {{2, 3}}),
            "argmax_param.axis: axis 2 does not exist in a blob of 2 axes (2x3)");
  EXPECT_EQ(infer_error(layer(), {Shape{}}), "the bottom is a scalar; it needs items along axis 0");
}

}  // namespace
}  // namespace crema::test
