#include "solver/snapshot.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cerrno>
#include <csignal>
#include <functional>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "proto/solver_state.h"
#include "solver/health.h"

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

SnapshotFiles files_named(const std::string& base, WeightFormat format) {
  const std::string ending = format == WeightFormat::kHdf5 ? ".h5" : "";
  return {base + ".caffemodel" + ending, base + ".solverstate" + ending};
}

std::string stem_of(const std::string& prefix) {
  return fs::path(prefix).filename().string() + "_iter_";
}

/// All files in the folder of the prefix, named as the prefix is.
std::vector<std::string> files_of(const std::string& prefix) {
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> files;
  if (!fs::is_directory(folder)) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    files.push_back(path.has_parent_path() ? entry.path().string()
                                           : entry.path().filename().string());
  }
  return files;
}

/// A process that we may not signal is one all the same.
bool is_alive(int process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace

SnapshotFiles snapshot_files(const std::string& prefix, int iteration, WeightFormat format) {
  return files_named(fmt::format("{}_iter_{}", prefix, iteration), format);
}

SnapshotFiles best_snapshot_files(const std::string& prefix, WeightFormat format) {
  return files_named(prefix + "_best", format);
}

WeightFormat snapshot_format(const caffe::SolverParameter& solver) {
  return solver.snapshot_format() == caffe::SolverParameter::HDF5 ? WeightFormat::kHdf5
                                                                  : WeightFormat::kBinary;
}

void delete_old_snapshots(const std::string& prefix, int iteration, int keep) {
  std::map<int, std::vector<SnapshotFiles>, std::greater<>> older;
  for (const std::string& state : snapshots_of(prefix)) {
    const std::string name = fs::path(state).filename().string();
    const int number = iteration_of(name, stem_of(prefix));
    if (number >= iteration) continue;
    for (const WeightFormat format : {WeightFormat::kBinary, WeightFormat::kHdf5}) {
      const SnapshotFiles files = snapshot_files(prefix, number, format);
      if (fs::path(files.state).filename().string() == name) older[number].push_back(files);
    }
  }
  int kept = 1;
  for (const auto& [number, snapshots] : older) {
    if (kept++ < keep) continue;
    for (const SnapshotFiles& files : snapshots) {
      // The state last: it is what the next call finds if this one is interrupted.
      for (const std::string& file : {files.weights, files.state}) {
        boost::system::error_code error;
        fs::remove(file, error);
        LOG_IF(WARNING, error) << "cannot delete the old snapshot " << file << ": "
                               << error.message();
      }
    }
  }
}

std::vector<std::string> snapshots_of(const std::string& prefix) {
  std::vector<std::pair<int, std::string>> states;
  for (const std::string& file : files_of(prefix)) {
    const int iteration = iteration_of(fs::path(file).filename().string(), stem_of(prefix));
    if (iteration >= 0) states.emplace_back(iteration, file);
  }
  std::sort(states.rbegin(), states.rend());
  std::vector<std::string> files;
  files.reserve(states.size());
  for (auto& [iteration, file] : states) files.push_back(std::move(file));
  return files;
}

std::vector<std::string> resolve_snapshots(const std::string& request, const std::string& prefix) {
  if (request == "auto") return snapshots_of(prefix);
  if (!is_number(request)) return {request};
  const int iteration = std::stoi(request);
  const std::string binary = snapshot_files(prefix, iteration, WeightFormat::kBinary).state;
  const std::string hdf5 = snapshot_files(prefix, iteration, WeightFormat::kHdf5).state;
  if (fs::exists(binary)) return {binary};
  require(fs::exists(hdf5), "there is no snapshot of iteration {}: neither {} nor {} exists",
          iteration, binary, hdf5);
  return {hdf5};
}

void remove_stale_temporaries(const std::string& prefix) {
  for (const std::string& file : files_of(prefix)) {
    const int writer = temporary_writer(file);
    // Not of a run that is still writing; one with our own number is of an earlier process.
    if (writer <= 0 || (writer != ::getpid() && is_alive(writer))) continue;
    const std::string name = fs::path(file).filename().string();
    const std::string best = fs::path(prefix).filename().string() + "_best.";
    if (name.rfind(stem_of(prefix), 0) != 0 && name.rfind(best, 0) != 0) continue;
    LOG(INFO) << "Removing " << file << ", which a killed run left half-written";
    ::unlink(file.c_str());
  }
}

void warn_passed_over(const Error& error) {
  LOG(WARNING) << "passing over a snapshot that cannot be used: " << error.what();
}

StoredWeights first_usable_weights(const std::vector<std::string>& states) {
  for (std::size_t i = 0;; ++i) {
    try {
      StoredWeights weights =
          read_weights(weights_of_state(read_solver_state(states[i]), states[i]));
      const std::string bad = non_finite_blob(weights);
      require(bad.empty() || i + 1 == states.size(), "{}: {}", weights.file, bad);
      return weights;
    } catch (const Error& error) {
      if (i + 1 == states.size()) throw;
      warn_passed_over(error);
    }
  }
}

std::string weights_of_state(const caffe::SolverState& state, const std::string& state_file) {
  require(!state.learned_net().empty(), "{} names no weights (learned_net)", state_file);
  const fs::path beside =
      fs::path(state_file).parent_path() / fs::path(state.learned_net()).filename();
  if (fs::exists(beside)) return beside.string();
  require(fs::exists(state.learned_net()),
          "the weights of {} are not there: neither {} nor {} exists", state_file, beside.string(),
          state.learned_net());
  return state.learned_net();
}

}  // namespace crema
