// How many threads this process should use when nobody says.
#pragma once

#include <string>

namespace crema {

/// What OMP_NUM_THREADS asks for ("4", or "4,2": the outermost level); 0 when it says nothing of
/// use. `text` may be null.
int threads_of_variable(const char* text);

/// The whole cores that a control group's quota pays for, rounded up: at least 1; 0 when there is
/// no limit. `quota` and `period` in microseconds as the kernel writes them ("max" and "-1" mean no
/// limit).
int threads_of_quota(const std::string& quota, const std::string& period);

/// OMP_NUM_THREADS if set, else the cores that affinity and the control group leave.
int default_threads();

}  // namespace crema
