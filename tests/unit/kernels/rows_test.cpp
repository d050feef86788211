#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace crema {
namespace {

TEST(RowChunks, CoverEveryRowOnce) {
  for (const std::int64_t length : {0, 1, 63, 64, 65, 1000}) {
    const RowChunks chunks = row_chunks(Cpu{}, length, 64);
    std::vector<int> visits(static_cast<std::size_t>(3 * length));
    for (std::int64_t i = 0; i < 3 * chunks.per_row; ++i) {
      for (std::int64_t j = chunks.begin(i); j < chunks.end(i); ++j) {
        ++visits[static_cast<std::size_t>(chunks.row(i) * length + j)];
      }
    }
    for (const int count : visits) ASSERT_EQ(count, 1) << length;
  }
}

TEST(Rows, FindsIndicesThatNameNoRow) {
  const auto device = make_cpu_device(1);
  const auto first_bad = [&](std::vector<float> values, std::int64_t rows) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return first_bad_index(Tensor(*device, shape, Layout(), values.data()), rows);
  };
  EXPECT_EQ(first_bad({0, 2, 1.9f}, 3), -1);
  EXPECT_EQ(first_bad({-0.5f, 2.9f}, 3), -1);  // cut to 0 and 2
  EXPECT_EQ(first_bad({0, 3}, 3), 1);
  EXPECT_EQ(first_bad({0, 1, -1}, 3), 2);
  EXPECT_EQ(first_bad({std::nanf("")}, 3), 0);
  EXPECT_EQ(first_bad({1e30f}, 3), 0);
  EXPECT_EQ(first_bad({0}, 0), 0);
}

TEST(Rows, GatherAndScatterAgainstLoops) {
  const std::int64_t table_rows = 7;
  for (const std::int64_t length : {1, 5, 64, 1500}) {
    for (const std::int64_t items : {0, 1, 40}) {
      std::vector<float> index, table, offset, from;
      for (std::int64_t i = 0; i < items; ++i) index.push_back(static_cast<float>(i * 3 % 7));
      for (std::int64_t i = 0; i < table_rows * length; ++i) {
        table.push_back(static_cast<float>(i % 97));
      }
      for (std::int64_t j = 0; j < length; ++j) offset.push_back(static_cast<float>(j % 5));
      for (std::int64_t i = 0; i < items * length; ++i) {
        from.push_back(static_cast<float>(i % 31));
      }
      std::vector<float> gathered, summed = table;
      for (std::int64_t i = 0; i < items; ++i) {
        for (std::int64_t j = 0; j < length; ++j) {
          const auto at = static_cast<std::size_t>(i * 3 % 7 * length + j);
          gathered.push_back(table[at] + offset[static_cast<std::size_t>(j)]);
          summed[at] += from[static_cast<std::size_t>(i * length + j)];
        }
      }
      for (const int threads : {1, 2, 3}) {
        const auto device = make_cpu_device(threads);
        std::vector<float> to(gathered.size()), sums = table;
        gather_rows<Cpu, float>(*device, items, length, index.data(), table.data(), offset.data(),
                                to.data());
        EXPECT_EQ(to, gathered);
        scatter_add_rows<Cpu, float>(*device, items, length, index.data(), from.data(),
                                     sums.data());
        EXPECT_EQ(sums, summed);
      }
    }
  }
}

}  // namespace
}  // namespace crema
