#include "kernels/strided_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "base/philox.h"

namespace crema {
namespace {

std::vector<float> counting(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(StridedCopy, MergesAxesThatLieAsOne) {
  StridedCopy box;
  box.add_axis(1, 99, 99);
  box.add_axis(4, 12, 24);
  box.add_axis(3, 4, 4);
  box.add_axis(1, 77, 77);
  box.add_axis(4, 1, 1);
  EXPECT_EQ(box.axes(), 2);
  EXPECT_EQ(box.count(), 48);
  EXPECT_EQ(box.row_length(), 12);
  const StridedCopy::Place place = box.place(2 * 12 + 5);
  EXPECT_EQ(place.from, 2 * 12 + 5);
  EXPECT_EQ(place.to, 2 * 24 + 5);
}

TEST(StridedCopy, OneElement) {
  const auto device = make_cpu_device(1);
  StridedCopy box;
  box.add_axis(1, 5, 7);
  const float from = 3;
  float to = 0;
  strided_copy(*device, box, &from, &to);
  EXPECT_EQ(to, 3);
}

TEST(StridedCopy, NothingToCopy) {
  const auto device = make_cpu_device(2);
  StridedCopy box;
  box.add_axis(3, 0, 0);
  box.add_axis(0, 1, 1);
  strided_copy(*device, box, nullptr, nullptr);
}

TEST(StridedCopy, RepeatsWhereTheStrideIsZero) {
  const auto device = make_cpu_device(1);
  StridedCopy box;
  box.add_axis(2, 1, 3);
  box.add_axis(3, 0, 1);
  const std::vector<float> from = {4, 5};
  std::vector<float> to(6);
  strided_copy(*device, box, from.data(), to.data());
  EXPECT_EQ(to, (std::vector<float>{4, 4, 4, 5, 5, 5}));
}

/// Boxes inside larger arrays, against nested loops, with so many elements that threads share them
/// in the middle of rows.
TEST(StridedCopy, RandomBoxes) {
  const RandomStream random(3, 0);
  std::uint64_t drawn = 0;
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + random.below(0, drawn++, static_cast<std::uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 40; ++round) {
    std::array<std::int64_t, 4> size{}, from_size{}, to_size{}, from_stride{}, to_stride{};
    for (std::size_t a = 0; a < 4; ++a) {
      size[a] = draw(1, 14);
      from_size[a] = size[a] + draw(0, 2);
      to_size[a] = size[a] + draw(0, 2);
    }
    std::int64_t from_count = 1, to_count = 1;
    for (std::size_t a = 4; a-- > 0;) {
      from_stride[a] = from_count;
      to_stride[a] = to_count;
      from_count *= from_size[a];
      to_count *= to_size[a];
    }
    const std::vector<float> from = counting(static_cast<std::size_t>(from_count));
    std::vector<float> expected(static_cast<std::size_t>(to_count), -1);
    for (std::int64_t i = 0; i < size[0] * size[1] * size[2] * size[3]; ++i) {
      std::int64_t rest = i, source = 0, target = 0;
      for (std::size_t a = 4; a-- > 0;) {
        source += rest % size[a] * from_stride[a];
        target += rest % size[a] * to_stride[a];
        rest /= size[a];
      }
      expected[static_cast<std::size_t>(target)] = from[static_cast<std::size_t>(source)];
    }
    StridedCopy box;
    for (std::size_t a = 0; a < 4; ++a) box.add_axis(size[a], from_stride[a], to_stride[a]);
    for (const int threads : {1, 2, 3}) {
      const auto device = make_cpu_device(threads);
      std::vector<float> to(static_cast<std::size_t>(to_count), -1);
      strided_copy(*device, box, from.data(), to.data());
      ASSERT_EQ(to, expected) << "round " << round << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace crema
