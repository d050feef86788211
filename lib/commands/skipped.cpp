#include "commands/skipped.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "data/batch_reader.h"

namespace crema {
namespace {

/// Reasons in the line; the reader keeps a few more, as the same record may come again.
constexpr std::size_t kReasons = 3;

}  // namespace

void log_skipped(const Net& net, const std::string& where) {
  for (const auto& [layer, reader] : net.readers()) {
    if (reader->skipped_count() == 0) continue;
    std::vector<std::string> reasons;
    for (const std::string& reason : reader->skipped()) {
      if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
    }
    const bool more = reasons.size() > kReasons;
    if (more) reasons.resize(kReasons);
    LOG(WARNING) << fmt::format("{}layer \"{}\": bad records left out {}: {}{}", where, layer,
                                counted(reader->skipped_count(), "time"), fmt::join(reasons, "; "),
                                more ? "; …" : "");
  }
}

}  // namespace crema
