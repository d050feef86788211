// A file as memory, for the large ones that are parsed once.
#pragma once

#include <string>
#include <string_view>

namespace crema {

class MappedFile {
 public:
  /// Fails like read_file. The file must not shrink while it is mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace crema
