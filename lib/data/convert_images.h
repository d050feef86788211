// From a list of picture files to a data base.
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
  bool skip_bad_records = false;            ///< leave out what cannot be read
};

struct ConvertImagesResult {
  std::int64_t records = 0;
  std::vector<std::string> skipped;  ///< what was wrong with each image that was left out
};

/// Makes a data base of the images of `list` (see ImageList), whose names `root` is put in front
/// of: key `%08d_NAME` with the place in the list, from 0; value a Datum as Caffe's
/// convert_imageset makes it. With `encoded` a file is stored as it is if it need not be resized
/// or made grey and has the right type. Images that cannot be read are an error that lists them,
/// once all have been looked at. `progress`, if given, is told (done, of how many).
ConvertImagesResult convert_images(
    const std::string& root, const std::string& list, const std::string& db,
    const ConvertImagesOptions& options,
    const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace crema
