// A memory plan put to the proof: forward and backward are played through with a mark in every 64
// bytes that says what was written there last. What is read must carry its own mark.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "net/passes/passes.h"

namespace crema::testing {

class MemoryPlay {
 public:
  MemoryPlay(const Graph& graph, const MemoryPlan& plan, const std::vector<OpMemory>& ops)
      : graph_(graph),
        plan_(plan),
        ops_(ops),
        cells_(plan.arena_bytes / 64 + 1, -1),
        data_mark_(graph.values.size()),
        gradient_mark_(graph.values.size(), -1) {}

  /// "" or the first thing that went wrong.
  std::string run(bool backward) {
    const int nodes = static_cast<int>(graph_.nodes.size());
    for (int n = 0; n < nodes && trouble_.empty(); ++n) forward(n);
    check_kept("after forward");
    for (int n = nodes - 1; backward && n >= 0 && trouble_.empty(); --n) backward_step(n);
    check_kept("after backward");
    return trouble_;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const Value& value(int index) const { return graph_.values[at(index)]; }
  std::size_t bytes(int index) const {
    return static_cast<std::size_t>(value(index).layout.elements(value(index).shape)) *
           sizeof(float);
  }

  void mark(std::size_t offset, std::size_t size, int name, const std::string& what) {
    if (offset == MemoryPlan::kNowhere || size == 0) return;
    if (offset + size > plan_.arena_bytes) complain(what + " reaches past the arena");
    for (std::size_t i = offset / 64; i * 64 < offset + size && i < cells_.size(); ++i) {
      cells_[i] = name;
    }
  }
  void check(std::size_t offset, std::size_t size, int name, const std::string& what) {
    if (offset == MemoryPlan::kNowhere || size == 0) return;
    for (std::size_t i = offset / 64; i * 64 < offset + size && i < cells_.size(); ++i) {
      if (cells_[i] != name) return complain(what + " was overwritten");
    }
  }
  void complain(const std::string& text) {
    if (trouble_.empty()) trouble_ = text;
  }
  void check_data(int index, const std::string& when) {
    if (plan_.persistent[at(index)] >= 0) return;
    if (plan_.data[at(index)] == MemoryPlan::kNowhere) {
      return complain(fmt::format("value {} has no place", index));
    }
    check(plan_.data[at(index)], bytes(index), data_mark_[at(index)],
          fmt::format("value {} (\"{}\") {}", index, value(index).blob, when));
  }
  void check_gradient(int index, const std::string& when) {
    if (plan_.gradient[at(index)] == MemoryPlan::kNowhere) {
      return complain(fmt::format("the gradient of value {} has no place", index));
    }
    check(plan_.gradient[at(index)], bytes(index), gradient_mark_[at(index)],
          fmt::format("the gradient of value {} (\"{}\") {}", index, value(index).blob, when));
  }

  void check_kept(const std::string& when) {
    for (int i = 0; i < static_cast<int>(graph_.values.size()); ++i) {
      if ((value(i).keep || value(i).loss_weight != 0) && value(i).producer >= 0) {
        check_data(i, when);
      }
    }
  }

  void forward(int n) {
    const Node& node = graph_.nodes[at(n)];
    if (node.fused_away) return;
    const std::string when = "while " + node.name() + " runs forward";
    for (const int bottom : node.bottoms) check_data(bottom, when + " (before)");
    mark(plan_.scratch[at(n)], ops_[at(n)].scratch, next_, "scratch");
    const int scratch = next_++;
    mark(plan_.workspace[at(n)], ops_[at(n)].workspace, next_, "workspace");
    workspace_mark_.resize(graph_.nodes.size());
    workspace_mark_[at(n)] = next_++;
    bool in_place = false;
    for (std::size_t t = 0; t < node.tops.size(); ++t) {
      const int top = node.tops[t];
      if (plan_.forward_is_view[at(n)]) {
        const int bottom = node.bottoms[0];
        if (plan_.persistent[at(top)] != plan_.persistent[at(bottom)] ||
            plan_.data[at(top)] != plan_.data[at(bottom)] ||
            !node.layer->is_view(static_cast<int>(t))) {
          complain("a view lies elsewhere");
        }
        data_mark_[at(top)] = data_mark_[at(bottom)];
        continue;
      }
      data_mark_[at(top)] = next_++;
      if (plan_.persistent[at(top)] >= 0) continue;
      in_place |= t == 0 && !node.bottoms.empty() && node.layer->forward_in_place() &&
                  plan_.persistent[at(node.bottoms[0])] < 0 &&
                  plan_.data[at(top)] == plan_.data[at(node.bottoms[0])] &&
                  value(top).layout == value(node.bottoms[0]).layout;
      mark(plan_.data[at(top)], bytes(top), data_mark_[at(top)], "a top");
    }
    for (std::size_t b = 0; b < node.bottoms.size(); ++b) {
      if (!(in_place && b == 0)) check_data(node.bottoms[b], when);
    }
    for (const int top : node.tops) check_data(top, when);
    check(plan_.scratch[at(n)], ops_[at(n)].scratch, scratch, "scratch " + when);
    check(plan_.workspace[at(n)], ops_[at(n)].workspace, workspace_mark_[at(n)],
          "workspace " + when);
  }

  void backward_step(int n) {
    const Node& node = graph_.nodes[at(n)];
    if (!node.backward) return;
    const std::string when = "while " + node.name() + " runs backward";
    std::vector<int> arriving;
    for (const int top : node.tops) {
      if (value(top).gradient) {
        arriving.push_back(top);
      } else if (value(top).loss_weight != 0) {
        arriving.push_back(top);
        gradient_mark_[at(top)] = next_++;
        mark(plan_.gradient[at(top)], bytes(top), gradient_mark_[at(top)], "a loss");
      }
    }
    for (const int top : arriving) check_gradient(top, when + " (before)");
    mark(plan_.backward_scratch[at(n)], ops_[at(n)].scratch, next_, "scratch");
    const int scratch = next_++;
    bool in_place = false;
    for (std::size_t b = 0; b < node.bottoms.size(); ++b) {
      if (!node.bottom_gradients[b]) continue;
      const int bottom = node.bottoms[b];
      if (plan_.backward_is_view[at(n)]) {
        if (plan_.gradient[at(bottom)] != plan_.gradient[at(node.tops[0])] ||
            !node.layer->is_gradient_view()) {
          complain("a gradient's view lies elsewhere");
        }
        gradient_mark_[at(bottom)] = gradient_mark_[at(node.tops[0])];
        continue;
      }
      gradient_mark_[at(bottom)] = next_++;
      in_place |= b == 0 && node.layer->backward_in_place() && !node.tops.empty() &&
                  plan_.gradient[at(bottom)] == plan_.gradient[at(node.tops[0])];
      mark(plan_.gradient[at(bottom)], bytes(bottom), gradient_mark_[at(bottom)], "a gradient");
    }
    for (const int top : arriving) {
      if (!(in_place && top == node.tops[0])) check_gradient(top, when);
    }
    for (std::size_t b = 0; b < node.bottoms.size(); ++b) {
      if (node.bottom_gradients[b]) check_gradient(node.bottoms[b], when);
      if (node.layer->backward_reads_bottom(static_cast<int>(b))) {
        check_data(node.bottoms[b], when);
      }
    }
    for (std::size_t t = 0; t < node.tops.size(); ++t) {
      if (node.layer->backward_reads_top(static_cast<int>(t)) || node.fused_relu) {
        check_data(node.tops[t], when);
      }
    }
    check(plan_.backward_scratch[at(n)], ops_[at(n)].scratch, scratch, "scratch " + when);
    check(plan_.workspace[at(n)], ops_[at(n)].workspace, workspace_mark_[at(n)],
          "workspace " + when);
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  const std::vector<OpMemory>& ops_;
  std::vector<int> cells_;
  std::vector<int> data_mark_, gradient_mark_, workspace_mark_;
  int next_ = 0;
  std::string trouble_;
};

inline std::string memory_conflict(const Graph& graph, const MemoryPlan& plan,
                                   const std::vector<OpMemory>& ops, bool backward) {
  return MemoryPlay(graph, plan, ops).run(backward);
}

}  // namespace crema::testing
