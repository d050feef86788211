// Does a source fit a net? What would go wrong in a training, said before it.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "data/record_stats.h"
#include "data/record_stream.h"
#include "report/records_report.h"

namespace crema {

/// The data layers of a filtered net that read this source, or, where none names it, all data
/// layers.
struct DataLayers {
  std::vector<caffe::LayerParameter> layers;
  bool named = false;  ///< they name the source
};
DataLayers data_layers_of(const caffe::NetParameter& net, const caffe::NetState& state,
                          const std::string& source);

/// One line for each thing that fits or does not: kind of source, transformation, labels, batch,
/// then the net behind the layer, whose losses and accuracies must have the labels' classes. Other
/// data layers of the net are opened as in a training.
std::vector<Remark> fit_data(const RecordStream& stream, const RecordStats& stats,
                             const caffe::LayerParameter& layer, const caffe::NetParameter& net,
                             const caffe::NetState& state);

}  // namespace crema
