#include "solver/snapshot.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <vector>

#include "base/error.h"
#include "proto/solver_state.h"

namespace crema {
namespace fs = boost::filesystem;
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The iteration in a state's file name, or -1 when it is not one of this prefix.
int iteration_of(const std::string& file, const std::string& stem) {
  for (const std::string suffix : {".solverstate", ".solverstate.h5"}) {
    if (file.size() <= stem.size() + suffix.size() || file.rfind(stem, 0) != 0 ||
        file.compare(file.size() - suffix.size(), suffix.size(), suffix) != 0) {
      continue;
    }
    const std::string number = file.substr(stem.size(), file.size() - stem.size() - suffix.size());
    if (is_number(number)) return std::stoi(number);
  }
  return -1;
}

}  // namespace

SnapshotFiles snapshot_files(const std::string& prefix, int iteration, WeightFormat format) {
  const std::string ending = format == WeightFormat::kHdf5 ? ".h5" : "";
  const std::string base = fmt::format("{}_iter_{}", prefix, iteration);
  return {base + ".caffemodel" + ending, base + ".solverstate" + ending};
}

std::string newest_snapshot(const std::string& prefix) {
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder)) return "";
  const std::string stem = path.filename().string() + "_iter_";
  std::vector<std::pair<int, std::string>> states;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const int iteration = iteration_of(entry.path().filename().string(), stem);
    if (iteration < 0) continue;
    states.emplace_back(iteration, path.has_parent_path() ? entry.path().string()
                                                          : entry.path().filename().string());
  }
  std::sort(states.rbegin(), states.rend());
  for (const auto& [iteration, file] : states) {
    try {
      const caffe::SolverState state = read_solver_state(file);
      read_weights(weights_of_state(state, file));
      return file;
    } catch (const Error& error) {
      LOG(WARNING) << "passing over a snapshot that cannot be used: " << error.what();
    }
  }
  return "";
}

std::string resolve_snapshot(const std::string& request, const std::string& prefix) {
  if (request == "auto") return newest_snapshot(prefix);
  if (!is_number(request)) return request;
  const int iteration = std::stoi(request);
  const std::string binary = snapshot_files(prefix, iteration, WeightFormat::kBinary).state;
  const std::string hdf5 = snapshot_files(prefix, iteration, WeightFormat::kHdf5).state;
  if (fs::exists(binary)) return binary;
  require(fs::exists(hdf5), "there is no snapshot of iteration {}: neither {} nor {} exists",
          iteration, binary, hdf5);
  return hdf5;
}

std::string weights_of_state(const caffe::SolverState& state, const std::string& state_file) {
  require(!state.learned_net().empty(), "{} names no weights (learned_net)", state_file);
  if (fs::exists(state.learned_net())) return state.learned_net();
  const fs::path beside =
      fs::path(state_file).parent_path() / fs::path(state.learned_net()).filename();
  require(fs::exists(beside), "the weights of {} are not there: neither {} nor {} exists",
          state_file, state.learned_net(), beside.string());
  return beside.string();
}

}  // namespace crema
