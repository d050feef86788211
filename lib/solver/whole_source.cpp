#include "solver/whole_source.h"

#include <algorithm>

#include "base/error.h"
#include "data/batch_reader.h"

namespace crema {

std::string tests_whole_sources(const caffe::SolverParameter& solver) {
  if (solver.test_all()) return "test_all";
  const bool no_count = solver.has_test_epochs() && solver.test_iter_size() == 0;
  return no_count ? "test_epochs without test_iter" : "";
}

WholeSource whole_source(const Net& net, const std::string& who) {
  const auto readers = net.readers();
  require(!readers.empty(), "{} needs a net with a data layer; this one has none", who);
  for (const Node& node : net.graph().nodes) {
    require(
        node.type() != "WindowData",
        "{}: layer \"{}\" (WindowData) draws its windows at random, so it cannot give each once",
        who, node.name());
  }
  const auto& [name, first] = readers.front();
  for (const auto& [layer, reader] : readers) {
    require(reader->records() == first->records() && reader->batch_size() == first->batch_size(),
            "{}: layers \"{}\" and \"{}\" read {} and {} records in batches of {} and {}; they "
            "must agree",
            who, name, layer, first->records(), reader->records(), first->batch_size(),
            reader->batch_size());
  }
  return {first->records(), first->batch_size()};
}

WholePass::WholePass(Net& net, const std::string& who)
    : net_(net), source_(whole_source(net, who)) {
  const auto records = static_cast<std::uint64_t>(source_.records);
  for (const auto& [layer, reader] : net.readers()) {
    const std::uint64_t into_epoch = reader->position() % records;
    if (into_epoch > 0) reader->seek(reader->position() - into_epoch + records);
  }
}

WholePass::~WholePass() {
  if (records_ == 0) return;
  try {
    net_.set_batch(0);
  } catch (...) {  // Whoever leaves in the middle has a worse error already.
  }
}

int WholePass::counted() const { return net_.readers().front().second->items(); }

bool WholePass::next() {
  while (done_ < source_.records) {
    records_ = static_cast<int>(std::min<std::int64_t>(source_.batch, source_.records - done_));
    net_.set_batch(records_);
    done_ += records_;
    BatchReader& reader = *net_.readers().front().second;
    reader.follow_shapes();
    if (reader.items() > 0) return true;
    reader.pass_over();  // and not to the next epoch, as the net would
  }
  net_.set_batch(0);
  records_ = 0;
  return false;
}

}  // namespace crema
