// Signals as requests: the handler only notes that one came, the training loop asks at a safe
// moment.
#pragma once

#include <memory>
#include <string>

namespace crema {

enum class SignalAction { kNone, kStop, kSnapshot };

/// "stop", "snapshot" or "none"; anything else is a UsageError that names `flag`.
SignalAction parse_signal_action(const std::string& text, const std::string& flag);

/// While it lives, SIGINT and SIGHUP are caught and SIGTERM acts as SIGINT does; afterwards the
/// former handlers are back. A second SIGINT (or SIGTERM) before the first was answered ends the
/// program at once.
class SignalWatch {
 public:
  SignalWatch(SignalAction on_interrupt, SignalAction on_hangup);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// What was asked for since the last call; a stop outweighs a snapshot.
  SignalAction poll();

 private:
  struct Saved;
  SignalAction on_interrupt_, on_hangup_;
  std::unique_ptr<Saved> saved_;
};

/// For work that is of use only as a whole: while it lives, SIGINT, SIGTERM and SIGHUP make check()
/// throw a user error, so that what was begun is cleared away. A signal that was ignored before
/// (nohup) still is.
class StopOnSignal {
 public:
  StopOnSignal();
  void check();

 private:
  SignalWatch watch_;
};

}  // namespace crema
