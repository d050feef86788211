// The passes in their order, for whoever wants a planned graph without a net that runs.
#pragma once

#include <map>
#include <string>

#include "data/reader_options.h"
#include "net/graph.h"
#include "net/passes/passes.h"

namespace crema {

/// Filter and build. Data and Input layers whose tops have a shape in `input_shapes` (the first
/// must) become Input layers of these shapes: sources are not opened; tops without one are one
/// value a record. Names that fit no layer are user errors. `reading` is for the data layers.
Graph build_graph(const caffe::NetParameter& net, const caffe::NetState& state, std::uint64_t seed,
                  const std::map<std::string, Shape>& input_shapes,
                  const ReaderOptions& reading = {});

/// infer has run: differentiate, fuse (unless every layer shall stay by itself), layout.
void plan_graph(Graph& graph, Device& device, bool backward,
                const std::map<int, Layout>& fixed_params, bool may_fuse = true);

/// All of it.
Graph compile(const caffe::NetParameter& net, const caffe::NetState& state, Device& device,
              bool backward, const std::map<std::string, Shape>& input_shapes);

}  // namespace crema
