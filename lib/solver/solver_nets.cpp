// Which nets a solver trains and tests.
#include <algorithm>
#include <boost/filesystem.hpp>

#include "base/error.h"
#include "proto/io.h"
#include "solver/solver.h"
#include "solver/solver_fields.h"
#include "solver/whole_source.h"

namespace crema {
namespace {

/// The net itself or the file that holds it.
struct NetSource {
  const caffe::NetParameter* net = nullptr;
  std::string file;
  std::string position;  ///< of the solver's line that names the file
  caffe::NetParameter read(const ReadOptions& options) const {
    if (net != nullptr) return *net;
    // A mistake inside the net's text has its own line; only that the file cannot be had is the
    // solver's.
    const auto read_file = [&] { return read_net(file, nullptr, options); };
    return boost::filesystem::exists(file) ? read_file() : with_context(position, read_file);
  }
};

/// `net` or `net_param`, when given.
bool shared_source(const caffe::SolverParameter& solver, NetSource* source) {
  if (solver.has_net_param()) source->net = &solver.net_param();
  if (solver.has_net()) *source = {source->net, solver.net(), position_of(solver, "net")};
  return solver.has_net_param() || solver.has_net();
}

}  // namespace

caffe::NetState merged_state(caffe::Phase phase, const caffe::NetParameter& net,
                             const caffe::NetState& own) {
  caffe::NetState state;
  state.set_phase(phase);
  state.MergeFrom(net.state());
  state.MergeFrom(own);
  return state;
}

SolverNet solver_train_net(const caffe::SolverParameter& solver, Dialect dialect) {
  const int given = int{solver.has_net()} + int{solver.has_net_param()} +
                    int{solver.has_train_net()} + int{solver.has_train_net_param()};
  require_field(
      solver, "", given == 1,
      "a solver names its train net by exactly one of net, net_param, train_net, train_net_param, "
      "not by {}",
      given);
  NetSource source;
  if (!shared_source(solver, &source)) {
    if (solver.has_train_net_param()) source.net = &solver.train_net_param();
    if (solver.has_train_net()) {
      source = {nullptr, solver.train_net(), position_of(solver, "train_net")};
    }
  }
  SolverNet train{source.read({dialect, false}), {}};
  train.state = merged_state(caffe::TRAIN, train.net, solver.train_state());
  return train;
}

std::vector<SolverNet> solver_test_nets(const caffe::SolverParameter& solver,
                                        const ReadOptions& options) {
  std::vector<NetSource> sources;
  for (const caffe::NetParameter& net : solver.test_net_param()) sources.push_back({&net, "", ""});
  for (const std::string& file : solver.test_net()) {
    sources.push_back({nullptr, file, position_of(solver, "test_net")});
  }
  NetSource shared;
  const int explicit_nets = static_cast<int>(sources.size());
  const bool has_shared = shared_source(solver, &shared);
  if (solver.test_iter_size() == 0 && !tests_whole_sources(solver).empty()) {
    // No count of batches is needed.
    const int wanted = std::max({explicit_nets, solver.test_state_size(), 1});
    for (int i = explicit_nets; i < wanted && has_shared; ++i) sources.push_back(shared);
    const char* const field = solver.test_all() ? "test_all" : "test_epochs";
    require_field(solver, field, !sources.empty(), "{} is given, but there is no test net", field);
  } else if (has_shared) {
    require_field(solver, "test_iter", solver.test_iter_size() >= explicit_nets,
                  "test_iter must be given for each of the {} test nets, not {} times",
                  explicit_nets, solver.test_iter_size());
    for (int i = explicit_nets; i < solver.test_iter_size(); ++i) sources.push_back(shared);
  } else {
    require_field(solver, "test_iter", solver.test_iter_size() == explicit_nets,
                  "test_iter must be given once for each of the {} test nets, not {} times",
                  explicit_nets, solver.test_iter_size());
  }
  const int count = static_cast<int>(sources.size());
  require_field(solver, "test_state",
                solver.test_state_size() == 0 || solver.test_state_size() == count,
                "test_state must be given once for each of the {} test nets or never, not {} times",
                count, solver.test_state_size());
  const char* const why = solver.test_iter_size() > 0 ? "test_iter" : "test_all";
  require_field(solver, solver.has_test_interval() ? "test_interval" : why,
                count == 0 || solver.test_interval() > 0 || solver.has_test_epochs(),
                "there are test nets, but test_interval is {}; it must be > 0",
                solver.test_interval());
  for (int i = 0; i < solver.test_iter_size(); ++i) {
    require_field(solver, fmt::format("test_iter[{}]", i), solver.test_iter(i) > 0,
                  "test_iter is {}; it must be > 0", solver.test_iter(i));
  }
  std::vector<SolverNet> nets;
  for (int i = 0; i < count; ++i) {
    // The shared net is one file, however often it is tested.
    const bool seen = i > explicit_nets || (i == explicit_nets && options.quiet);
    SolverNet test{sources[static_cast<std::size_t>(i)].read({options.dialect, seen}), {}};
    const caffe::NetState own =
        solver.test_state_size() > 0 ? solver.test_state(i) : caffe::NetState();
    test.state = merged_state(caffe::TEST, test.net, own);
    nets.push_back(std::move(test));
  }
  return nets;
}

}  // namespace crema
