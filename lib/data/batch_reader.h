// Where data layers get their batches from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "data/reader_options.h"
#include "tensor/shape.h"

namespace crema {

struct Views;

/// An endless stream of records: after the last one comes the first, also within a batch.
///
/// Worker threads read, decode and transform ahead of read(), from the first read() on; how many
/// there are has no influence on what is read. All functions are for one thread, the reader's
/// owner.
class BatchReader {
 public:
  virtual ~BatchReader() = default;

  /// One shape a top for a batch of so many records; its axis 0 are the records, each views()
  /// times. Known from the first record, which is not consumed, and later from the last
  /// follow_shapes().
  virtual std::vector<Shape> shapes(int records) const = 0;

  /// To be called before each read(): a batch has the shape of its first record, which may be
  /// another than before, and is smaller where broken records were left out. True when it differs
  /// from the batch before; shapes() and items() have it then. (Waits for the batch where that can
  /// happen; what goes wrong with it is left to read().)
  virtual bool follow_shapes() = 0;

  /// Records in the next batch, or, after read(), in the last one: batch_size() less those that
  /// were left out. With 0 there is nothing to read, and pass_over() has to be called.
  virtual int items() const = 0;
  /// As read(), but hands out nothing. Fails when that was a whole epoch of broken records.
  virtual void pass_over() = 0;

  virtual int batch_size() const = 0;
  /// Keeps the position; batches read ahead in the old size are dropped.
  virtual void set_batch_size(int batch_size) = 0;

  /// Of every `stride` records (the batch of all replicas together), this reader takes
  /// batch_size() beginning with number `offset`. position() counts those of all. Without a call:
  /// 0 and batch_size().
  virtual void set_share(int offset, int stride) = 0;

  /// Several views of each picture, behind one another in the batch (data/views.h).
  virtual void set_views(const Views& views) = 0;
  virtual int views() const = 0;

  /// Records in the source.
  virtual std::int64_t records() const = 0;

  /// Fills one array a top with the next items() records. What went wrong with one (a damaged
  /// record, a file that went away) is thrown by the read() whose batch it is in, the first
  /// record's error if there are several; the position then stays before that batch.
  virtual void read(const std::vector<float*>& tops) = 0;

  /// Where item `i` of the last batch came from: `record "00000012" of train_lmdb`, `row 7 of
  /// a.h5`; "" where the batch has no such item.
  virtual std::string describe(int item) const = 0;

  /// Records that read() has handed out since the beginning (not modulo records()).
  virtual std::uint64_t position() const = 0;
  /// Goes on as if `records_consumed` records had been read: the same records, the same random
  /// numbers.
  virtual void seek(std::uint64_t records_consumed) = 0;

  /// Records left out so far (ReaderOptions::skip_bad_records), and what was wrong with the first
  /// few.
  virtual std::int64_t skipped_count() const = 0;
  virtual std::vector<std::string> skipped() const = 0;

  /// Time that read() and follow_shapes() have waited for a batch.
  virtual double seconds_waiting() const = 0;
};

/// The source of a "Data" layer (LMDB, LevelDB). Tops: the pictures, transformed (batch x C x H x
/// W), and, if the layer has more, the labels: one more top takes all of a record (batch for one
/// label, batch x n for n), n more tops take one label each (batch). With shuffle the order is
/// drawn anew every epoch; every record still comes once an epoch.
std::unique_ptr<BatchReader> open_data(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed, const ReaderOptions& reading = {});

/// The source of an "ImageData" layer: picture files and their labels from a list, or from a folder
/// with a sub-folder for each class. Tops and shuffle as those of Data.
std::unique_ptr<BatchReader> open_image_list(const caffe::LayerParameter& layer, caffe::Phase phase,
                                             std::uint64_t seed, const ReaderOptions& reading = {});

/// The source of a "WindowData" layer: parts of pictures, drawn at random; those of the background
/// (label 0) come first in a batch. Tops as those of Data.
std::unique_ptr<BatchReader> open_windows(const caffe::LayerParameter& layer, std::uint64_t seed,
                                          const ReaderOptions& reading = {});

/// The source of an "HDF5Data" layer: each top is the dataset of its name, rows along axis 0; the
/// layer's transform_param applies to the first. With shuffle, the order of the files and that of
/// the rows within each file is drawn anew every epoch; every row still comes once an epoch.
std::unique_ptr<BatchReader> open_hdf5(const caffe::LayerParameter& layer, caffe::Phase phase,
                                       std::uint64_t seed, const ReaderOptions& reading = {});

}  // namespace crema
