#include "commands/load_weights.h"

#include <glog/logging.h>

#include "base/error.h"
#include "solver/health.h"

namespace crema {

void load_weights(Net& net, const StoredWeights& weights) {
  const Net::LoadReport report = net.load(weights);
  LOG(INFO) << "Weights of " << report.copied.size() << " layers from " << weights.file;
  require(report.missing.empty() || !report.copied.empty(),
          "{}: nothing fits net \"{}\": no layer name is in both", weights.file, net.name());
  LOG_IF(WARNING, !report.missing.empty())
      << weights.file
      << " has no weights for: " << fmt::format("{}", fmt::join(report.missing, " "));
  const std::string bad = non_finite_blob(weights, &net);
  LOG_IF(WARNING, !bad.empty()) << weights.file << ": " << bad;
}

}  // namespace crema
