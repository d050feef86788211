#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace crema::conformance {
namespace {

/// Not less than any tolerance when one of the two is not a number.
double distance(double value, double expected) {
  if (value == expected) return 0;  // infinities too
  const double error = std::abs(value - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

void Report::compare(const std::string& what, const Shape& shape, const std::vector<float>& values,
                     const Array& expected, double tolerance) {
  if (shape == expected.shape) {
    compare(what, values, expected.values, tolerance);
  } else {
    fail(fmt::format("{} has shape {}, expected {}", what, shape.str(), expected.shape.str()));
  }
}

void Report::compare(const std::string& what, const std::vector<float>& values,
                     const std::vector<float>& expected, double tolerance) {
  if (values.size() != expected.size()) {
    fail(fmt::format("{} has {} values, expected {}", what, values.size(), expected.size()));
    return;
  }
  ++compared_;
  double scale = 1;
  for (const float x : expected) scale = std::max(scale, std::abs(static_cast<double>(x)));
  double worst = 0;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = distance(values[i], expected[i]) / scale;
    if (error <= worst) continue;
    worst = error;
    worst_at = i;
  }
  largest_error_ = std::max(largest_error_, worst);
  if (worst > tolerance) {
    mismatch(what, worst_at, values[worst_at], expected[worst_at], worst, tolerance);
  }
}

void Report::compare(const std::string& what, double value, double expected, double tolerance,
                     double scale) {
  ++compared_;
  const double off = distance(value, expected);
  const double error = off == 0 ? 0 : off / scale;
  largest_error_ = std::max(largest_error_, error);
  if (!(error <= tolerance)) {
    fail(fmt::format("{}: {:.9g}, expected {:.9g} (error {:.2g})", what, value, expected, error));
  }
}

void Report::mismatch(const std::string& what, std::size_t index, double value, double expected,
                      double error, double tolerance) {
  fail(fmt::format("{} [{}]: {:.9g}, expected {:.9g} (error {:.2g} > {:.2g})", what, index, value,
                   expected, error, tolerance));
}

void Report::fail(std::string reason) {
  if (failures_++ == 0) first_failure_ = std::move(reason);
}

void Report::note(std::string text) {
  if (!notes_.empty()) notes_ += "; ";
  notes_ += text;
}

std::string Report::reason() const {
  if (failures_ <= 1) return first_failure_;
  return fmt::format("{} (and {} more)", first_failure_, failures_ - 1);
}

}  // namespace crema::conformance
