#include "proto/upgrade.h"

#include <boost/filesystem.hpp>

#include "proto/positions.h"

namespace crema {
namespace fs = boost::filesystem;
namespace {

const char* solver_type_name(caffe::SolverParameter::SolverType type) {
  switch (type) {
    case caffe::SolverParameter::SGD:
      return "SGD";
    case caffe::SolverParameter::NESTEROV:
      return "Nesterov";
    case caffe::SolverParameter::ADAGRAD:
      return "AdaGrad";
    case caffe::SolverParameter::RMSPROP:
      return "RMSProp";
    case caffe::SolverParameter::ADADELTA:
      return "AdaDelta";
    case caffe::SolverParameter::ADAM:
      return "Adam";
  }
  return "SGD";
}

}  // namespace

void upgrade_net(caffe::NetParameter* net, UpgradeNotes* notes) {
  if (net->layer_size() > 0 && net->layers_size() > 0) {
    const std::string old = position_of(net->layers(0));
    fail_at(position_of(net->layer(0)),
            "the net mixes `layer` with the old form `layers`{}; run upgrade-net on the old part "
            "first",
            old.empty() ? "" : fmt::format(" (first at {})", old));
  }
  upgrade_v0(net, notes);
  upgrade_v1_transforms(net, notes);
  upgrade_v1(net, notes);
  upgrade_inputs(net, notes);
  upgrade_batch_norm(net, notes);
}

void upgrade_solver(caffe::SolverParameter* solver, UpgradeNotes* notes) {
  if (solver->has_solver_type()) {
    if (solver->has_type()) {
      fail_at(position_of(*solver, "solver_type"),
              "both type and the old solver_type are given; remove solver_type");
    }
    solver->set_type(solver_type_name(solver->solver_type()));
    solver->clear_solver_type();
    if (solver->has_crema_source()) {
      copy_positions(solver->crema_source(), "solver_type", "type", solver->mutable_crema_source());
    }
    if (notes) notes->push_back(fmt::format("solver_type became type: \"{}\"", solver->type()));
  }
  if (solver->has_net_param()) upgrade_net(solver->mutable_net_param(), notes);
  if (solver->has_train_net_param()) upgrade_net(solver->mutable_train_net_param(), notes);
  for (caffe::NetParameter& net : *solver->mutable_test_net_param()) upgrade_net(&net, notes);
}

void set_snapshot_prefix(const std::string& solver_path, caffe::SolverParameter* solver) {
  const fs::path without_extension = fs::path(solver_path).replace_extension();
  if (!solver->has_snapshot_prefix()) {
    solver->set_snapshot_prefix(without_extension.string());
    return;
  }
  boost::system::error_code ignored;
  if (fs::is_directory(solver->snapshot_prefix(), ignored)) {
    fs::path inside = solver->snapshot_prefix();
    inside /= without_extension.filename();
    solver->set_snapshot_prefix(inside.string());
  }
}

}  // namespace crema
