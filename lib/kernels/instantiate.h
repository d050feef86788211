// The types that loops are compiled for.
#pragma once

/// `macro` for float, with which nets run, and for double, for tests by finite differences.
#define CREMA_FLOAT_AND_DOUBLE(macro) \
  macro(float);                       \
  macro(double)
