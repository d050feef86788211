// What a case finds: the largest error, and what does not agree.
//
// Two arrays agree when they have the same shape and, for every element,
// |got - expected| <= tolerance * max(1, max|expected|).
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.h"

namespace crema::conformance {

/// An array as the corpus stores it.
struct Array {
  Shape shape;
  std::vector<float> values;
};

class Report {
 public:
  /// `what` names the array in messages: "output conv1".
  void compare(const std::string& what, const Shape& shape, const std::vector<float>& values,
               const Array& expected, double tolerance);
  /// The same without a shape.
  void compare(const std::string& what, const std::vector<float>& values,
               const std::vector<float>& expected, double tolerance);
  /// One number, |got - expected| <= tolerance * scale.
  void compare(const std::string& what, double value, double expected, double tolerance,
               double scale);

  /// Something that is not a number is wrong.
  void fail(std::string reason);
  void check(bool ok, const std::string& reason) {
    if (!ok) fail(reason);
  }
  /// A case that compares nothing must not pass.
  bool empty() const { return compared_ == 0 && failures_ == 0 && notes_.empty(); }
  /// To be printed behind the case, whatever its outcome.
  void note(std::string text);

  bool failed() const { return failures_ > 0; }
  /// In the measure above; infinite when a value is not a number.
  double largest_error() const { return largest_error_; }
  /// The first failure and the number of others.
  std::string reason() const;
  const std::string& notes() const { return notes_; }

 private:
  void mismatch(const std::string& what, std::size_t index, double value, double expected,
                double error, double tolerance);

  double largest_error_ = 0;
  int compared_ = 0, failures_ = 0;
  std::string first_failure_;
  std::string notes_;
};

}  // namespace crema::conformance
