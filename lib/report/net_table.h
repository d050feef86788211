// A planned net as a table for people.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/executor.h"
#include "net/graph.h"
#include "net/passes/passes.h"

namespace crema {

/// Layers with shapes, parameters, multiply-adds and bytes, then totals.
std::string net_table(const Graph& graph, const MemoryPlan& memory, bool backward);

/// For each layer: engine, layouts of bottoms, tops and parameters, who declined and why; the
/// reorders.
std::string net_engines(const Graph& graph, const std::vector<std::unique_ptr<Op>>& ops);

/// Rows of text in columns, the first `left` ones flush left, the others right. A row is one line,
/// whatever is in its cells.
std::string align_columns(std::vector<std::vector<std::string>> rows, std::size_t left);

}  // namespace crema
