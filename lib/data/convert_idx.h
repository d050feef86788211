// From IDX files to a data base.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "caffe.pb.h"

namespace crema {

/// Makes a data base of the pictures (N x height x width) and labels (N) of two IDX files: key
/// `%08d`, the index; value a Datum of one channel. The records are those of Caffe's
/// convert_mnist_data, byte for byte. Returns N. `progress`, if given, is told (records done, N).
/// Fails when the two do not fit together or `db` exists.
std::int64_t convert_idx(const std::string& images, const std::string& labels,
                         const std::string& db, caffe::DataParameter::DB backend,
                         const std::function<void(std::int64_t, std::int64_t)>& progress = {});

/// Likewise N pairs of pictures drawn at random, as Caffe's convert_mnist_siamese_data: a Datum of
/// two channels, label 1 where both have the same class, else 0. The same `seed` draws the same.
std::int64_t convert_idx_pairs(
    const std::string& images, const std::string& labels, const std::string& db,
    caffe::DataParameter::DB backend, std::uint64_t seed,
    const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace crema
