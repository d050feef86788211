#include "commands/extract_features.h"

#include <glog/logging.h>

#include <memory>
#include <set>

#include "base/error.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/text.h"
#include "commands/load_weights.h"
#include "commands/skipped.h"
#include "data/batch_reader.h"
#include "data/database.h"
#include "net/net.h"
#include "proto/io.h"
#include "solver/solver.h"
#include "solver/whole_source.h"

namespace crema {
namespace {

/// One blob's records.
class Features {
 public:
  Features(std::string blob, const std::string& database, caffe::DataParameter::DB backend)
      : blob_(std::move(blob)), writer_(create_database(database, backend)) {}

  void add(const Net& net) {
    const Shape shape = net.shape(blob_);
    require(shape.axes() <= 4, "blob \"{}\" is {}: records hold items of at most 3 axes", blob_,
            shape.str());
    const std::vector<float> values = net.read_blob(blob_);
    const std::int64_t items = shape.legacy(0);
    const std::int64_t size = shape.legacy(1) * shape.legacy(2) * shape.legacy(3);
    caffe::Datum datum;
    datum.set_channels(static_cast<int>(shape.legacy(1)));
    datum.set_height(static_cast<int>(shape.legacy(2)));
    datum.set_width(static_cast<int>(shape.legacy(3)));
    for (std::int64_t i = 0; i < items; ++i, ++records_) {
      const auto begin = values.begin() + i * size;
      datum.mutable_float_data()->Clear();
      datum.mutable_float_data()->Add(begin, begin + size);
      writer_->put(fmt::format("{:010}", records_), datum.SerializeAsString());
    }
  }

  void finish() {
    require(records_ > 0, "blob \"{}\" had no items", blob_);
    writer_->finish();
    LOG(INFO) << "Extracted features of " << records_ << " query images for feature blob " << blob_;
  }

 private:
  std::string blob_;
  std::unique_ptr<DatabaseWriter> writer_;
  std::int64_t records_ = 0;
};

}  // namespace

int extract_features(const ExtractFeaturesOptions& options) {
  CREMA_ASSERT(options.blobs.size() == options.databases.size());
  const std::set<std::string> different(options.databases.begin(), options.databases.end());
  require(different.size() == options.databases.size(), "two blobs have the same data base");
  NetOptions net_options;
  const caffe::NetParameter definition = read_net(options.model, nullptr, {options.dialect});
  caffe::NetState state;
  state.set_phase(caffe::TEST);
  state.set_level(options.level);
  for (const std::string& stage : split(options.stages, ',')) state.add_stage(stage);
  net_options.state = merged_state(caffe::TEST, definition, state);
  net_options.keep = options.blobs;
  net_options.reading = options.reading;
  std::vector<StoredWeights> weights;
  for (const std::string& file : split(options.weights, ',')) weights.push_back(read_weights(file));
  const std::unique_ptr<Device> device = choose_device(options.device);
  log_device(*device);
  Net net(definition, *device, net_options);
  for (const StoredWeights& file : weights) load_weights(net, file);

  StopOnSignal signals;  // before there is anything to clear away
  std::vector<std::unique_ptr<Features>> features;
  for (std::size_t i = 0; i < options.blobs.size(); ++i) {
    features.push_back(
        std::make_unique<Features>(options.blobs[i], options.databases[i], options.backend));
  }
  LOG(INFO) << "Extracting Features";
  const auto extract_batch = [&] {
    net.forward();
    for (const auto& blob : features) blob->add(net);
    signals.check();
  };
  if (options.batches > 0) {
    Progress progress("batches", options.batches);
    for (int i = 0; i < options.batches; progress.update(++i)) extract_batch();
  } else {
    WholePass pass(net, "BATCHES all");
    Progress progress("records", pass.total());
    for (; pass.next(); progress.update(pass.done())) extract_batch();
  }
  for (const auto& blob : features) blob->finish();
  log_skipped(net);
  LOG(INFO) << "Successfully extracted the features!";
  return 0;
}

}  // namespace crema
