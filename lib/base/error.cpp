#include "base/error.h"

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace crema {
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
