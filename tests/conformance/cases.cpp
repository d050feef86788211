#include "cases.h"

#include <algorithm>
#include <boost/filesystem.hpp>
#include <fstream>

#include "directives.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
namespace {

bool begins_with_directive(const fs::path& prototxt) {
  std::ifstream file(prototxt.string());
  return file.get() == '#';
}

Case make_case(Case::Kind kind, const char* folder, const fs::path& path) {
  return {kind, std::string(folder) + "/" + path.stem().string(), fs::absolute(path).string()};
}

std::optional<Case> classify_file(const fs::path& path) {
  if (path.extension() != ".prototxt" || !begins_with_directive(path)) return std::nullopt;
  if (fs::exists(fs::path(path).replace_extension(".json"))) {
    return make_case(Case::Kind::kNet, "nets", path);
  }
  return make_case(Case::Kind::kLayer, "layers", path);
}

std::optional<Case> classify_folder(const fs::path& path) {
  if (fs::exists(path / "case.json")) return make_case(Case::Kind::kSolver, "solvers", path);
  if (fs::exists(path / "expected.json")) return make_case(Case::Kind::kTool, "data", path);
  if (fs::exists(path / "spread.json"))
    return Case{Case::Kind::kLenetFashion, "lenet-fashion", fs::absolute(path).string()};
  const fs::path net = path / "net.prototxt";
  if (!fs::exists(net) || !begins_with_directive(net)) return std::nullopt;
  return read_directives(net.string()).weights.empty()
             ? make_case(Case::Kind::kData, "data", path)
             : make_case(Case::Kind::kWeights, "weights", path);
}

void collect(const fs::path& path, std::vector<Case>* out) {
  if (std::optional<Case> found = classify(path.string())) {
    out->push_back(std::move(*found));
    return;
  }
  if (!fs::is_directory(path)) return;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) collect(entry, out);
}

}  // namespace

std::optional<Case> classify(const std::string& path) {
  const fs::path clean = fs::path(path).lexically_normal();
  const fs::path entry = clean.filename() == "." ? clean.parent_path() : clean;
  return fs::is_directory(entry) ? classify_folder(fs::absolute(entry)) : classify_file(entry);
}

std::vector<Case> find_cases(const std::string& path) {
  require(fs::exists(path), "{} does not exist", path);
  std::vector<Case> cases;
  collect(path, &cases);
  return cases;
}

bool is_unsupported(const Error& error) {
  return error.kind() == ErrorKind::kUser &&
         std::string(error.what()).find("not supported") != std::string::npos;
}

void expect_refusal(const std::function<void()>& body, Report* report) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal || is_unsupported(error)) throw;
    report->note(error.what());
    return;
  }
  report->fail("accepted, but must be refused");
}

}  // namespace crema::conformance
