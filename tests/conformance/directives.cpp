#include "directives.h"

#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace crema::conformance {
namespace {

/// How values were made or why a case exists: for people.
const std::set<std::string> kInformation = {"fill", "top_grad", "note", "error"};

struct Directive {
  std::string key, argument, value;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// `# KEY ARGUMENT: VALUE`.
Directive parse_line(const std::string& line) {
  const std::size_t colon = line.find(':');
  require(colon != std::string::npos, "\"{}\" is no directive", line);
  const std::vector<std::string> words = split(trimmed(line.substr(1, colon - 1)), ' ');
  require(words.size() == 1 || words.size() == 2, "\"{}\" is no directive", line);
  return {words[0], words.size() > 1 ? words[1] : "", trimmed(line.substr(colon + 1))};
}

Shape parse_shape(const std::string& text) {
  std::vector<std::int64_t> dims;
  for (const std::string& dim : split(text, ' ')) dims.push_back(std::stoll(dim));
  return Shape(dims);
}

void apply(const Directive& directive, Directives* out) {
  const auto& [key, argument, value] = directive;
  if (key == "phase") {
    out->state.set_phase(value == "TRAIN" ? caffe::TRAIN : caffe::TEST);
  } else if (key == "level") {
    out->state.set_level(std::stoi(value));
  } else if (key == "stage") {
    for (const std::string& stage : split(value, ' ')) out->state.add_stage(stage);
  } else if (key == "tolerance") {
    out->tolerance = std::stod(value);
  } else if (key == "forwards") {
    out->forwards = std::stoi(value);
  } else if (key == "backwards") {
    out->backwards = std::stoi(value);
  } else if (key == "batches") {
    out->batches = std::stoi(value);
  } else if (key == "params") {
    out->params_from_fillers = value == "filler";
  } else if (key == "backward") {
    if (value != "none") out->backward = split(value, ' ');
  } else if (key == "expect") {
    out->expect_error = value == "error";
  } else if (key == "reshape") {
    out->reshape[argument] = parse_shape(value);
  } else if (key == "weights") {
    out->weights = split(value, ',');
  } else if (key == "input") {
    out->inputs[argument] = value;
  } else {
    require(kInformation.contains(key), "the directive \"{}\" is not known", key);
  }
}

}  // namespace

Directives read_directives(const std::string& prototxt) {
  Directives directives;
  std::istringstream lines(read_file(prototxt));
  std::string line;
  with_context(prototxt, [&] {
    while (std::getline(lines, line) && line.rfind('#', 0) == 0) {
      apply(parse_line(line), &directives);
    }
  });
  return directives;
}

}  // namespace crema::conformance
