#include "public_files.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace crema::testing {
namespace fs = boost::filesystem;

fs::path public_folder() {
  const char* given = std::getenv("CREMA_PUBLIC_FILES");
  return given ? fs::path(given) : fs::path(CREMA_SOURCE_DIR) / ".." / "shared" / "public";
}

std::vector<Row> read_table(const fs::path& file) {
  std::ifstream in(file.string());
  std::vector<Row> rows;
  std::vector<std::string> names;
  std::string line;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      cells.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

NpyArray read_npy(const fs::path& file) {
  const std::string bytes = read_file(file.string());
  require(bytes.rfind("\x93NUMPY\x01", 0) == 0 && bytes.size() > 10, "{} is no NumPy file",
          file.string());
  const std::size_t begin = 10 + static_cast<unsigned char>(bytes[8]) +
                            256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes[9]));
  const std::string header = bytes.substr(10, begin - 10);
  require(header.find("'<f4'") != std::string::npos &&
              header.find("'fortran_order': False") != std::string::npos,
          "{} does not hold floats in C order", file.string());
  const std::size_t open = header.find('('), close = header.find(')');
  std::vector<std::int64_t> dims;
  for (const std::string& part : split(header.substr(open + 1, close - open - 1), ',')) {
    if (part.find_first_of("0123456789") != std::string::npos) dims.push_back(std::stoll(part));
  }
  NpyArray array{Shape(std::move(dims)), {}};
  array.values.resize(static_cast<std::size_t>(array.shape.count()));
  require(bytes.size() - begin == array.values.size() * sizeof(float), "{} is cut short",
          file.string());
  std::memcpy(array.values.data(), bytes.data() + begin, bytes.size() - begin);
  return array;
}

bool show_refusals() { return std::getenv("CREMA_SHOW_REFUSALS") != nullptr; }

}  // namespace crema::testing
