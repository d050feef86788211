// Where the picture files of a list lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/image_list.h"
#include "data/tar_archive.h"

namespace crema {

/// The files that an ImageList names: below `root`, which is put in front of each name as it is, or
/// in `root` itself when that is a tar archive (it ends in ".tar" and is no folder).
class ImageFiles {
 public:
  /// The list must outlive it. Opens the archive.
  ImageFiles(const ImageList* list, std::string root);

  /// For messages.
  std::string path(std::int64_t i) const;
  /// The bytes of a file; any number of threads may ask at once.
  std::string read(std::int64_t i) const;

 private:
  const ImageList* list_;
  std::string root_;
  std::unique_ptr<TarArchive> archive_;
};

}  // namespace crema
