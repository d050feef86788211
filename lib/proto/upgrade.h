// Old forms of nets and solvers brought to today's, exactly as Caffe 1.0 does it.
//
// Positions move along with the fields. Every step does nothing where there is nothing to do;
// `notes`, if given, receives one sentence for each thing done.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"

namespace crema {

using UpgradeNotes = std::vector<std::string>;

/// All steps for a net, in order. Fails when the file mixes `layer` and `layers`.
void upgrade_net(caffe::NetParameter* net, UpgradeNotes* notes = nullptr);

/// solver_type to type, and the nets inside.
void upgrade_solver(caffe::SolverParameter* solver, UpgradeNotes* notes = nullptr);

/// snapshot_prefix: by default the solver file's path without extension; a folder gets the file's
/// name.
void set_snapshot_prefix(const std::string& solver_path, caffe::SolverParameter* solver);

// The steps for nets, in this order.

/// `layers { layer { … } }` (2013) to V1; "padding" layers fold into the convolutions they feed.
void upgrade_v0(caffe::NetParameter* net, UpgradeNotes* notes);
/// Transformations of V1 data layers to transform_param.
void upgrade_v1_transforms(caffe::NetParameter* net, UpgradeNotes* notes);
/// Fields of that kind in a present-form `layer`, where Caffe does not look at them: a sentence
/// that lists them with their lines, or "".
std::string ignored_transforms(const caffe::NetParameter& net);
/// `layers` (2014) to `layer`.
void upgrade_v1(caffe::NetParameter* net, UpgradeNotes* notes);
/// `input` with input_shape or input_dim to an Input layer.
void upgrade_inputs(caffe::NetParameter* net, UpgradeNotes* notes);
/// Zero rates for the three parameters of BatchNorm.
void upgrade_batch_norm(caffe::NetParameter* net, UpgradeNotes* notes);

/// A BatchNorm with scale and bias, or a layer with a ReLU in it, to two layers, the second in
/// place (not a step of Caffe's). With `intel` a BatchNorm has scale and bias unless it says
/// otherwise or a Scale layer reads it next, as that fork has it. Stored blobs move along.
void upgrade_forks(caffe::NetParameter* net, bool intel, UpgradeNotes* notes);

/// What the Scale behind such a BatchNorm is called: "NAME/scale".
std::string scale_name(const std::string& batch_norm);

/// "Convolution" for CONVOLUTION; "" for NONE.
std::string layer_type_name(caffe::V1LayerParameter::LayerType type);

}  // namespace crema
