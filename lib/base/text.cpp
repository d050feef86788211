#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <numeric>

#include "base/error.h"

namespace crema {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Edit distance in which a change of case or of `_` and `-` costs nothing and two swapped letters
/// count as one slip.
int distance(std::string_view a, std::string_view b) {
  const auto fold = [](char c) { return c == '-' ? '_' : lower(c); };
  std::vector<int> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool differ = fold(a[i - 1]) != fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (differ ? 1 : 0)});
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) parts.emplace_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  // One slip is allowed in any name but those of one letter, to which every other would be near.
  const int longest_slip = std::max(name.size() > 1 ? 1 : 0, static_cast<int>(name.size()) / 3);
  int best = longest_slip + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const int d = distance(name, candidate);
    if (d < best) {
      best = d;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  require_system(written || errno == EPIPE, "cannot write to standard output");
}

std::string with_thousands(long long value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string counted(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", with_thousands(count), noun, count == 1 ? "" : "s");
}

std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    if (c == '\n') {
      clean += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      clean += c;
    }
  }
  return clean;
}

std::string human_bytes(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  int unit = 0;
  // 999.6 would be rounded to 1e+03.
  while (bytes >= 999.5 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace crema
