#include "data/image_files.h"

#include "data/image_folder.h"

namespace crema {

ImageFiles::ImageFiles(const ImageList* list, std::string root)
    : list_(list), root_(std::move(root)) {
  const bool is_archive = root_.ends_with(".tar") && !is_missing(root_) && !is_folder_path(root_);
  if (is_archive) archive_ = std::make_unique<TarArchive>(root_);
}

std::string ImageFiles::path(std::int64_t i) const {
  return archive_ ? root_ + ": " + list_->name(i) : list_->file(i, root_);
}

std::string ImageFiles::read(std::int64_t i) const {
  return archive_ ? archive_->read(list_->name(i)) : read_listed_file(list_->file(i, root_));
}

}  // namespace crema
