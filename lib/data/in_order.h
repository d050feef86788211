// Work on a row of items by several threads, whose results are taken in the items' order.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tensor/thread_count.h"

namespace crema {

/// For each i below `count`: result = make(i), on any thread and at the same time as others, then
/// take(i, result), one at a time and in the order of i. At most four results a thread wait for
/// their turn. `threads` 0: default_threads(). What either function throws ends the work and is
/// thrown here.
template <class Make, class Take>
void make_in_order(std::int64_t count, int threads, const Make& make, const Take& take) {
  using Result = std::invoke_result_t<const Make&, std::int64_t>;
  struct Item {
    std::int64_t index;
    Result result;
  };
  if (threads == 0) threads = default_threads();
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  std::int64_t next = 0;
  const auto begin = [&](tbb::flow_control& control) -> std::int64_t {
    if (next == count) control.stop();
    return next == count ? -1 : next++;
  };
  const auto work = [&](std::int64_t index) { return Item{index, make(index)}; };
  const auto end = [&](Item item) { take(item.index, std::move(item.result)); };
  using Mode = tbb::filter_mode;
  const auto stages = tbb::make_filter<void, std::int64_t>(Mode::serial_in_order, begin) &
                      tbb::make_filter<std::int64_t, Item>(Mode::parallel, work) &
                      tbb::make_filter<Item, void>(Mode::serial_in_order, end);
  arena.execute([&] { tbb::parallel_pipeline(4 * static_cast<std::size_t>(threads), stages); });
}

}  // namespace crema
