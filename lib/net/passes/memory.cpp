// Liveness, then one arena.
//
// Time runs through forward (node n at n) and on through backward (node n at 2N-1-n). Something
// lives from the step that writes it to the last that reads it; two things that never live at once
// may lie in the same place. Values that are views of each other, or overwritten in place, are one
// thing.
#include <algorithm>
#include <numeric>

#include "net/passes/passes.h"

namespace crema {
namespace {

constexpr std::size_t kAlignment = 64;

struct Life {
  int first = 0, last = -1;
  std::size_t bytes = 0;
  std::size_t offset = MemoryPlan::kNowhere;

  bool overlaps(const Life& other) const { return first <= other.last && other.first <= last; }
};

std::size_t bytes_of(const Value& value) {
  return static_cast<std::size_t>(value.layout.elements(value.shape)) * sizeof(float);
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<OpMemory>& ops, bool backward, bool expose)
      : graph_(graph),
        ops_(ops),
        backward_(backward),
        expose_(expose),
        count_(static_cast<int>(graph.nodes.size())),
        end_(2 * count_) {}

  MemoryPlan run() {
    const std::size_t values = graph_.values.size(), nodes = graph_.nodes.size();
    plan_.data.assign(values, MemoryPlan::kNowhere);
    plan_.gradient.assign(values, MemoryPlan::kNowhere);
    plan_.workspace.assign(nodes, MemoryPlan::kNowhere);
    plan_.scratch.assign(nodes, MemoryPlan::kNowhere);
    plan_.persistent.assign(values, -1);
    plan_.forward_is_view.assign(nodes, 0);
    plan_.backward_is_view.assign(nodes, 0);
    plan_data();
    if (backward_) plan_gradients();
    plan_op_memory();
    place();
    return std::move(plan_);
  }

 private:
  const Value& value(int index) const { return graph_.values[static_cast<std::size_t>(index)]; }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  int backward_time(int node_index) const { return end_ - 1 - node_index; }

  int new_life(int first, int last, std::size_t bytes) {
    lives_.push_back(
        {first, last, (bytes + kAlignment - 1) / kAlignment * kAlignment, MemoryPlan::kNowhere});
    plan_.bytes_without_sharing += lives_.back().bytes;
    return static_cast<int>(lives_.size()) - 1;
  }
  Life& life(int index) { return lives_[static_cast<std::size_t>(index)]; }

  /// The last step that reads the data of a value.
  int last_read(int index) const {
    const Value& v = value(index);
    if (v.keep || v.loss_weight != 0) return end_;
    int last = v.producer;
    const Node& producer = node(v.producer);
    if (producer.backward &&
        (producer.layer->backward_reads_top(v.producer_top) || producer.fused_relu)) {
      last = std::max(last, backward_time(v.producer));
    }
    if (v.consumer >= 0) {
      last = std::max(last, v.consumer);
      const Node& consumer = node(v.consumer);
      if (consumer.backward && consumer.layer->backward_reads_bottom(v.consumer_bottom)) {
        last = std::max(last, backward_time(v.consumer));
      }
    }
    return last;
  }

  void plan_data() {
    data_life_.assign(graph_.values.size(), -1);
    for (int n = 0; n < count_; ++n) {
      const Node& current = node(n);
      if (current.fused_away) continue;
      for (std::size_t t = 0; t < current.tops.size(); ++t) {
        const int top = current.tops[t];
        if (current.layer->tops_persist()) {
          plan_.persistent[static_cast<std::size_t>(top)] = top;
          plan_.bytes_without_sharing += bytes_of(value(top));
          continue;
        }
        if (current.layer->is_view(static_cast<int>(t)) && view_of_persistent(n, current, top))
          continue;
        const int last = last_read(top);
        int shared = -1;
        if (!current.bottoms.empty()) {
          const int bottom = current.bottoms[0];
          if (current.layer->is_view(static_cast<int>(t))) {
            shared = view_of(n, bottom, top);
          } else if (t == 0 && current.layer->forward_in_place()) {
            shared = in_place_of(n, current, top);
          }
        }
        if (shared < 0) {
          shared = new_life(n, last, bytes_of(value(top)));
        } else {
          life(shared).last = std::max(life(shared).last, last);
          plan_.bytes_without_sharing += bytes_of(value(top));
        }
        data_life_[static_cast<std::size_t>(top)] = shared;
      }
    }
  }

  /// Nobody overwrites what persists, so its views are as safe as it is.
  bool view_of_persistent(int n, const Node& current, int top) {
    const int root = plan_.persistent[static_cast<std::size_t>(current.bottoms[0])];
    if (root < 0) return false;
    plan_.persistent[static_cast<std::size_t>(top)] = root;
    plan_.forward_is_view[static_cast<std::size_t>(n)] = 1;
    return true;
  }

  int view_of(int n, int bottom, int top) {
    const auto from = static_cast<std::size_t>(bottom);
    if (bytes_of(value(bottom)) != bytes_of(value(top))) return -1;
    plan_.forward_is_view[static_cast<std::size_t>(n)] = 1;
    return data_life_[from];
  }

  int in_place_of(int n, const Node& current, int top) {
    const auto from = static_cast<std::size_t>(current.bottoms[0]);
    const Value& b = value(current.bottoms[0]);
    const Value& t = value(top);
    if (plan_.persistent[from] >= 0 || !(b.shape == t.shape) || !(b.layout == t.layout)) return -1;
    // Somebody, perhaps through a view, still wants what is there.
    if (life(data_life_[from]).last > n) return -1;
    // So does the op itself where another bottom is a view of the same.
    for (std::size_t i = 1; i < current.bottoms.size(); ++i) {
      if (data_life_[static_cast<std::size_t>(current.bottoms[i])] == data_life_[from]) return -1;
    }
    return data_life_[from];
  }

  void plan_gradients() {
    gradient_life_.assign(graph_.values.size(), -1);
    // In the order of backward: a value's gradient is written by its consumer, before its producer
    // reads it.
    for (int n = count_ - 1; n >= 0; --n) {
      const Node& current = node(n);
      if (current.fused_away) continue;
      const int now = backward_time(n);
      for (const int top : current.tops) {
        // Not written by a consumer: a loss weight, filled in just before; or the user's.
        const auto index = static_cast<std::size_t>(top);
        if (gradient_life_[index] >= 0 || !current.backward) continue;
        if (value(top).loss_weight != 0 || expose_) {
          gradient_life_[index] =
              new_life(expose_ ? -1 : now, expose_ ? end_ + 1 : now, bytes_of(value(top)));
        }
      }
      if (!current.backward) continue;
      for (std::size_t i = 0; i < current.bottoms.size(); ++i) {
        if (!current.bottom_gradients[i]) continue;
        const int bottom = current.bottoms[i];
        const int last = std::max(now, backward_time(value(bottom).producer));
        int shared = -1;
        if (i == 0 && !expose_ && !current.tops.empty()) shared = shared_gradient(n, bottom);
        if (shared < 0) {
          shared = new_life(expose_ ? -1 : now, expose_ ? end_ + 1 : last, bytes_of(value(bottom)));
        } else {
          life(shared).last = std::max(life(shared).last, last);
          plan_.bytes_without_sharing += bytes_of(value(bottom));
        }
        gradient_life_[static_cast<std::size_t>(bottom)] = shared;
      }
    }
  }

  int shared_gradient(int n, int bottom) {
    const Node& current = node(n);
    const int top = current.tops[0];
    const int from = gradient_life_[static_cast<std::size_t>(top)];
    if (from < 0 || bytes_of(value(bottom)) != bytes_of(value(top))) return -1;
    if (current.layer->is_gradient_view()) {
      plan_.backward_is_view[static_cast<std::size_t>(n)] = 1;
      return from;
    }
    const bool alike =
        value(bottom).shape == value(top).shape && value(bottom).layout == value(top).layout;
    return current.layer->backward_in_place() && alike ? from : -1;
  }

  void plan_op_memory() {
    for (int n = 0; n < count_; ++n) {
      const auto index = static_cast<std::size_t>(n);
      const bool trains = node(n).backward;
      workspace_life_.push_back(-1);
      scratch_life_.push_back(-1);
      if (ops_[index].workspace > 0) {
        workspace_life_[index] = new_life(n, trains ? backward_time(n) : n, ops_[index].workspace);
      }
      if (ops_[index].scratch > 0) {
        scratch_life_[index] = new_life(n, n, ops_[index].scratch);
        // The same place serves backward, whose scratch lives apart from it in time.
        if (trains) {
          backward_scratch_.push_back(
              {n, new_life(backward_time(n), backward_time(n), ops_[index].scratch)});
        }
      }
    }
  }

  void place() {
    std::vector<int> order(lives_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return life(a).bytes > life(b).bytes; });
    std::vector<int> placed;
    for (const int index : order) {
      life(index).offset = lowest_free(life(index), placed);
      placed.push_back(index);
      plan_.arena_bytes = std::max(plan_.arena_bytes, life(index).offset + life(index).bytes);
    }
    const auto offsets = [&](const std::vector<int>& lives, std::vector<std::size_t>& target) {
      for (std::size_t i = 0; i < lives.size(); ++i) {
        if (lives[i] >= 0) target[i] = life(lives[i]).offset;
      }
    };
    offsets(data_life_, plan_.data);
    if (backward_) offsets(gradient_life_, plan_.gradient);
    offsets(workspace_life_, plan_.workspace);
    offsets(scratch_life_, plan_.scratch);
    plan_.backward_scratch = plan_.scratch;
    for (const auto& [n, index] : backward_scratch_) {
      plan_.backward_scratch[static_cast<std::size_t>(n)] = life(index).offset;
    }
  }

  std::size_t lowest_free(const Life& wanted, const std::vector<int>& placed) {
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (const int index : placed) {
      const Life& other = life(index);
      if (other.overlaps(wanted) && other.bytes > 0) {
        taken.emplace_back(other.offset, other.offset + other.bytes);
      }
    }
    std::sort(taken.begin(), taken.end());
    std::size_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + wanted.bytes <= begin) break;
      offset = std::max(offset, end);
    }
    return offset;
  }

  const Graph& graph_;
  const std::vector<OpMemory>& ops_;
  bool backward_, expose_;
  int count_, end_;
  MemoryPlan plan_;
  std::vector<Life> lives_;
  std::vector<int> data_life_, gradient_life_, workspace_life_, scratch_life_;
  std::vector<std::pair<int, int>> backward_scratch_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const std::vector<OpMemory>& ops, bool backward,
                       bool expose_gradients) {
  return Planner(graph, ops, backward, expose_gradients).run();
}

}  // namespace crema
