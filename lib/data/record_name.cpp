// Keys are bytes from a file and may be anything; what is printed of them must not break the line
// or the terminal.
#include "data/record_name.h"

#include <fmt/format.h>

namespace crema {

std::string record_name(std::string_view key) {
  constexpr std::size_t kLongest = 120;
  std::string text = "record \"";
  for (const char c : key.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text + (key.size() > kLongest ? "…\"" : "\"");
}

}  // namespace crema
