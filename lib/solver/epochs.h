// Epochs, passes over all records of the train net's source, in iterations.
#pragma once

#include "caffe.pb.h"
#include "net/net.h"

namespace crema {

/// The fields max_epochs and test_epochs beside max_iter and test_interval; user errors.
void check_epochs(const caffe::SolverParameter& solver);

/// What a float field says in decimal: 0.1, not 0.100000001.
double decimal(float value);

/// Iterations that read every record of the train net's source once, in general no whole number. Of
/// several data layers the one that takes longest counts. `field` asks for it; an error names the
/// layers that could not tell how many records they have.
double iterations_of_epoch(const caffe::SolverParameter& solver, const std::string& field,
                           const Net& train_net);

/// The whole number of iterations in which `epochs` epochs are complete.
int iterations_of(double epochs, double iterations_of_epoch);

/// Is one of the marks at every `interval` iterations (no whole number) passed by this iteration
/// and not by the one before? 0 is one of them.
bool passes_mark(int iteration, double interval);

}  // namespace crema
