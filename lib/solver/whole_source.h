// Going over the source of a net exactly once: every record, the last short batch included.
#pragma once

#include <cstdint>
#include <string>

#include "caffe.pb.h"
#include "net/net.h"

namespace crema {

/// Which field of a solver makes its tests go over their sources whole, for messages: "test_all",
/// or "test_epochs without test_iter"; "" when they take test_iter batches.
std::string tests_whole_sources(const caffe::SolverParameter& solver);

/// The source that all data layers of a net read, when each record shall be read once.
struct WholeSource {
  std::int64_t records = 0;
  int batch = 0;
};
/// `who` asks for it ("--all"). An error where there is no data layer, several do not agree, or one
/// draws its records at random.
WholeSource whole_source(const Net& net, const std::string& who);

/// One pass over it:
///
///   for (WholePass pass(net, "--all"); pass.next();) { net.forward(); … pass.counted() … }
///
/// begins with an epoch, wherever the net was before. Afterwards the net has its own batch size
/// again.
class WholePass {
 public:
  WholePass(Net& net, const std::string& who);
  ~WholePass();
  WholePass(const WholePass&) = delete;
  WholePass& operator=(const WholePass&) = delete;

  /// Makes the net ready for the next batch; false after the last one.
  bool next();
  /// Of this batch.
  int records() const { return records_; }
  /// After forward(): those that were read. The others are broken and were left out.
  int counted() const;
  /// So far, those of this batch included, and of the source.
  std::int64_t done() const { return done_; }
  std::int64_t total() const { return source_.records; }

 private:
  Net& net_;
  WholeSource source_;
  std::int64_t done_ = 0;
  int records_ = 0;
};

}  // namespace crema
