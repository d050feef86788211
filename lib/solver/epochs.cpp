#include "solver/epochs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch_reader.h"
#include "solver/solver_fields.h"

namespace crema {
namespace {

/// Rounding of quotients that are whole numbers by the meaning of it.
constexpr double kSlack = 1e-9;

void check_positive(const caffe::SolverParameter& solver, const char* field, float value) {
  require_field(solver, field, std::isfinite(value) && value > 0, "{} is {}; it must be > 0", field,
                value);
}

}  // namespace

void check_epochs(const caffe::SolverParameter& solver) {
  if (solver.has_max_epochs()) {
    require_field(solver, "max_epochs", !solver.has_max_iter(),
                  "max_epochs and max_iter both say how long to train; give one of them");
    check_positive(solver, "max_epochs", solver.max_epochs());
  }
  if (solver.has_test_epochs()) {
    require_field(solver, "test_epochs", !solver.has_test_interval(),
                  "test_epochs and test_interval both say when to test; give one of them");
    check_positive(solver, "test_epochs", solver.test_epochs());
  }
}

double decimal(float value) { return std::stod(fmt::format("{}", value)); }

double iterations_of_epoch(const caffe::SolverParameter& solver, const std::string& field,
                           const Net& train_net) {
  double longest = 0;
  for (const auto& [layer, reader] : train_net.readers()) {
    const double batches =
        static_cast<double>(reader->records()) / static_cast<double>(reader->batch_size());
    longest = std::max(longest, batches / solver.iter_size());
  }
  std::vector<std::string> sources;
  for (const Node& node : train_net.graph().nodes) {
    if (node.bottoms.empty()) {
      sources.push_back(fmt::format("\"{}\" ({})", node.name(), node.type()));
    }
  }
  require_field(solver, field, longest > 0,
                "{} needs the number of records of the train net's source, which {} {} cannot "
                "tell; give max_iter and test_interval in their place",
                field, sources.size() == 1 ? "layer" : "layers", fmt::join(sources, ", "));
  return longest;
}

int iterations_of(double epochs, double iterations_of_epoch) {
  const double iterations = std::ceil(epochs * iterations_of_epoch - kSlack);
  require(iterations <= std::numeric_limits<int>::max(), "{} epochs are {} iterations, too many",
          epochs, iterations);
  return static_cast<int>(iterations);
}

bool passes_mark(int iteration, double interval) {
  if (iteration == 0) return true;
  return std::floor(iteration / interval + kSlack) >
         std::floor((iteration - 1) / interval + kSlack);
}

}  // namespace crema
