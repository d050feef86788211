// Training on one device: Caffe's iteration, test nets, snapshots.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/signals.h"
#include "caffe.pb.h"
#include "net/net.h"
#include "proto/io.h"
#include "solver/events.h"
#include "solver/update_rule.h"

namespace crema {

struct SolverOptions {
  /// Called after each iteration and test batch; null: nobody can stop the run.
  SignalWatch* signals = nullptr;
  std::vector<TrainingListener*> listeners;
  /// Solver states to go on from: the first that can be used.
  std::vector<std::string> snapshots;
  /// Weight files to start from in place of the solver's own, separated by commas, or "". A
  /// snapshot replaces both.
  std::string weights;
  Dialect dialect = Dialect::kDetect;  ///< of the solver's nets
};

class Solver {
 public:
  /// `solver` as read_solver gives it. Builds the train net and the test nets and checks all that
  /// can be wrong before training starts: the rate policy, the rule, the folder for snapshots.
  Solver(const caffe::SolverParameter& solver, Device& device, const SolverOptions& options);

  /// Iterations until max_iter, then the last snapshot, display and tests, as Caffe. False when a
  /// signal stopped it.
  bool solve();
  /// At most `count` iterations. False when a signal stopped it.
  bool step(int count);
  void snapshot();

  int iteration() const { return iteration_; }
  void add_listener(TrainingListener* listener) { options_.listeners.push_back(listener); }
  Net& net() { return *net_; }
  Net& test_net(int index) { return *test_nets_[static_cast<std::size_t>(index)]; }
  int test_nets() const { return static_cast<int>(test_nets_.size()); }

 private:
  void build_nets();
  void load_initial_weights();
  void load_weights(const std::string& files, const std::string& position);
  /// The first state from `index` on that can be read; false when none was given.
  bool read_next_state(std::size_t* index, caffe::SolverState* state) const;
  /// Goes on from this snapshot, or the next one that can be used.
  void restore_from(std::size_t index, caffe::SolverState state);
  void restore(const std::string& state_file, const caffe::SolverState& state);
  float forward_backward();
  void note_loss(float loss);
  float smoothed_loss() const;
  void display(bool final);
  float update();
  float clip_scale() const;
  /// False when a signal stopped it.
  bool test_all();
  bool test(int index);
  SignalAction poll() const;
  std::vector<OutputValue> outputs(const Net& net) const;
  double seconds_waiting() const;
  void store_training_state(caffe::CremaTrainingState* state) const;
  void restore_training_state(const caffe::CremaTrainingState& state);

  caffe::SolverParameter param_;
  Device& device_;
  SolverOptions options_;
  std::uint64_t seed_;
  std::unique_ptr<Net> net_;
  std::vector<std::unique_ptr<Net>> test_nets_;
  std::unique_ptr<UpdateRule> rule_;
  Buffer history_buffer_;
  std::vector<std::vector<Tensor>> history_;  // by parameter, then history
  int iteration_ = 0;
  int current_step_ = 0;
  std::deque<float> losses_;  // the last average_loss
  bool stop_requested_ = false;
  bool snapshot_requested_ = false;
  int displayed_iteration_ = 0;
  double displayed_at_ = 0, displayed_waiting_ = 0;
};

/// The state that a net of a solver is built with: defaults by phase, the net's own, then the
/// solver's over it.
caffe::NetState merged_state(caffe::Phase phase, const caffe::NetParameter& net,
                             const caffe::NetState& own);

struct SolverNet {
  caffe::NetParameter net;
  caffe::NetState state;
};
/// The train net that a solver names (exactly one of net, net_param, train_net, train_net_param).
SolverNet solver_train_net(const caffe::SolverParameter& solver,
                           Dialect dialect = Dialect::kDetect);
/// Its test nets, in Caffe's order: test_net_param, test_net, then net or net_param for what is
/// left of test_iter. With options.quiet there is no warning about the fields of net, which the
/// train net's reading has given.
std::vector<SolverNet> solver_test_nets(const caffe::SolverParameter& solver,
                                        const ReadOptions& options = {});

}  // namespace crema
