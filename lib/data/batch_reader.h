// Where data layers get their batches from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "tensor/shape.h"

namespace crema {

/// An endless stream of records: after the last one comes the first, also within a batch.
///
/// One thread reads ahead of read(); it starts with the first read() and has no influence on what
/// is read. All functions are for one thread, the reader's owner.
class BatchReader {
 public:
  virtual ~BatchReader() = default;

  /// One shape a top, its axis 0 the batch. Known from the first record, which is not consumed, and
  /// later from the last follow_shapes().
  virtual std::vector<Shape> shapes(int batch_size) const = 0;

  /// To be called before each read(): a batch has the shape of its first record, which may be
  /// another than before. True when that is so; shapes() has it then. (Waits for the batch where
  /// records can differ in size; what goes wrong with it is left to read().)
  virtual bool follow_shapes() = 0;

  virtual int batch_size() const = 0;
  /// Keeps the position; batches read ahead in the old size are dropped.
  virtual void set_batch_size(int batch_size) = 0;

  /// Records in the source.
  virtual std::int64_t records() const = 0;

  /// Fills one array a top with the next batch_size() records. What the reading thread met (a
  /// damaged record, a file that went away) is thrown by the read() whose batch it is in; the
  /// position then stays before that batch.
  virtual void read(const std::vector<float*>& tops) = 0;

  /// Where item `i` of the last batch came from: `record "00000012" of train_lmdb`, `row 7 of
  /// a.h5`; "" where the batch has no such item.
  virtual std::string describe(int item) const = 0;

  /// Records that read() has handed out since the beginning (not modulo records()).
  virtual std::uint64_t position() const = 0;
  /// Goes on as if `records_consumed` records had been read: the same records, the same random
  /// numbers.
  virtual void seek(std::uint64_t records_consumed) = 0;

  /// Time that read() has waited for the reading thread.
  virtual double seconds_waiting() const = 0;
};

/// The source of a "Data" layer (LMDB, LevelDB). Tops: the pictures, transformed (batch x C x H x
/// W), and, if the layer has two, the labels (batch).
std::unique_ptr<BatchReader> open_data(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed);

/// The source of an "ImageData" layer: picture files and their labels from a list. Tops as those of
/// Data. With shuffle the order is drawn anew every epoch; every line still comes once an epoch.
std::unique_ptr<BatchReader> open_image_list(const caffe::LayerParameter& layer, caffe::Phase phase,
                                             std::uint64_t seed);

/// The source of a "WindowData" layer: parts of pictures, drawn at random; those of the background
/// (label 0) come first in a batch. Tops as those of Data.
std::unique_ptr<BatchReader> open_windows(const caffe::LayerParameter& layer, std::uint64_t seed);

/// The source of an "HDF5Data" layer: each top is the dataset of its name, rows along axis 0.
/// With shuffle, the order of the files and that of the rows within each file is drawn anew every
/// epoch; every row still comes once an epoch.
std::unique_ptr<BatchReader> open_hdf5(const caffe::LayerParameter& layer, std::uint64_t seed);

}  // namespace crema
