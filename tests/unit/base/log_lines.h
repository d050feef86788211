// What is logged, for tests of log lines.
#pragma once

#include <glog/logging.h>

#include <ctime>
#include <string>
#include <vector>

namespace crema::testing {

/// The log's messages without their prefix while it lives.
class LogLines final : public google::LogSink {
 public:
  LogLines() { google::AddLogSink(this); }
  ~LogLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity severity, const char*, const char*, int, const std::tm*,
            const char* message, std::size_t length) override {
    (severity == google::GLOG_INFO ? lines : warnings).emplace_back(message, length);
  }

  std::vector<std::string> lines, warnings;
};

}  // namespace crema::testing
