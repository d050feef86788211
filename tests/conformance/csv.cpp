#include "csv.h"

#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace crema::conformance {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

std::vector<std::vector<std::string>> read_csv(const std::string& file) {
  std::istringstream lines(read_file(file));
  std::string line;
  std::getline(lines, line);
  const std::size_t columns = fields_of(line).size();
  std::vector<std::vector<std::string>> rows;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    rows.push_back(fields_of(line));
    require(rows.back().size() == columns, "{}: \"{}\" has {} fields, expected {}", file, line,
            rows.back().size(), columns);
  }
  return rows;
}

}  // namespace crema::conformance
