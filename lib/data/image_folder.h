// Folders with a sub-folder of pictures for each class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crema {

struct ImageFolder {
  struct File {
    std::string name;  ///< below the folder: "cat/a.png"
    int label = 0;     ///< index into classes
  };
  std::vector<std::string> classes;  ///< names of the sub-folders, in byte order
  std::vector<File> files;           ///< by class, then in byte order of their names
};

/// Looks through `path`. Pictures are what ends in jpg, jpeg, png, bmp, webp, tif, tiff, ppm, pgm
/// or gif, in small or capital letters. What begins with a dot is left out; links are followed.
/// Pictures that lie in no sub-folder are left out with a warning. Fails when there are no
/// sub-folders or no pictures, saying what was found.
ImageFolder find_images(const std::string& path);

/// Whether there is a folder.
bool is_folder_path(const std::string& path);
/// Whether there is nothing at all.
bool is_missing(const std::string& path);

}  // namespace crema
