// What every command-line tool does: help, flags, logging, errors and exit codes.
//
//   int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
//
// Exit codes: 0 done, 1 an error (one line on standard error), 2 a wrong command line. A run that a
// signal stopped early and that saved its state still exits with 0.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace crema {

struct ToolInfo {
  std::string name;      ///< "train"
  std::string synopsis;  ///< "train --solver FILE [--weights A,B | --snapshot FILE|auto]"
  std::string summary;   ///< one sentence
  std::string details;   ///< paragraphs for --help: what goes in, what comes out
  std::string examples;  ///< one command a line
  int min_arguments = 0;
  int max_arguments = 0;  ///< positional ones
};

/// Parses flags (gflags; one or two dashes), starts logging to standard error in Caffe's form,
/// checks that the processor can run this build, runs `body` with the positional arguments and
/// returns the exit code.
int run_tool(int argc, char** argv, const ToolInfo& info,
             const std::function<int(const std::vector<std::string>& arguments)>& body);

/// A wrong use of flags: the tool prints the text and its synopsis and exits with 2.
class UsageError : public std::exception {
 public:
  explicit UsageError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace crema
