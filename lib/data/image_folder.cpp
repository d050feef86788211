#include "data/image_folder.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <boost/filesystem.hpp>
#include <cctype>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "data/database.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

/// A link to a folder above it would go on for ever.
constexpr int kMaxDepth = 32;

bool is_picture(const fs::path& path) {
  constexpr std::array<std::string_view, 10> kEndings{".bmp", ".gif", ".jpeg", ".jpg",  ".pgm",
                                                      ".png", ".ppm", ".tif",  ".tiff", ".webp"};
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

/// What is not hidden in a folder, in byte order of names.
struct Contents {
  std::vector<std::string> folders, pictures;
  std::int64_t others = 0;
};

Contents contents_of(const fs::path& folder) {
  Contents result;
  boost::system::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) continue;
    boost::system::error_code ignored;
    if (fs::is_directory(it->path(), ignored)) {
      result.folders.push_back(name);
    } else if (is_picture(it->path())) {
      result.pictures.push_back(name);
    } else {
      ++result.others;
    }
  }
  require(!error, "cannot read folder {}: {}", folder.string(), error.message());
  std::sort(result.folders.begin(), result.folders.end());
  std::sort(result.pictures.begin(), result.pictures.end());
  return result;
}

void collect(const fs::path& root, const std::string& below, int depth,
             std::vector<std::string>* names) {
  require(depth < kMaxDepth, "folder {} lies more than {} folders deep; is a link its own parent?",
          (root / below).string(), kMaxDepth);
  const Contents contents = contents_of(root / below);
  for (const std::string& name : contents.pictures) names->push_back(below + "/" + name);
  for (const std::string& name : contents.folders) {
    collect(root, below + "/" + name, depth + 1, names);
  }
}

}  // namespace

ImageFolder find_images(const std::string& path) {
  const std::string kind = database_kind(path);
  require(kind.empty(), "{} is an {}, which a Data layer reads, and no folder of images", path,
          kind);
  const Contents top = contents_of(path);
  const auto loose = static_cast<std::int64_t>(top.pictures.size());
  require(!top.folders.empty(),
          "folder {} holds {}, but no sub-folders; each class needs one with its images", path,
          loose > 0        ? counted(loose, "image")
          : top.others > 0 ? counted(top.others, "file") + " of other kinds"
                           : "nothing");
  ImageFolder result;
  result.classes = top.folders;
  for (std::size_t label = 0; label < top.folders.size(); ++label) {
    std::vector<std::string> names;
    collect(path, top.folders[label], 0, &names);
    std::sort(names.begin(), names.end());
    for (std::string& name : names) {
      result.files.push_back({std::move(name), static_cast<int>(label)});
    }
  }
  require(!result.files.empty(),
          "folder {} has {} for classes, but no images in them; images end in jpg, jpeg, png, bmp, "
          "webp, tif, tiff, ppm, pgm or gif",
          path, counted(static_cast<long long>(top.folders.size()), "sub-folder"));
  if (loose > 0) {
    LOG(WARNING) << path << ": left out " << counted(loose, "image") << " in no sub-folder";
  }
  return result;
}

bool is_folder_path(const std::string& path) {
  boost::system::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_missing(const std::string& path) {
  boost::system::error_code error;
  return fs::status(path, error).type() == fs::file_not_found;
}

}  // namespace crema
