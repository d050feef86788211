// A loop that is missing from the plugin, or has another type there, is our own mistake: the two
// compilations of one file disagree. Hence internal errors.
#include "kernels/loop_registry.h"

#include "base/error.h"

namespace crema {

LoopTable::Function LoopTable::find_erased(const std::string& name, const char* type,
                                           const Device& device) const {
  const auto found = loops_.find(name);
  if (found == loops_.end()) {
    throw Error(ErrorKind::kInternal, fmt::format("{} has no loop \"{}\"", device.name(), name));
  }
  CREMA_ASSERT(found->second.first == type);
  return found->second.second;
}

std::vector<std::string> LoopTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, loop] : loops_) names.push_back(name);
  return names;
}

}  // namespace crema
