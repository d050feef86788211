#include "solver/solver.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/text.h"
#include "data/batch_reader.h"
#include "kernels/blas.h"
#include "proto/io.h"
#include "proto/positions.h"
#include "solver/epochs.h"
#include "solver/score_sums.h"
#include "solver/solver_checks.h"
#include "solver/whole_source.h"

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

/// Caffe only looks at the solver's while training; a net that asks by itself is heard as well.
bool shows_debug_info(const caffe::SolverParameter& solver, const caffe::NetParameter& net) {
  return solver.debug_info() || net.debug_info();
}

void report_load(const std::string& file, const Net& net, const Net::LoadReport& report) {
  LOG(INFO) << file << ": " << counted(static_cast<long long>(report.copied.size()), "layer")
            << " copied" << (report.copied.empty() ? "" : ": ")
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
  check_solver(param_, options_.signals != nullptr);
  rule_ = make_update_rule(param_);
  caffe::SolverState state;
  std::size_t snapshot = 0;
  const bool restores = read_next_state(&snapshot, &state);
  seed_ = choose_seed(param_, state);
  build_nets();
  make_histories();
  set_up_epochs();
  best_score_ = BestScore(param_, test_nets_.empty() ? nullptr : test_nets_[0].get());
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
  options.reading = options_.reading;
  options.separate_layers = shows_debug_info(param_, train.net);
  net_ = std::make_unique<Net>(train.net, device_, options);
  mark_ = std::make_unique<PassMark>(*net_);
  if (options.separate_layers) debug_info_ = std::make_unique<DebugInfo>(*net_);
  const std::string whole = tests_whole_sources(param_);
  for (const SolverNet& test : solver_test_nets(param_, {options_.dialect, true})) {
    NetOptions test_options;
    test_options.state = test.state;
    test_options.seed = seed_;
    test_options.reading = options_.reading;
    test_options.share_with = net_.get();
    test_options.separate_layers = shows_debug_info(param_, test.net);
    with_context(fmt::format("test net #{}", test_nets_.size()), [&] {
      test_nets_.push_back(std::make_unique<Net>(test.net, device_, test_options));
      if (!whole.empty()) whole_source(*test_nets_.back(), whole);
    });
    if (!test_options.separate_layers) continue;
    test_debug_info_.push_back(std::make_unique<DebugInfo>(*test_nets_.back()));
    test_nets_.back()->observe(test_debug_info_.back().get());
  }
  if (takes_snapshots(param_, options_.signals != nullptr)) {
    std::int64_t values = 0;
    for (const Parameter& parameter : net_->parameters()) values += parameter.shape.count();
    with_context(position_of(param_, "snapshot_format"),
                 [&] { require_storable(net_->definition(), values, snapshot_format(param_)); });
  }
  // snapshot_diff stores them, also before the first update.
  net_->clear_gradients();
  if (param_.snapshot_diff()) net_->finish_gradients();
}

void Solver::make_histories() {
  // They lie like the parameters that they belong to, packed layouts included.
  std::size_t bytes = 0;
  for (const Parameter& parameter : net_->parameters())
    bytes += (parameter.data.bytes() + 63) / 64 * 64;
  const auto histories = static_cast<std::size_t>(rule_->histories());
  with_context("the solver's histories, each as large as all parameters",
               [&] { history_buffer_ = Buffer(device_, bytes * histories); });
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

void Solver::set_up_epochs() {
  test_interval_ = param_.test_interval();
  if (param_.has_max_epochs()) {
    const double epoch = iterations_of_epoch(param_, "max_epochs", *net_);
    param_.set_max_iter(with_context(position_of(param_, "max_epochs"), [&] {
      return iterations_of(decimal(param_.max_epochs()), epoch);
    }));
    LOG(INFO) << fmt::format("max_epochs: {} is {}", param_.max_epochs(),
                             counted(param_.max_iter(), "iteration"));
  }
  if (param_.has_test_epochs() && !test_nets_.empty()) {
    test_interval_ =
        decimal(param_.test_epochs()) * iterations_of_epoch(param_, "test_epochs", *net_);
    LOG(INFO) << fmt::format("test_epochs: {} is a test every {:g} iterations",
                             param_.test_epochs(), std::max(test_interval_, 1.0));
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
    with_context(position, [&] { require_finite(weights); });
    report_load(file, *net_, net_->load(weights));
    for (const auto& test_net : test_nets_) test_net->load(weights);
  }
}

void Solver::require_finite(const StoredWeights& weights) const {
  if (options_.keep_going) return;
  const std::string bad = non_finite_blob(weights, net_.get());
  require(bad.empty(), "{}: {}; take weights from before that, or go on with --keep_going",
          weights.file, bad);
}

bool Solver::solve() {
  if (iteration_ > param_.max_iter()) {
    LOG(INFO) << fmt::format("Nothing to do: {} is already at iteration {}, max_iter is {}",
                             last_snapshot_.empty() ? "the run" : last_snapshot_, iteration_,
                             param_.max_iter());
    return true;
  }
  LOG(INFO) << "Solving " << net_->name();
  LOG(INFO) << "Learning Rate Policy: " << param_.lr_policy();
  if (!step(param_.max_iter() - iteration_)) {
    LOG(INFO) << "Optimization stopped early.";
    return false;
  }
  const caffe::CremaTrainingState before = training_state();
  if (displays() && !stopped_early_) {
    note_loss(net_->forward());
    display(true);
  }
  if (test_due() && !stopped_early_ && !run_tests(before) && stop_requested_) {
    LOG(INFO) << "Optimization stopped early.";
    return false;
  }
  LOG(INFO) << "Optimization Done.";
  return true;
}

bool Solver::step(int count) {
  const int stop = iteration_ + std::max(count, 0);
  bool last_was_snapshot = false;
  while (iteration_ < stop && !stop_requested_ && !stopped_early_) {
    net_->clear_gradients();
    if (test_due() && (iteration_ > 0 || param_.test_initialization()) &&
        !run_tests(training_state())) {
      break;
    }
    net_->observe(displays() ? debug_info_.get() : nullptr);
    mark_->set();
    const float loss = forward_backward();
    note_loss(loss);
    if (displays()) display(false);
    net_->finish_gradients();
    const double squares = gradient_squares();
    check_health(loss, squares);
    update(squares);
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
  const bool finished = stop_requested_ || stopped_early_ || iteration_ >= param_.max_iter();
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

bool Solver::displays() const { return param_.display() > 0 && iteration_ % param_.display() == 0; }

void Solver::display(bool final) {
  TrainingProgress progress;
  progress.iteration = iteration_;
  progress.loss = smoothed_loss();
  if (!final) {
    RateState state = rate_state_;
    progress.rate = learning_rate(param_, iteration_, progress.loss, &state);
  }
  progress.outputs = outputs_of(*net_);
  const double now = now_seconds(), waiting = seconds_waiting();
  progress.iterations = iteration_ - displayed_iteration_;
  progress.seconds = now - displayed_at_;
  progress.seconds_waiting = waiting - displayed_waiting_;
  displayed_iteration_ = iteration_;
  displayed_at_ = now;
  displayed_waiting_ = waiting;
  for (TrainingListener* listener : options_.listeners) listener->on_display(progress);
}

double Solver::gradient_squares() const {
  if (param_.clip_gradients() < 0) return 0;
  double squares = 0;
  for (const Parameter& parameter : net_->parameters()) {
    squares += sum_of_squares(device_, parameter.gradient.elements(), parameter.gradient.read());
  }
  return squares;
}

float Solver::clip_scale(double gradient_squares) const {
  if (param_.clip_gradients() < 0) return 1;
  const double norm = std::sqrt(gradient_squares);
  if (norm <= param_.clip_gradients()) return 1;
  LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > "
            << param_.clip_gradients() << ") by scale factor " << param_.clip_gradients() / norm;
  return static_cast<float>(param_.clip_gradients() / norm);
}

void Solver::check_health(float loss, double gradient_squares) {
  if (warned_of_health_) return;
  // A norm that is at hand says the same in no time.
  const bool known = param_.clip_gradients() >= 0 && std::isfinite(gradient_squares);
  if (std::isfinite(loss) && (known || gradients_finite(*net_))) return;
  const NonFinite first = find_non_finite(*net_, *mark_, param_.iter_size());
  std::string text = fmt::format("iteration {}: ", iteration_);
  text += std::isfinite(loss) ? "there is a NaN or an infinity in the gradients"
                              : fmt::format("the loss is {}", loss);
  if (!first.where.empty()) text += fmt::format("; it began in {}", first.where);
  if (first.in_parameter && iteration_ > 0) {
    text += ", which the update before brought out of range";
  }
  text += ". " + advice(first, iteration_, param_.base_lr());
  if (!options_.keep_going) fail_unhealthy(text);
  LOG(WARNING) << text << ". --keep_going: training goes on, and this is not said again.";
  warned_of_health_ = true;
}

void Solver::fail_unhealthy(const std::string& text) const {
  fail("{}. {}", text,
       last_snapshot_.empty() ? std::string("There is no snapshot from before")
                              : fmt::format("The last good snapshot is {}", last_snapshot_));
}

void Solver::update(double gradient_squares) {
  const int step_before = rate_state_.current_step;
  const float rate = learning_rate(param_, iteration_, smoothed_loss(), &rate_state_);
  if (param_.lr_policy() == "plateau" && rate_state_.current_step != step_before) {
    LOG(INFO) << fmt::format(
        "Iteration {}, plateau: the loss had no minimum below {:g} for {} "
        "iterations; lr is now {:g}",
        iteration_, rate_state_.minimum, param_.plateau_winsize(step_before), rate);
  }
  UpdateStep step;
  // Caffe's order: the norm is that of the sum over iter_size, which is divided afterwards.
  step.gradient_scale = clip_scale(gradient_squares) / static_cast<float>(param_.iter_size());
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
}

SignalAction Solver::poll() const {
  return options_.signals != nullptr ? options_.signals->poll() : SignalAction::kNone;
}

}  // namespace crema
