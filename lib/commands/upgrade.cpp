#include "commands/upgrade.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "proto/io.h"

namespace crema {
namespace {

bool ends_with(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void print_upgrades(const std::vector<std::string>& upgrades, const UpgradeOptions& options) {
  std::string text;
  for (const std::string& upgrade : upgrades) text += fmt::format("upgraded: {}\n", upgrade);
  if (upgrades.empty()) text = fmt::format("{} is up to date\n", options.in);
  print(text);
}

}  // namespace

int upgrade_net_file(const UpgradeOptions& options) {
  std::vector<std::string> upgrades;
  const caffe::NetParameter net = read_net(options.in, &upgrades, {options.dialect});
  if (options.binary || ends_with(options.out, ".caffemodel") ||
      ends_with(options.out, ".binaryproto")) {
    write_binary(net, options.out);
  } else {
    write_text(net, options.out);
  }
  print_upgrades(upgrades, options);
  return 0;
}

int upgrade_solver_file(const UpgradeOptions& options) {
  std::vector<std::string> upgrades;
  write_text(read_solver_text(options.in, &upgrades, {options.dialect}), options.out);
  print_upgrades(upgrades, options);
  return 0;
}

}  // namespace crema
