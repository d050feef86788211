#include "commands/describe_data.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/text.h"
#include "commands/data_fit.h"
#include "data/record_stats.h"
#include "proto/io.h"
#include "report/data_layer_text.h"
#include "report/records_report.h"
#include "solver/solver.h"

namespace crema {
namespace {

RecordStats measure(RecordStream* stream, const DescribeDataOptions& options) {
  Progress progress("describe-data", stream->total().value_or(0));
  StopOnSignal signals;
  RecordStatsOptions measuring;
  measuring.threads = options.threads;
  measuring.sample = options.sample;
  measuring.progress = [&](std::int64_t done) {
    progress.update(done);
    signals.check();
  };
  return measure_records(stream, measuring);
}

bool any_wrong(const std::vector<Remark>& remarks) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [](const Remark& remark) { return remark.level == Remark::Level::kWrong; });
}

/// The data layers of a phase against the source.
class NetFit {
 public:
  NetFit(const DescribeDataOptions& options, const caffe::NetParameter& net,
         const RecordStream& stream, const RecordStats& stats)
      : options_(options), net_(net), stream_(stream), stats_(stats) {}

  /// Prints; false when something does not fit.
  bool print_all() const {
    std::vector<caffe::Phase> phases;
    if (options_.phase) {
      phases.push_back(*options_.phase);
    } else {
      for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST}) {
        if (data_layers_of(net_, state(phase), stream_.path()).named) phases.push_back(phase);
      }
      if (phases.empty()) phases.push_back(caffe::TRAIN);
    }
    bool good = true;
    for (const caffe::Phase phase : phases) good &= print_phase(phase);
    return good;
  }

 private:
  caffe::NetState state(caffe::Phase phase) const {
    caffe::NetState own;
    own.set_phase(phase);
    own.set_level(options_.level);
    for (const std::string& stage : split(options_.stages, ',')) own.add_stage(stage);
    return merged_state(phase, net_, own);
  }

  bool print_phase(caffe::Phase phase) const {
    const caffe::NetState at = state(phase);
    const DataLayers found = data_layers_of(net_, at, stream_.path());
    if (found.layers.empty()) {
      print(fmt::format("\n{} has no Data, ImageData or HDF5Data layer in phase {}\n",
                        options_.model, caffe::Phase_Name(phase)));
      return false;
    }
    bool good = true;
    for (const caffe::LayerParameter& layer : found.layers) {
      const std::vector<Remark> remarks = fit_data(stream_, stats_, layer, net_, at);
      print(fmt::format("\n{}, phase {}{}:\n{}", describe_layer(layer), caffe::Phase_Name(phase),
                        found.named ? "" : ", if it read this source", remark_lines(remarks)));
      good &= !any_wrong(remarks);
    }
    return good;
  }

  const DescribeDataOptions& options_;
  const caffe::NetParameter& net_;
  const RecordStream& stream_;
  const RecordStats& stats_;
};

}  // namespace

int describe_data(const DescribeDataOptions& options) {
  caffe::NetParameter net;  // first: its errors cost no time
  if (!options.model.empty()) net = read_net(options.model, nullptr, {options.dialect});
  const auto stream = open_records(options.source, options.reading);
  const RecordStats stats = measure(stream.get(), options);
  print(records_table(*stream, stats));
  const std::vector<Remark> remarks = remarks_on(*stream, stats);
  if (!remarks.empty()) print(fmt::format("\n{}", remark_lines(remarks)));
  bool good = !any_wrong(remarks);
  if (!options.model.empty()) good &= NetFit(options, net, *stream, stats).print_all();
  const std::string layer = data_layer_text(*stream, options.reading, stats);
  if (!layer.empty()) print(fmt::format("\nA layer that reads it:\n\n{}", layer));
  return good ? 0 : 1;
}

}  // namespace crema
