#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace crema {
namespace {

/// An error is one line, whatever a name in a file holds.
std::string printable(const std::string& text) {
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

}  // namespace

Error::Error(ErrorKind kind, const std::string& message)
    : kind_(kind), message_(printable(message)) {
  compose();
}

void Error::add_context(const std::string& context) {
  if (context.empty()) return;
  contexts_.push_back(printable(context));
  compose();
}

void Error::compose() {
  text_.clear();
  for (auto context = contexts_.rbegin(); context != contexts_.rend(); ++context) {
    text_ += *context;
    text_ += ": ";
  }
  text_ += message_;
}

std::string system_reason() { return errno == 0 ? "" : std::string(": ") + std::strerror(errno); }

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorKind::kInternal,
              fmt::format("internal error, please report it: {} does not hold ({}:{})", condition,
                          file, line));
}

}  // namespace crema
