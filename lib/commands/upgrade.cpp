#include "commands/upgrade.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "proto/file_kind.h"
#include "proto/io.h"

namespace crema {
namespace {

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

bool is_standard_output(const std::string& path) {
  struct stat file = {}, out = {};
  return ::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &out) == 0 &&
         file.st_dev == out.st_dev && file.st_ino == out.st_ino;
}

/// Writes the new form by `write` and prints what changed. A file that is to become its own upgrade
/// and needs none stays as it is, with its comments.
void replace(const UpgradeOptions& options, bool text, const std::vector<std::string>& upgrades,
             const std::function<void()>& write) {
  boost::system::error_code ignored;
  const bool in_place = boost::filesystem::equivalent(options.in, options.out, ignored);
  const std::string old = in_place ? read_file(options.in) : "";
  const bool was_text = looks_like_text(old);
  const bool notes_to_errors = is_standard_output(options.out);
  std::string notes;
  for (const std::string& upgrade : upgrades) notes += fmt::format("upgraded: {}\n", upgrade);
  if (upgrades.empty()) notes = fmt::format("{} is up to date\n", options.in);
  if (in_place && upgrades.empty() && was_text == text) {
    notes = fmt::format("{} is up to date; it was left as it is\n", options.in);
  } else {
    write();
    if (was_text && old.find('#') != std::string::npos) {
      notes += fmt::format("the comments of {} are gone\n", options.in);
    }
  }
  if (notes_to_errors) {
    std::fputs(notes.c_str(), stderr);
  } else {
    print(notes);
  }
}

}  // namespace

int upgrade_net_file(const UpgradeOptions& options) {
  std::vector<std::string> upgrades;
  const caffe::NetParameter net = read_net(options.in, &upgrades, {options.dialect});
  const bool binary = options.binary || ends_with(options.out, ".caffemodel") ||
                      ends_with(options.out, ".binaryproto");
  replace(options, !binary, upgrades, [&] {
    if (binary) {
      write_binary(net, options.out);
    } else {
      write_text(net, options.out);
    }
  });
  return 0;
}

int upgrade_solver_file(const UpgradeOptions& options) {
  std::vector<std::string> upgrades;
  const caffe::SolverParameter solver = read_solver_text(options.in, &upgrades, {options.dialect});
  replace(options, true, upgrades, [&] { write_text(solver, options.out); });
  return 0;
}

}  // namespace crema
