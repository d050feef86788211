#include "base/error.h"

namespace crema {

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {
  compose();
}

void Error::add_context(std::string context) {
  if (context.empty()) return;
  contexts_.push_back(std::move(context));
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

void assertion_failed(const char* condition, const char* file, int line) {
  throw Error(ErrorKind::kInternal,
              fmt::format("internal error, please report it: {} does not hold ({}:{})", condition,
                          file, line));
}

}  // namespace crema
