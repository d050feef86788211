// data/tool_*: what the command line tools write and log.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/text.h"
#include "cases.h"
#include "data/lmdb.h"
#include "folders.h"
#include "hdf5_values.h"
#include "proto/blobs.h"
#include "proto/io.h"
#include "proto/text.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
using Json = nlohmann::json;
namespace {

constexpr double kTolerance = 1e-5;
/// Numbers in log lines have 6 digits.
constexpr double kLogged = 2e-5;

struct Command {
  std::string tool;  ///< its path
  std::vector<std::string> arguments;
};

/// Caffe's tool by the name that we have for it.
Command command_of(const std::string& name, std::vector<std::string> arguments) {
  static const std::map<std::string, std::string> kNames = {
      {"compute_image_mean", "compute-image-mean"},
      {"convert_imageset", "convert-imageset"},
      {"extract_features", "extract-features"},
      {"upgrade_net_proto_binary", "upgrade-net"},
      {"upgrade_net_proto_text", "upgrade-net"},
      {"upgrade_solver_proto_text", "upgrade-solver"}};
  std::string tool;
  if (name == "caffe") {
    tool = arguments.at(0);
    arguments.erase(arguments.begin());
  } else {
    const auto found = kNames.find(name);
    require(found != kNames.end(), "the tool {} is not supported yet", name);
    tool = found->second;
  }
  const std::string path = (fs::path(program_folder()).parent_path() / "tools" / tool).string();
  require(fs::exists(path), "the tool {} is not supported yet: {} does not exist", tool, path);
  return {path, std::move(arguments)};
}

/// Standard output and error of a run in the working directory; fails unless it exits with 0.
std::string run_command(const Command& command) {
  const std::string log = "tool.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<std::string> words = command.arguments;
  words.insert(words.begin(), command.tool);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, command.tool.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start {}", command.tool);
  int status = 0;
  waitpid(child, &status, 0);
  std::string output = read_file(log);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::size_t shown = std::min<std::size_t>(output.size(), 300);
    fail("{} failed: {}", command.tool, output.substr(output.size() - shown));
  }
  return output;
}

/// Equal but for numbers, which may differ in the last of 6 digits.
bool lines_agree(const std::string& line, const std::string& expected) {
  const std::vector<std::string> words = split(line, ' '), others = split(expected, ' ');
  if (words.size() != others.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == others[i]) continue;
    char *end = nullptr, *other_end = nullptr;
    const double a = std::strtod(words[i].c_str(), &end);
    const double b = std::strtod(others[i].c_str(), &other_end);
    if (end == words[i].c_str() || other_end == others[i].c_str()) return false;
    if (std::string(end) != other_end || std::abs(a - b) > kLogged * std::max(1.0, std::abs(b))) {
      return false;
    }
  }
  return true;
}

/// The expected lines are the ends of log lines, in this order.
void compare_lines(const std::string& output, const Json& expected, Report* report) {
  std::istringstream lines(output);
  std::size_t next = 0;
  std::string line;
  while (next < expected.size() && std::getline(lines, line)) {
    const std::size_t prefix = line.find("] ");
    const std::string text = prefix == std::string::npos ? line : line.substr(prefix + 2);
    if (lines_agree(text, expected[next])) ++next;
  }
  report->check(next == expected.size(),
                next < expected.size()
                    ? fmt::format("no line \"{}\" in the log", expected[next].get<std::string>())
                    : "");
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::vector<float> bytes_of(const std::string& hex) {
  std::vector<float> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<float>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// The fields that `expected` lists. Pixels that were resampled may differ by one level.
void compare_item(const std::string& what, const caffe::Datum& datum, const Json& expected,
                  bool resized, Report* report) {
  const auto check = [&](const char* field, std::int64_t value) {
    if (!expected.contains(field)) return;
    report->check(
        value == expected[field].get<std::int64_t>(),
        fmt::format("{}: {} is {}, expected {}", what, field, value, expected[field].dump()));
  };
  check("channels", datum.channels());
  check("height", datum.height());
  check("width", datum.width());
  check("label", datum.label_size() > 0 ? datum.label(0) : 0);
  check("encoded", datum.encoded() ? 1 : 0);
  if (expected.contains("data_hex")) {
    const std::string hex = expected["data_hex"];
    if (resized) {
      // One level of 255: the measure divides by the largest value.
      report->compare(what + " data", bytes_of(hex_of(datum.data())), bytes_of(hex), 1.0 / 100);
    } else {
      report->check(hex_of(datum.data()) == hex, what + " has other data");
    }
  }
  if (expected.contains("float_data")) {
    report->compare(what + " float_data",
                    std::vector<float>(datum.float_data().begin(), datum.float_data().end()),
                    expected["float_data"].get<std::vector<float>>(), kTolerance);
  }
}

/// Whether a value is what Caffe wrote, to the byte: the fields that `expected` lists and no other.
void compare_bytes(const std::string& what, std::string_view value, const Json& expected,
                   Report* report) {
  caffe::Datum datum;
  if (expected.contains("channels")) datum.set_channels(expected["channels"]);
  if (expected.contains("height")) datum.set_height(expected["height"]);
  if (expected.contains("width")) datum.set_width(expected["width"]);
  if (expected.contains("label")) datum.add_label(expected["label"]);
  if (expected.contains("encoded")) datum.set_encoded(expected["encoded"] != 0);
  if (expected.contains("data_hex")) {
    const std::vector<float> bytes = bytes_of(expected["data_hex"]);
    for (const float byte : bytes) datum.mutable_data()->push_back(static_cast<char>(byte));
  }
  report->check(value == datum.SerializeAsString(), what + " has other bytes");
}

void compare_items(const Json& description, Report* report) {
  const std::vector<std::string> arguments = description.at("arguments");
  const bool resized = std::any_of(arguments.begin(), arguments.end(), [](const std::string& a) {
    return a.find("resize_height") != std::string::npos;
  });
  const Json& items = description.at("items");
  LmdbReader reader("db");
  report->check(reader.records() == static_cast<std::int64_t>(items.size()),
                fmt::format("db has {} records, expected {}", reader.records(), items.size()));
  for (const Json& item : items) {
    if (!reader.next()) return;
    const std::string key(reader.key());
    report->check(key == item.at("key"),
                  fmt::format("record \"{}\", expected {}", key, item.at("key").dump()));
    caffe::Datum datum;
    const std::string_view value = reader.value();
    require(datum.ParseFromArray(value.data(), static_cast<int>(value.size())),
            "record \"{}\" is no Datum", key);
    compare_item("record " + key, datum, item, resized, report);
    // Numbers that were computed may differ in their last digits.
    if (!resized && !item.contains("float_data")) {
      compare_bytes("record " + key, value, item, report);
    }
  }
}

template <class Message>
void compare_texts(const std::string& file, const std::string& expected_file, Report* report) {
  Message message, expected;
  parse_text(read_file(file), file, &message);
  parse_text(read_file(expected_file), expected_file, &expected);
  report->check(print_text(message) == print_text(expected), file + " has other contents");
}

void compare_files(const std::string& tool, const std::string& file, const std::string& expected,
                   Report* report) {
  if (tool == "upgrade_net_proto_text") {
    compare_texts<caffe::NetParameter>(file, expected, report);
  } else if (tool == "upgrade_solver_proto_text") {
    compare_texts<caffe::SolverParameter>(file, expected, report);
  } else {
    caffe::BlobProto blob, other;
    read_binary(file, &blob);
    read_binary(expected, &other);
    report->check(is_legacy(blob) == is_legacy(other), file + " is stored in another form");
    report->compare(file, stored_shape(blob), values(blob),
                    Array{stored_shape(other), values(other)}, kTolerance);
  }
}

}  // namespace

void run_tool_case(const std::string& folder, Report* report) {
  const TemporaryCopy copy(folder);
  const WorkingDirectory directory(copy.path());
  const Json description = Json::parse(read_file("expected.json"));
  const std::string tool = description.at("tool");
  // The expected files stay: ours get names of their own.
  std::vector<std::string> arguments = description.at("arguments");
  const std::vector<std::string> files = description.value("files", std::vector<std::string>());
  for (std::string& argument : arguments) {
    if (std::find(files.begin(), files.end(), argument) != files.end())
      argument = "our_" + argument;
  }
  const std::string output = run_command(command_of(tool, arguments));
  require(description.contains("lines") || description.contains("items") || !files.empty(),
          "expected.json expects nothing");
  report->note(fmt::format("{} bytes of log", output.size()));
  if (description.contains("lines")) compare_lines(output, description["lines"], report);
  if (description.contains("items")) compare_items(description, report);
  for (const std::string& file : files) compare_files(tool, "our_" + file, file, report);
}

}  // namespace crema::conformance
