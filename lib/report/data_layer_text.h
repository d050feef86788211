// The lines of a prototxt that read a source.
#pragma once

#include <string>

#include "data/record_stats.h"
#include "data/record_stream.h"

namespace crema {

/// A data layer for the source, to be pasted into a net, with comments where something has to be
/// chosen. "" where nothing in it can be read.
std::string data_layer_text(const RecordStream& stream, const RecordStreamOptions& options,
                            const RecordStats& stats);

}  // namespace crema
