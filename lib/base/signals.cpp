#include "base/signals.h"

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/tool.h"

namespace crema {
namespace {

// A signal handler can reach nothing but globals; these are written by it and read by poll().
volatile std::sig_atomic_t interrupts = 0;
volatile std::sig_atomic_t terminations = 0;
volatile std::sig_atomic_t hangups = 0;

/// Who asks a second time before the first was answered insists: die of the signal, so that the
/// shell sees it.
void insist(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void note_interrupt(int signal) {
  if (interrupts != 0) insist(signal);
  interrupts = 1;
}

void note_termination(int signal) {
  if (terminations != 0) insist(signal);
  terminations = 1;
}

void note_hangup(int) { hangups = 1; }

void install(int signal, void (*handler)(int), struct sigaction* former) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Interrupted system calls go on; a second signal must get through while the first is handled.
  action.sa_flags = SA_RESTART | SA_NODEFER;
  CREMA_ASSERT(sigaction(signal, &action, former) == 0);
}

SignalAction stop_unless_ignored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN ? SignalAction::kNone : SignalAction::kStop;
}

}  // namespace

struct SignalWatch::Saved {
  struct sigaction interrupt = {}, terminate = {}, hangup = {};
};

SignalAction parse_signal_action(const std::string& text, const std::string& flag) {
  if (text == "stop") return SignalAction::kStop;
  if (text == "snapshot") return SignalAction::kSnapshot;
  if (text == "none") return SignalAction::kNone;
  throw UsageError(fmt::format("--{} is \"{}\"; it can be stop, snapshot or none", flag, text));
}

SignalWatch::SignalWatch(SignalAction on_interrupt, SignalAction on_hangup)
    : on_interrupt_(on_interrupt), on_hangup_(on_hangup), saved_(std::make_unique<Saved>()) {
  interrupts = 0;
  terminations = 0;
  hangups = 0;
  install(SIGINT, on_interrupt == SignalAction::kNone ? SIG_IGN : note_interrupt,
          &saved_->interrupt);
  install(SIGTERM, note_termination, &saved_->terminate);
  install(SIGHUP, note_hangup, &saved_->hangup);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGINT, &saved_->interrupt, nullptr);
  sigaction(SIGTERM, &saved_->terminate, nullptr);
  sigaction(SIGHUP, &saved_->hangup, nullptr);
}

SignalAction SignalWatch::poll() {
  SignalAction action = SignalAction::kNone;
  const auto ask = [&](SignalAction asked) {
    if (action != SignalAction::kStop && asked != SignalAction::kNone) action = asked;
  };
  if (hangups != 0) ask(on_hangup_);
  if (interrupts != 0) ask(on_interrupt_);
  if (terminations != 0) ask(SignalAction::kStop);
  // What came is answered now; a stop is left standing, so that a second signal ends a slow one.
  hangups = 0;
  if (action != SignalAction::kStop) {
    interrupts = 0;
    terminations = 0;
  }
  return action;
}

StopOnSignal::StopOnSignal() : watch_(stop_unless_ignored(SIGINT), stop_unless_ignored(SIGHUP)) {}

void StopOnSignal::check() {
  require(watch_.poll() != SignalAction::kStop, "stopped by a signal; nothing was written");
}

}  // namespace crema
