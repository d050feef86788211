#include "solver/solver.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "data/batch_reader.h"
#include "kernels/blas.h"
#include "net/param_store.h"
#include "proto/blobs.h"
#include "proto/io.h"
#include "proto/solver_state.h"
#include "solver/learning_rate.h"
#include "solver/snapshot.h"
#include "solver/solver_fields.h"

namespace crema {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t choose_seed(const caffe::SolverParameter& solver, const caffe::SolverState& state) {
  if (solver.random_seed() >= 0) return static_cast<std::uint64_t>(solver.random_seed());
  if (state.crema_training().has_seed()) return state.crema_training().seed();
  const std::uint64_t seed = std::random_device()();
  LOG(INFO) << "random_seed is not set; this run uses " << seed;
  return seed;
}

WeightFormat snapshot_format(const caffe::SolverParameter& solver) {
  return solver.snapshot_format() == caffe::SolverParameter::HDF5 ? WeightFormat::kHdf5
                                                                  : WeightFormat::kBinary;
}

/// A signal may ask for a snapshot whatever the solver says.
bool takes_snapshots(const caffe::SolverParameter& solver, const SolverOptions& options) {
  return solver.snapshot() > 0 || solver.snapshot_after_train() || options.signals != nullptr;
}

void check_solver(const caffe::SolverParameter& solver, const SolverOptions& options) {
  check_learning_rate(solver);
  require_field(solver, "", solver.has_max_iter(), "max_iter is missing");
  require_field(solver, "max_iter", solver.max_iter() >= 0, "max_iter is {}; it cannot be negative",
                solver.max_iter());
  require_field(solver, "iter_size", solver.iter_size() > 0, "iter_size is {}; it must be > 0",
                solver.iter_size());
  require_field(solver, "average_loss", solver.average_loss() > 0,
                "average_loss is {}; it must be > 0", solver.average_loss());
  require_field(solver, "regularization_type",
                solver.weight_decay() == 0 || solver.regularization_type() == "L1" ||
                    solver.regularization_type() == "L2",
                "regularization_type \"{}\" is not known; it can be L1 or L2",
                solver.regularization_type());
  if (takes_snapshots(solver, options)) {
    with_context(position_of(solver, "snapshot_prefix"), [&] {
      require_writable_folder(solver.snapshot_prefix(), "snapshots (snapshot_prefix)");
    });
  }
}

void report_load(const std::string& file, const Net& net, const Net::LoadReport& report) {
  LOG(INFO) << file << ": " << report.copied.size() << " layers copied"
            << (report.copied.empty() ? "" : ": ")
            << fmt::format("{}", fmt::join(report.copied, " "));
  if (!report.skipped.empty()) {
    LOG(INFO) << file << ": layers that the net does not have: "
              << fmt::format("{}", fmt::join(report.skipped, " "));
  }
  if (!report.missing.empty()) {
    LOG(INFO) << file << ": layers of the net that are not in the file and keep their values: "
              << fmt::format("{}", fmt::join(report.missing, " "));
  }
  LOG_IF(WARNING, report.copied.empty())
      << file << ": nothing fits net \"" << net.name() << "\": no layer name is in both";
}

}  // namespace

Solver::Solver(const caffe::SolverParameter& solver, Device& device, const SolverOptions& options)
    : param_(solver), device_(device), options_(options), seed_(0) {
  check_solver(param_, options_);
  rule_ = make_update_rule(param_);
  caffe::SolverState state;
  std::size_t snapshot = 0;
  const bool restores = read_next_state(&snapshot, &state);
  seed_ = choose_seed(param_, state);
  LOG_IF(WARNING, param_.debug_info())
      << position_of(param_, "debug_info")
      << ": debug_info is not supported yet; no such lines are logged";
  build_nets();
  // A snapshot brings all weights with it.
  if (restores) {
    restore_from(snapshot, std::move(state));
  } else {
    load_initial_weights();
  }
  displayed_at_ = now_seconds();
}

void Solver::build_nets() {
  const SolverNet train = solver_train_net(param_, options_.dialect);
  NetOptions options;
  options.state = train.state;
  options.backward = true;
  options.seed = seed_;
  net_ = std::make_unique<Net>(train.net, device_, options);
  for (const SolverNet& test : solver_test_nets(param_, {options_.dialect, true})) {
    NetOptions test_options;
    test_options.state = test.state;
    test_options.seed = seed_;
    test_options.share_with = net_.get();
    test_nets_.push_back(with_context(fmt::format("test net #{}", test_nets_.size()), [&] {
      return std::make_unique<Net>(test.net, device_, test_options);
    }));
  }
  if (takes_snapshots(param_, options_)) {
    std::int64_t values = 0;
    for (const Parameter& parameter : net_->parameters()) values += parameter.shape.count();
    with_context(position_of(param_, "snapshot_format"),
                 [&] { require_storable(net_->definition(), values, snapshot_format(param_)); });
  }
  // Histories lie like the parameters that they belong to, packed layouts included.
  std::size_t bytes = 0;
  for (const Parameter& parameter : net_->parameters())
    bytes += (parameter.data.bytes() + 63) / 64 * 64;
  const auto histories = static_cast<std::size_t>(rule_->histories());
  history_buffer_ = Buffer(device_, bytes * histories);
  std::size_t offset = 0;
  for (const Parameter& parameter : net_->parameters()) {
    history_.emplace_back();
    for (std::size_t i = 0; i < histories; ++i) {
      history_.back().emplace_back(device_, parameter.shape, parameter.data.layout(),
                                   history_buffer_.floats(offset));
      offset += (parameter.data.bytes() + 63) / 64 * 64;
    }
  }
}

void Solver::load_initial_weights() {
  if (!options_.weights.empty()) {
    load_weights(options_.weights, "");
    return;
  }
  for (int i = 0; i < param_.weights_size(); ++i) {
    load_weights(param_.weights(i), position_of(param_, fmt::format("weights[{}]", i)));
  }
}

void Solver::load_weights(const std::string& files, const std::string& position) {
  for (const std::string& file : split(files, ',')) {
    const StoredWeights weights = with_context(position, [&] { return read_weights(file); });
    report_load(file, *net_, net_->load(weights));
    for (const auto& test_net : test_nets_) test_net->load(weights);
  }
}

bool Solver::solve() {
  LOG(INFO) << "Solving " << net_->name();
  LOG(INFO) << "Learning Rate Policy: " << param_.lr_policy();
  if (!step(param_.max_iter() - iteration_)) {
    LOG(INFO) << "Optimization stopped early.";
    return false;
  }
  if (param_.display() > 0 && iteration_ % param_.display() == 0) {
    note_loss(net_->forward());
    display(true);
  }
  if (param_.test_interval() > 0 && iteration_ % param_.test_interval() == 0 && !test_all()) {
    LOG(INFO) << "Optimization stopped early.";
    return false;
  }
  LOG(INFO) << "Optimization Done.";
  return true;
}

bool Solver::step(int count) {
  const int stop = iteration_ + std::max(count, 0);
  bool last_was_snapshot = false;
  while (iteration_ < stop && !stop_requested_) {
    net_->clear_gradients();
    if (param_.test_interval() > 0 && iteration_ % param_.test_interval() == 0 &&
        (iteration_ > 0 || param_.test_initialization()) && !test_all()) {
      break;
    }
    note_loss(forward_backward());
    if (param_.display() > 0 && iteration_ % param_.display() == 0) display(false);
    update();
    ++iteration_;
    for (TrainingListener* listener : options_.listeners) {
      listener->on_iteration(iteration_);
    }
    const SignalAction action = poll();
    last_was_snapshot = false;
    if ((param_.snapshot() > 0 && iteration_ % param_.snapshot() == 0) ||
        action == SignalAction::kSnapshot || snapshot_requested_) {
      snapshot();
      last_was_snapshot = true;
      snapshot_requested_ = false;
    }
    stop_requested_ |= action == SignalAction::kStop;
  }
  const bool finished = stop_requested_ || iteration_ >= param_.max_iter();
  const bool due_anyway = param_.snapshot() > 0 && iteration_ % param_.snapshot() == 0;
  // Who stops a run wants to go on with it, whatever the solver says of its end.
  const bool wanted = param_.snapshot_after_train() || stop_requested_;
  if (finished && wanted && !last_was_snapshot && !due_anyway) snapshot();
  return !stop_requested_;
}

float Solver::forward_backward() {
  double loss = 0;
  for (int i = 0; i < param_.iter_size(); ++i) {
    loss += net_->forward();
    net_->backward();
  }
  return static_cast<float>(loss / param_.iter_size());
}

void Solver::note_loss(float loss) {
  losses_.push_back(loss);
  if (static_cast<int>(losses_.size()) > param_.average_loss()) losses_.pop_front();
}

float Solver::smoothed_loss() const {
  // Summed anew each time: Caffe's running value loses all its digits after one huge loss.
  double sum = 0;
  for (const float loss : losses_) sum += loss;
  return losses_.empty() ? 0 : static_cast<float>(sum / static_cast<double>(losses_.size()));
}

double Solver::seconds_waiting() const {
  double seconds = 0;
  for (const auto& [name, reader] : net_->readers()) seconds += reader->seconds_waiting();
  return seconds;
}

void Solver::display(bool final) {
  TrainingProgress progress;
  progress.iteration = iteration_;
  progress.loss = smoothed_loss();
  if (!final) {
    int step = current_step_;
    progress.rate = learning_rate(param_, iteration_, &step);
  }
  progress.outputs = outputs(*net_);
  const double now = now_seconds(), waiting = seconds_waiting();
  progress.iterations = iteration_ - displayed_iteration_;
  progress.seconds = now - displayed_at_;
  progress.seconds_waiting = waiting - displayed_waiting_;
  displayed_iteration_ = iteration_;
  displayed_at_ = now;
  displayed_waiting_ = waiting;
  for (TrainingListener* listener : options_.listeners) listener->on_display(progress);
}

std::vector<OutputValue> Solver::outputs(const Net& net) const {
  std::vector<OutputValue> values;
  for (const std::string& name : net.outputs()) {
    values.push_back({name, net.read_blob(name), net.loss_weight(name)});
  }
  return values;
}

float Solver::clip_scale() const {
  if (param_.clip_gradients() < 0) return 1;
  double squares = 0;
  for (const Parameter& parameter : net_->parameters()) {
    squares += sum_of_squares(device_, parameter.gradient.elements(), parameter.gradient.read());
  }
  const double norm = std::sqrt(squares);
  if (norm <= param_.clip_gradients()) return 1;
  LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > "
            << param_.clip_gradients() << ") by scale factor " << param_.clip_gradients() / norm;
  return static_cast<float>(param_.clip_gradients() / norm);
}

float Solver::update() {
  const float rate = learning_rate(param_, iteration_, &current_step_);
  net_->finish_gradients();
  UpdateStep step;
  // Caffe's order: the norm is that of the sum over iter_size, which is divided afterwards.
  step.gradient_scale = clip_scale() / static_cast<float>(param_.iter_size());
  step.iteration = iteration_;
  step.keep_step = param_.snapshot_diff();
  for (std::size_t i = 0; i < net_->parameters().size(); ++i) {
    const Parameter& parameter = net_->parameters()[i];
    const float decay = param_.weight_decay() * parameter.decay_mult;
    step.l1 = param_.regularization_type() == "L1" ? decay : 0;
    step.l2 = param_.regularization_type() == "L1" ? 0 : decay;
    step.rate = rate * parameter.lr_mult;
    rule_->apply(step, parameter.gradient, history_[i], parameter.data);
  }
  return rate;
}

SignalAction Solver::poll() const {
  return options_.signals != nullptr ? options_.signals->poll() : SignalAction::kNone;
}

bool Solver::test_all() {
  std::vector<std::pair<BatchReader*, std::uint64_t>> positions;
  for (const auto& net : test_nets_) {
    for (const auto& [layer, reader] : net->readers()) {
      positions.emplace_back(reader, reader->position());
    }
  }
  for (int i = 0; i < test_nets(); ++i) {
    if (test(i)) continue;
    // Whoever resumes does these tests again, all of them: on the same records.
    for (const auto& [reader, position] : positions) reader->seek(position);
    return false;
  }
  return true;
}

bool Solver::test(int index) {
  for (TrainingListener* listener : options_.listeners) listener->on_test_start(iteration_, index);
  Net& net = test_net(index);
  const int batches = param_.test_iter(index);
  std::vector<OutputValue> sums;
  std::vector<std::vector<double>> totals;
  double loss = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const SignalAction action = poll();
    snapshot_requested_ |= action == SignalAction::kSnapshot;
    if (action == SignalAction::kStop) {
      stop_requested_ = true;
      return false;
    }
    loss += net.forward();
    const std::vector<OutputValue> values = outputs(net);
    if (sums.empty()) {
      sums = values;
      for (const OutputValue& value : values) totals.emplace_back(value.values.size(), 0.0);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = 0; j < totals[i].size(); ++j) totals[i][j] += values[i].values[j];
    }
  }
  TestScores scores;
  scores.iteration = iteration_;
  scores.net = index;
  if (param_.test_compute_loss()) scores.loss = static_cast<float>(loss / batches);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = 0; j < totals[i].size(); ++j) {
      sums[i].values[j] = static_cast<float>(totals[i][j] / batches);
    }
  }
  scores.outputs = std::move(sums);
  for (TrainingListener* listener : options_.listeners) listener->on_test(scores);
  return true;
}

void Solver::snapshot() {
  const WeightFormat format = snapshot_format(param_);
  const SnapshotFiles files = snapshot_files(param_.snapshot_prefix(), iteration_, format);
  // Weights first: a state is only there when its weights are.
  write_weights(net_->to_proto(param_.snapshot_diff(), format == WeightFormat::kHdf5),
                files.weights, format);
  caffe::SolverState state;
  state.set_iter(iteration_);
  state.set_learned_net(files.weights);
  state.set_current_step(current_step_);
  for (int h = 0; h < rule_->histories(); ++h) {
    for (const std::vector<Tensor>& histories : history_) {
      const Tensor& history = histories[static_cast<std::size_t>(h)];
      to_proto(history.shape(), read_plain(history).data(), state.add_history());
    }
  }
  store_training_state(state.mutable_crema_training());
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
    }
  });
  for (const Parameter& parameter : net_->parameters()) {
    require(weights.find(parameter.layer) != nullptr, "{} has no weights for layer \"{}\"",
            weights_file, parameter.layer);
  }
  net_->load(weights);
  for (int i = 0; i < state.history_size(); ++i) {
    write_plain(history_of(i), values(state.history(i)).data());
  }
  iteration_ = displayed_iteration_ = state.iter();
  current_step_ = state.current_step();
  LOG(INFO) << "Restored iteration " << iteration_ << " from " << state_file;
  if (state.has_crema_training()) {
    restore_training_state(state.crema_training());
  } else {
    LOG(INFO) << state_file
              << " says nothing of data positions (Caffe's does not); data layers start from the "
                 "beginning";
  }
}

void Solver::store_training_state(caffe::CremaTrainingState* state) const {
  state->set_seed(seed_);
  state->set_forward_passes(net_->passes());
  state->set_threads(device_.threads());
  for (const float loss : losses_) state->add_smoothed_losses(loss);
  const auto store_positions = [&](const std::string& label, const Net& net) {
    for (const auto& [layer, reader] : net.readers()) {
      caffe::DataPosition* position = state->add_data();
      position->set_net(label);
      position->set_layer(layer);
      position->set_records(reader->position());
    }
  };
  store_positions("train", *net_);
  for (std::size_t i = 0; i < test_nets_.size(); ++i) {
    store_positions(fmt::format("test {}", i), *test_nets_[i]);
  }
}

void Solver::restore_training_state(const caffe::CremaTrainingState& state) {
  LOG_IF(WARNING, state.seed() != seed_)
      << "the run that wrote the snapshot had random seed " << state.seed() << ", this one has "
      << seed_ << ": set random_seed to go on exactly";
  LOG_IF(WARNING, state.threads() != device_.threads())
      << "the run that wrote the snapshot used " << state.threads() << " threads, this one uses "
      << device_.threads() << ": results will differ in the last digits";
  net_->set_passes(state.forward_passes());
  losses_.assign(state.smoothed_losses().begin(), state.smoothed_losses().end());
  for (const caffe::DataPosition& position : state.data()) {
    Net* net = position.net() == "train" ? net_.get() : nullptr;
    for (std::size_t i = 0; i < test_nets_.size(); ++i) {
      if (position.net() == fmt::format("test {}", i)) net = test_nets_[i].get();
    }
    if (net == nullptr) continue;
    for (const auto& [layer, reader] : net->readers()) {
      if (layer == position.layer()) reader->seek(position.records());
    }
  }
}

}  // namespace crema
