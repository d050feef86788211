// solvers/: short training runs, with all that they display and write.
#include <algorithm>
#include <boost/filesystem.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cases.h"
#include "csv.h"
#include "folders.h"
#include "snapshot_comparison.h"
#include "training_run.h"

namespace crema::conformance {
namespace {

/// Columns of losses.csv; behind them the train net's outputs, element by element.
enum Column { kIteration, kLoss, kRate, kOutputs };

void compare_printed(const std::string& what, const std::string& expected, double value,
                     double tolerance, Report* report) {
  if (expected.empty()) return;
  const double number = std::stod(expected);
  report->compare(what, value, number, tolerance + kPrinted, std::max(1.0, std::abs(number)));
}

void compare_display(const TrainingProgress& display, const std::vector<std::string>& row,
                     double tolerance, Report* report) {
  const std::string where = fmt::format("iteration {}", display.iteration);
  report->check(display.iteration == std::stoi(row[kIteration]),
                fmt::format("display of {}, expected {}", where, row[kIteration]));
  compare_printed(where + " loss", row[kLoss], display.loss, tolerance, report);
  report->check(display.rate.has_value() == !row[kRate].empty(),
                where + (display.rate ? " shows a rate" : " shows no rate"));
  if (display.rate && !row[kRate].empty()) {
    const double rate = std::stod(row[kRate]);
    report->compare(where + " rate", *display.rate, rate, kPrinted, std::max(rate, 1e-30));
  }
  std::size_t column = kOutputs;
  for (const OutputValue& output : display.outputs) {
    for (const float value : output.values) {
      if (column >= row.size()) {
        report->fail(where + " shows too many outputs");
        return;
      }
      compare_printed(where + " output " + output.name, row[column++], value, tolerance, report);
    }
  }
  report->check(column == row.size(), where + " shows too few outputs");
}

void compare_displays(const TrainingRecord& record, double tolerance, Report* report) {
  const auto rows = read_csv("losses.csv");
  report->check(record.displays.size() == rows.size(),
                fmt::format("{} displays, expected {}", record.displays.size(), rows.size()));
  for (std::size_t i = 0; i < std::min(rows.size(), record.displays.size()); ++i) {
    compare_display(record.displays[i], rows[i], tolerance, report);
  }
}

void compare_snapshots(int iteration, double tolerance, Report* report) {
  const std::string stem = fmt::format("iter_{}", iteration);
  const std::string ending =
      boost::filesystem::exists("expected_" + stem + ".caffemodel") ? "" : ".h5";
  const std::string weights = "_" + stem + ".caffemodel" + ending;
  const std::string state = "_" + stem + ".solverstate" + ending;
  compare_weight_files("snapshot" + weights, "expected" + weights, tolerance, report);
  compare_solver_states("snapshot" + state, "expected" + state, tolerance, report);
}

}  // namespace

void run_solver_case(const std::string& folder, Report* report) {
  const TemporaryCopy copy(folder);
  const WorkingDirectory directory(copy.path());
  const auto description = nlohmann::json::parse(read_file("case.json"));
  const double tolerance = description.at("tolerance");
  const std::unique_ptr<Device> device = make_cpu_device();
  const TrainingRecord record = train(parse_train_flags(description.at("arguments")), *device);
  compare_displays(record, tolerance, report);
  if (boost::filesystem::exists("test_scores.csv")) {
    compare_test_scores(record, "test_scores.csv", {}, tolerance + kPrinted, report);
  } else {
    report->check(record.tests.empty(), "tests were run, but none is expected");
  }
  for (const int iteration : description.at("snapshots")) {
    compare_snapshots(iteration, tolerance, report);
  }
}

}  // namespace crema::conformance
