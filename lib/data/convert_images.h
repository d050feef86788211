// From picture files to data bases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caffe.pb.h"

namespace crema {

struct ConvertImagesOptions {
  bool gray = false;     ///< one channel instead of three
  bool shuffle = false;  ///< records in a random order, by `seed`
  std::uint64_t seed = 0;
  caffe::DataParameter::DB backend = caffe::DataParameter::LMDB;
  int resize_height = 0, resize_width = 0;  ///< both or neither
  bool check_size = false;                  ///< images of different sizes are an error
  bool encoded = false;                     ///< records hold picture files, not pixels
  std::string encode_type;                  ///< "png", "jpg"; "": as the file's name ends
  int label_count = 1;                      ///< labels a line of the list
  bool float_labels = false;                ///< store labels as float_label
  bool skip_bad_records = false;            ///< leave out what cannot be read
  int threads = 0;                          ///< 0: one a core; the result is the same for all
  /// Records that wait for earlier ones take about so much memory at most: what is beyond is made
  /// again when its turn comes.
  std::size_t waiting_bytes = std::size_t{512} << 20;
};

struct ConvertImagesResult {
  std::int64_t records = 0;
  std::int64_t skipped = 0;
  std::vector<std::string> reasons;  ///< what was wrong with the first kReasons that were left out

  static constexpr std::size_t kReasons = 10;
};

/// What is told as the work goes on.
struct ConvertImagesEvents {
  std::function<void(std::int64_t images)> listed;                    ///< the list was read
  std::function<void(std::int64_t done, std::int64_t all)> progress;  ///< images looked at
  std::function<void(std::int64_t records)> written;                  ///< records so far
};

/// Makes a data base of the images of `list` (see ImageList), whose names `root` is put in front of
/// (or that lie in it, if it is a tar archive): key `%08d_NAME` with the place in the list, from 0;
/// value a Datum as Caffe's convert_imageset makes it. With `encoded` a file is stored as it is if
/// it need not be resized or made grey and has the right type.
///
/// Decoding, resizing and encoding run on `threads`. Memory is needed for `waiting_bytes`, three
/// times the largest picture for each thread, and some 150 bytes for each image of the list.
///
/// Images that cannot be read, and whose name is too long for a key, are an error that lists them
/// once all have been looked at; so is a data base without a record. Wrong options are UsageErrors.
ConvertImagesResult convert_images(const std::string& root, const std::string& list,
                                   const std::string& db, const ConvertImagesOptions& options,
                                   const ConvertImagesEvents& events = {});

/// The file in a data base's folder that names its classes, one a line in the order of the labels.
inline constexpr const char* kLabelsFile = "labels.txt";

struct ConvertFolderOptions {
  ConvertImagesOptions images;
  double test_share = 0;  ///< of each class' images, drawn by `seed`, which go into test_db
  std::string test_db;
};

struct ConvertFolderResult {
  ConvertImagesResult train, test;
  std::int64_t classes = 0;
};

/// Likewise of a folder with a sub-folder for each class (see ImageList): keys `%08d_CLASS/NAME`.
/// With a test share a second data base gets the images that the first one has not; of n images of
/// a class test_share * n, rounded. Both are there or none. Each has a file kLabelsFile.
ConvertFolderResult convert_folder(const std::string& folder, const std::string& db,
                                   const ConvertFolderOptions& options,
                                   const ConvertImagesEvents& events = {});

}  // namespace crema
