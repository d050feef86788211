// Every published file is read, or refused with one line; what Caffe's parser takes must be read.
#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <map>
#include <string>
#include <vector>

#include "../unit/proto/scratch.h"
#include "base/text.h"
#include "proto/io.h"
#include "proto/solver_state.h"
#include "proto/weights.h"
#include "public_files.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;
using testing::public_folder;
using testing::Row;

/// Column `name` of index.tsv for each file.
std::map<std::string, std::string> index_column(const fs::path& folder, const std::string& name) {
  std::map<std::string, std::string> column;
  for (const Row& row : testing::read_table(folder / "index.tsv")) {
    column[row.at("file")] = row.at(name);
  }
  return column;
}

/// Reads every file of a folder; those that BVLC Caffe parses must be read, the others may only
/// fail cleanly.
template <class Read>
void read_all(const std::string& subfolder, const std::string& extension, const Read& read) {
  const fs::path folder = public_folder() / subfolder;
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  const auto parses = index_column(folder, "bvlc_parses");
  int files = 0, refused = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != extension) continue;
    ++files;
    const std::string error = testing::error_of([&] { read(entry.path().string()); });
    const auto known = parses.find(name);
    const bool must = known != parses.end() && known->second == "yes";
    EXPECT_TRUE(!must || error.empty()) << error;
    if (!error.empty()) {
      ++refused;
      if (testing::show_refusals()) std::printf("%s\n", error.c_str());
    }
  }
  EXPECT_GT(files, 0);
  std::printf("%s: %d files, %d refused\n", subfolder.c_str(), files, refused);
}

TEST(PublicFiles, Nets) {
  read_all("nets", ".prototxt", [](const std::string& path) { read_net(path); });
}

TEST(PublicFiles, NetsOfModels) {
  read_all("models", ".prototxt", [](const std::string& path) { read_net(path); });
}

TEST(PublicFiles, Solvers) {
  read_all("solvers", ".prototxt", [](const std::string& path) { read_solver(path); });
}

TEST(PublicFiles, Weights) {
  read_all("models", ".caffemodel", [](const std::string& path) {
    const StoredWeights weights = read_weights(path);
    std::size_t numbers = 0;
    for (const auto& layer : weights.layers) {
      for (const auto& blob : layer.blobs) numbers += blob.data.size();
    }
    EXPECT_GT(numbers, 0u) << path;
  });
}

TEST(PublicFiles, Hdf5) {
  read_all("models", ".h5", [](const std::string& path) {
    if (path.find("solverstate") != std::string::npos) {
      read_solver_state(path);
    } else {
      read_weights(path);
    }
  });
}

TEST(PublicFiles, SolverStates) {
  read_all("models", ".solverstate", [](const std::string& path) { read_solver_state(path); });
}

}  // namespace
}  // namespace crema
