#include "commands/extract_features.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/text.h"
#include "commands/load_weights.h"
#include "data/batch_reader.h"
#include "data/database.h"
#include "net/net.h"
#include "proto/io.h"
#include "solver/solver.h"

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

std::int64_t records_of(const Net& net) {
  const auto readers = net.readers();
  require(!readers.empty(), "to extract all records the net needs a data layer; it has none");
  return readers.front().second->records();
}

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
  const bool all = options.batches == 0;
  const std::int64_t total = all ? records_of(net) : options.batches;
  const int batch = all ? net.readers().front().second->batch_size() : 1;
  LOG(INFO) << "Extracting Features";
  {
    Progress progress(all ? "records" : "batches", total);
    for (std::int64_t done = 0; done < total;) {
      const int now = static_cast<int>(std::min<std::int64_t>(batch, total - done));
      if (all) net.set_batch(now);
      net.forward();
      for (const auto& blob : features) blob->add(net);
      done += now;
      progress.update(done);
      signals.check();
    }
  }
  for (const auto& blob : features) blob->finish();
  LOG(INFO) << "Successfully extracted the features!";
  return 0;
}

}  // namespace crema
