// Weights as HDF5: group `data`, in it a group for each layer, in it data sets `0`, `1`, … . A
// layer whose name has slashes is a group within groups: a group with data sets is a layer, one
// with groups alone is none. Caffe, which cannot write such names, passes over what it finds there.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

std::vector<StoredLayer> read_hdf5_weights(const std::string& path);
/// User error when a layer's name cannot be that of an HDF5 group, or when two layers would get in
/// each other's way: equal names, and "a" with "a/0", where the first has a data set of that name.
void require_hdf5_names(const caffe::NetParameter& net);
void write_hdf5_weights(const caffe::NetParameter& net, const std::string& path);

/// The position that a data set's name stands for, or -1.
int blob_index(const std::string& name);

}  // namespace crema
