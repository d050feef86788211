// The corpus' weights and inputs for whole nets, which are computed rather than stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace crema::conformance {

/// A parameter by its rule: weight, bias, gamma, bn_mean, bn_var, one.
std::vector<float> param_values(const std::string& rule, std::uint64_t seed, const Shape& shape);
/// An input by its rule: `signal A`, `labels K`, `cont`.
std::vector<float> input_values(const std::string& rule, std::uint64_t seed, const Shape& shape);

}  // namespace crema::conformance
