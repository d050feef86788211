// A progress line for long work: "convert-idx: 12,345 of 60,000 (20 %), 401,000/s, 1 s left",
// redrawn in place on a terminal and absent when standard error goes into a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace crema {

class Progress {
 public:
  /// `total` may be 0 when it is not known.
  Progress(std::string label, std::int64_t total);
  /// Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cheap: draws at most a few times a second.
  void update(std::int64_t done);
  /// Makes room for other lines on standard error; the next update draws again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_, last_draw_;
};

}  // namespace crema
