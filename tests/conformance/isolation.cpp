#include "isolation.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "cases.h"

namespace crema::conformance {
namespace {

/// In the child.
Result run_here(const std::function<void(Report*)>& body) {
  Report report;
  Result result;
  try {
    body(&report);
    report.check(!report.empty(), "nothing was compared");
    result.outcome = report.failed() ? Outcome::kFail : Outcome::kPass;
    result.text = report.failed() ? report.reason() : report.notes();
  } catch (const Error& error) {
    result.outcome = is_unsupported(error) ? Outcome::kUnsupported : Outcome::kFail;
    result.text = error.kind() == ErrorKind::kInternal ? "internal error: " : "";
    result.text += error.what();
  } catch (const std::exception& error) {
    result.text = std::string("exception: ") + error.what();
  }
  result.largest_error = report.largest_error();
  return result;
}

/// Outcome and error as they lie in memory, then the text.
void send(int pipe, const Result& result) {
  std::string message(sizeof result.outcome + sizeof result.largest_error, '\0');
  std::memcpy(message.data(), &result.outcome, sizeof result.outcome);
  std::memcpy(message.data() + sizeof result.outcome, &result.largest_error,
              sizeof result.largest_error);
  message += result.text;
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t written = write(pipe, message.data() + sent, message.size() - sent);
    if (written <= 0) return;
    sent += static_cast<std::size_t>(written);
  }
}

std::string receive(int pipe) {
  std::string message;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(pipe, buffer, sizeof buffer)) > 0;) {
    message.append(buffer, static_cast<std::size_t>(count));
  }
  return message;
}

Result unpack(const std::string& message, int status) {
  Result result;
  const std::size_t head = sizeof result.outcome + sizeof result.largest_error;
  if (WIFSIGNALED(status)) {
    result.text =
        fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (message.size() < head || WEXITSTATUS(status) != 0) {
    result.text = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  } else {
    std::memcpy(&result.outcome, message.data(), sizeof result.outcome);
    std::memcpy(&result.largest_error, message.data() + sizeof result.outcome,
                sizeof result.largest_error);
    result.text = message.substr(head);
  }
  return result;
}

}  // namespace

Result run_isolated(const std::function<void(Report*)>& body) {
  const auto start = std::chrono::steady_clock::now();
  int ends[2];
  require(pipe(ends) == 0, "cannot make a pipe: {}", std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = fork();
  require(child >= 0, "cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    send(ends[1], run_here(body));
    std::fflush(nullptr);
    _exit(0);
  }
  close(ends[1]);
  const std::string message = receive(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Result result = unpack(message, status);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace crema::conformance
