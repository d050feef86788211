// What a solver keeps between processes: snapshots, and how a run goes on from one.
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/batch_reader.h"
#include "net/param_store.h"
#include "proto/blobs.h"
#include "proto/solver_state.h"
#include "solver/solver.h"

namespace crema {
namespace {

std::string label_of(int net) { return net < 0 ? "train" : fmt::format("test {}", net); }

}  // namespace

void Solver::snapshot() {
  if (!options_.keep_going && !parameters_finite(*net_)) {
    const NonFinite first = find_non_finite(*net_, *mark_, 0);
    fail_unhealthy(
        fmt::format("iteration {}: there is a NaN or an infinity in {}, so no snapshot is "
                    "made. {}",
                    iteration_, first.where, advice(first, iteration_, param_.base_lr())));
  }
  const SnapshotFiles files =
      snapshot_files(param_.snapshot_prefix(), iteration_, snapshot_format(param_));
  write_snapshot(files, training_state());
  // Broken weights must not push out good ones.
  if (options_.keep_going && !parameters_finite(*net_)) return;
  last_snapshot_ = files.state;
  if (param_.snapshot_keep_last() > 0) {
    delete_old_snapshots(param_.snapshot_prefix(), iteration_, param_.snapshot_keep_last());
  }
}

void Solver::write_snapshot(const SnapshotFiles& files, const caffe::CremaTrainingState& training) {
  const WeightFormat format = snapshot_format(param_);
  // Weights first: a state is only there when its weights are.
  write_weights(net_->to_proto(param_.snapshot_diff(), format == WeightFormat::kHdf5),
                files.weights, format);
  caffe::SolverState state;
  state.set_iter(iteration_);
  state.set_learned_net(files.weights);
  state.set_current_step(rate_state_.current_step);
  for (int h = 0; h < rule_->histories(); ++h) {
    for (const std::vector<Tensor>& histories : history_) {
      const Tensor& history = histories[static_cast<std::size_t>(h)];
      to_proto(history.shape(), read_plain(history).data(), state.add_history());
    }
  }
  *state.mutable_crema_training() = training;
  write_solver_state(state, files.state, format);
  for (TrainingListener* listener : options_.listeners) {
    listener->on_snapshot(files.weights, files.state);
  }
}

bool Solver::read_next_state(std::size_t* index, caffe::SolverState* state) const {
  for (; *index < options_.snapshots.size(); ++*index) {
    try {
      *state = read_solver_state(options_.snapshots[*index]);
      return true;
    } catch (const Error& error) {
      if (*index + 1 == options_.snapshots.size()) throw;
      warn_passed_over(error);
    }
  }
  return false;
}

void Solver::restore_from(std::size_t index, caffe::SolverState state) {
  for (;;) {
    try {
      restore(options_.snapshots[index], state);
      return;
    } catch (const Error& error) {
      if (index + 1 == options_.snapshots.size()) throw;
      warn_passed_over(error);
    }
    ++index;
    read_next_state(&index, &state);
  }
}

void Solver::restore(const std::string& state_file, const caffe::SolverState& state) {
  const std::string weights_file = weights_of_state(state, state_file);
  const StoredWeights weights = read_weights(weights_file);
  const auto history_of = [&](int i) -> const Tensor& {
    const auto index = static_cast<std::size_t>(i);
    return history_[index % history_.size()][index / history_.size()];
  };
  // All is checked before anything is changed.
  with_context(state_file, [&] {
    const caffe::CremaTrainingState& training = state.crema_training();
    require(!training.has_solver_type() || training.solver_type() == param_.type(),
            "the run that wrote it had solver type {}, this one has {}, whose history has another "
            "meaning; to go on with another type, start from the weights (--weights {})",
            training.solver_type(), param_.type(), weights_file);
    const int expected = rule_->histories() * static_cast<int>(history_.size());
    require(state.history_size() == expected,
            "it holds {} history blobs; solver type {} and this net need {}", state.history_size(),
            param_.type(), expected);
    for (int i = 0; i < expected; ++i) {
      const Parameter& parameter =
          net_->parameters()[static_cast<std::size_t>(i) % history_.size()];
      require(shape_fits(state.history(i), history_of(i).shape()),
              "history {} has shape {}, parameter {} of layer \"{}\" has {}", i,
              stored_shape(state.history(i)).str(), parameter.index, parameter.layer,
              history_of(i).shape().str());
      const std::vector<float> stored = values(state.history(i));
      require(options_.keep_going ||
                  std::ranges::all_of(stored, [](float x) { return std::isfinite(x); }),
              "history {}, of parameter {} of layer \"{}\", holds a NaN or an infinity; take a "
              "snapshot from before that, or go on with --keep_going",
              i, parameter.index, parameter.layer);
    }
  });
  require_finite(weights);
  for (const Parameter& parameter : net_->parameters()) {
    require(weights.find(parameter.layer) != nullptr, "{} has no weights for layer \"{}\"",
            weights_file, parameter.layer);
  }
  net_->load(weights);
  for (int i = 0; i < state.history_size(); ++i) {
    write_plain(history_of(i), values(state.history(i)).data());
  }
  iteration_ = displayed_iteration_ = state.iter();
  rate_state_.current_step = state.current_step();
  if (!options_.keep_going || parameters_finite(*net_)) last_snapshot_ = state_file;
  LOG(INFO) << "Restored iteration " << iteration_ << " from " << state_file;
  if (state.has_crema_training()) {
    const caffe::CremaTrainingState& training = state.crema_training();
    LOG_IF(WARNING, training.seed() != seed_)
        << "the run that wrote the snapshot had random seed " << training.seed()
        << ", this one has " << seed_ << ": set random_seed to go on exactly";
    LOG_IF(WARNING, training.threads() != device_.threads())
        << "the run that wrote the snapshot used " << training.threads()
        << " threads, this one uses " << device_.threads()
        << ": results will differ in the last digits";
    restore_training_state(training);
  } else {
    LOG(INFO) << state_file
              << " says nothing of data positions (Caffe's does not); data layers start from the "
                 "beginning";
  }
}

caffe::CremaTrainingState Solver::training_state() const {
  caffe::CremaTrainingState state;
  state.set_solver_type(param_.type());
  state.set_seed(seed_);
  state.set_forward_passes(net_->passes());
  for (const auto& net : test_nets_) state.add_test_passes(net->passes());
  state.set_threads(device_.threads());
  for (const float loss : losses_) state.add_smoothed_losses(loss);
  if (param_.lr_policy() == "plateau") {
    state.set_plateau_minimum(rate_state_.minimum);
    state.set_plateau_event(rate_state_.event);
  }
  best_score_.store(&state);
  for (int i = -1; i < static_cast<int>(test_nets_.size()); ++i) {
    const Net& net = i < 0 ? *net_ : *test_nets_[static_cast<std::size_t>(i)];
    for (const auto& [layer, reader] : net.readers()) {
      caffe::DataPosition* position = state.add_data();
      position->set_net(label_of(i));
      position->set_layer(layer);
      position->set_records(reader->position());
    }
  }
  return state;
}

void Solver::restore_training_state(const caffe::CremaTrainingState& state) {
  net_->set_passes(state.forward_passes());
  losses_.assign(state.smoothed_losses().begin(), state.smoothed_losses().end());
  if (state.has_plateau_minimum()) {
    rate_state_.minimum = state.plateau_minimum();
    rate_state_.event = state.plateau_event();
  }
  best_score_.restore(state);
  for (int i = 0; i < std::min(test_nets(), state.test_passes_size()); ++i) {
    test_net(i).set_passes(state.test_passes(i));
  }
  for (int i = -1; i < test_nets(); ++i) {
    for (const auto& [layer, reader] : (i < 0 ? *net_ : test_net(i)).readers()) {
      for (const caffe::DataPosition& position : state.data()) {
        const bool same = position.net() == label_of(i) && position.layer() == layer;
        if (same && reader->position() != position.records()) reader->seek(position.records());
      }
    }
  }
}

}  // namespace crema
