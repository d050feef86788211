// Errors in two kinds, with a chain of contexts.
//
// A user error (bad file, wrong shape, wrong flag) is something the person at the keyboard can
// mend: tools print it as one line and exit with 1. An internal error is a fault of Crema itself
// and says so. Code that knows more about the surroundings (the layer, the file, the line) adds it
// on the way out:
//
//   net.prototxt:41: layer "conv2" (Convolution): bottom "norm1" is not produced by an earlier
//   layer
//   \_______________________________________/     \____________________________________________/
//               contexts, outermost first                            message
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace crema {

enum class ErrorKind { kUser, kInternal };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, const std::string& message);

  /// Adds what an outer caller knows. Contexts are printed outermost first, joined by ": ". Control
  /// characters are escaped: an error is one line.
  void add_context(const std::string& context);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  /// Innermost first.
  const std::vector<std::string>& contexts() const { return contexts_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> contexts_;
  std::string text_;
};

/// Throws a user error.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::kUser, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws a user error unless `ok`.
template <class... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]] {
    throw Error(ErrorKind::kUser, fmt::format(format, std::forward<Args>(args)...));
  }
}

/// What the system says of its last failure (errno), "" when it says nothing.
std::string system_reason();

/// Throws a user error with the system's reason behind it unless `ok`. (Computed before, so that
/// errno is that of the call that failed.)
template <class... Args>
void require_system(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]] {
    const std::string reason = system_reason();
    throw Error(ErrorKind::kUser, fmt::format(format, std::forward<Args>(args)...) + reason);
  }
}

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

/// Runs `body`; an Error that leaves it gains `context`, a string or a callable that makes one
/// (called only when there is an error).
template <class Context, class Body>
decltype(auto) with_context(const Context& context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    if constexpr (std::is_invocable_v<const Context&>) {
      error.add_context(context());
    } else {
      error.add_context(context);
    }
    throw;
  }
}

}  // namespace crema

/// Something that only a fault in Crema can make false; never for input.
#define CREMA_ASSERT(condition) \
  ((condition) ? void(0) : ::crema::assertion_failed(#condition, __FILE__, __LINE__))
