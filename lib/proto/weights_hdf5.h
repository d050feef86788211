// Weights as HDF5: group `data`, in it a group for each layer, in it data sets `0`, `1`, … .
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "proto/weights.h"

namespace crema {

std::vector<StoredLayer> read_hdf5_weights(const std::string& path);
/// User error when a layer's name cannot be that of an HDF5 group.
void require_hdf5_names(const caffe::NetParameter& net);
void write_hdf5_weights(const caffe::NetParameter& net, const std::string& path);

/// The position that a data set's name stands for, or -1.
int blob_index(const std::string& name);

}  // namespace crema
