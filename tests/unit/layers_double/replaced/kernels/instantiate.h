// In place of lib/kernels/instantiate.h: both are one here.
#pragma once

#define CREMA_FLOAT_AND_DOUBLE(macro) macro(double)
