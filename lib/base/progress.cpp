#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"

namespace crema {

Progress::Progress(std::string label, std::int64_t total)
    : label_(std::move(label)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) std::fputs("\033[K", stderr);
  drawn_ = false;
}

void Progress::update(std::int64_t done) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_draw_ < std::chrono::milliseconds(200)) return;
  last_draw_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / elapsed;
  std::string line = fmt::format("{}: {}", label_, with_thousands(done));
  if (total_ > 0) {
    line += fmt::format(" of {} ({} %)", with_thousands(total_), 100 * done / total_);
  }
  line += rate >= 10 ? fmt::format(", {}/s", with_thousands(static_cast<long long>(rate)))
                     : fmt::format(", {:.2g}/s", rate);
  if (total_ > done && rate > 0) {
    line += fmt::format(", {:.0f} s left", static_cast<double>(total_ - done) / rate);
  }
  // The cursor goes back to the start, so that a log line writes over it.
  std::fputs(("\r\033[K" + line + "\r").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace crema
