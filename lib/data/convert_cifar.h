// From the binary version of CIFAR-10 and CIFAR-100 to data bases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "caffe.pb.h"

namespace crema {

/// What a record of CIFAR-100 is labelled with: its class (0 to 99), its group of classes (0 to
/// 19), or the two, in this order.
enum class CifarLabel { kFine, kCoarse, kBoth };

/// "fine", "coarse" or "both"; a UsageError for others.
CifarLabel cifar_label_named(const std::string& name);

struct CifarRecords {
  std::int64_t train = 0, test = 0;
};

/// Told: records done, of how many.
using CifarProgress = std::function<void(std::int64_t, std::int64_t)>;

/// Makes `out`/cifar10_train_BACKEND of data_batch_1.bin to data_batch_5.bin in `folder`, and
/// `out`/cifar10_test_BACKEND of test_batch.bin. Records are those of Caffe's convert_cifar_data,
/// byte for byte: key `%05d`, a number from 0; a Datum of 3x32x32 whose planes are those of the
/// file, red, green and blue (data bases made from picture files have them the other way round).
/// Each data base has a file labels.txt, if `folder` has batches.meta.txt.
///
/// Fails when a file is missing, holds no whole number of records, a label out of range, or, of the
/// five, another number of records than the first.
CifarRecords convert_cifar10(const std::string& folder, const std::string& out,
                             caffe::DataParameter::DB backend, const CifarProgress& progress = {});

/// Likewise cifar100_train_BACKEND and cifar100_test_BACKEND of train.bin and test.bin; labels.txt
/// of fine_label_names.txt or coarse_label_names.txt.
CifarRecords convert_cifar100(const std::string& folder, const std::string& out, CifarLabel label,
                              caffe::DataParameter::DB backend, const CifarProgress& progress = {});

}  // namespace crema
