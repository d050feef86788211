// Files of trained weights, in every form Caffe has written: binary V0, V1 and V2, and HDF5.
#pragma once

#include <string>
#include <vector>

#include "caffe.pb.h"
#include "tensor/shape.h"

namespace crema {

struct StoredBlob {
  Shape shape;
  bool legacy = false;  ///< four axes that are compared from the end, see shape_fits
  bool present = true;  ///< HDF5 files leave out parameters that another layer owns
  std::vector<float> data;
};

struct StoredLayer {
  std::string name;
  std::string type;  ///< "" in HDF5 files, which do not keep it
  std::vector<StoredBlob> blobs;
  /// A layer that the net must have as well, or these values mean something else: "" or that which
  /// the scale and bias of a fork's BatchNorm went to.
  std::string needs;
};

struct StoredWeights {
  std::string file;
  bool hdf5 = false;
  std::vector<StoredLayer> layers;

  /// The last layer of that name, as Caffe loads them one over the other; nullptr if there is none.
  const StoredLayer* find(const std::string& name) const;
};

/// Whether a stored blob is the value of a parameter of this shape.
bool fits(const StoredBlob& blob, const Shape& parameter);

/// Reads weights: HDF5 by its signature, else a binary net of any age. What is something else (a
/// solver state, a mean image, a prototxt, a database, a web page, a file cut short) is refused by
/// name. A BatchNorm of NVIDIA's or Intel's Caffe, which has scale and bias too, comes as two
/// layers, as upgrade_forks() has it.
StoredWeights read_weights(const std::string& path);

enum class WeightFormat { kBinary, kHdf5 };

/// HDF5 for names that end in ".h5", as Caffe has it.
WeightFormat weight_format(const std::string& path);

/// User error when write_weights() could not write these layers with `values` floats in all: names
/// that HDF5 cannot hold, or more than a binary file can. To be asked before a training begins, not
/// when it ends. Blobs need not be there yet.
void require_storable(const caffe::NetParameter& net, std::int64_t values, WeightFormat format);

/// Writes the layers' blobs. In HDF5 a name with slashes becomes groups within groups (Caffe
/// cannot write such names, and reading them passes over them), a blob without values (and one of
/// another owner's, which the caller leaves empty) is left out, and gradients go to a group of
/// their own. Wholly or not at all.
void write_weights(const caffe::NetParameter& net, const std::string& path, WeightFormat format);

}  // namespace crema
