#include "data/image_codecs.h"

#include <dlfcn.h>

#include <boost/filesystem.hpp>
#include <vector>

#include "base/error.h"

namespace crema {
namespace {

namespace fs = boost::filesystem;

constexpr const char* kLibrary = "libcrema_codecs.so";

/// Where the library may be: beside the program, one level higher for programs in a folder of their
/// own, then by its bare name, which the loader looks up.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  boost::system::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path folder = program.parent_path();
    for (int level = 0; level < 2; ++level) {
      folder = folder.parent_path();
      const fs::path path = folder / "lib" / kLibrary;
      if (fs::exists(path, error)) paths.push_back(path.string());
    }
  }
  paths.emplace_back(kLibrary);
  return paths;
}

const ImageCodecs* open_codecs() {
  std::string reason;
  for (const std::string& path : candidates()) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (const char* text = ::dlerror(); reason.empty() && text != nullptr) reason = text;
      continue;
    }
    const auto make =
        reinterpret_cast<decltype(&crema_image_codecs)>(::dlsym(library, "crema_image_codecs"));
    if (make != nullptr) return make();
    ::dlclose(library);
    reason = path + " is something else";
  }
  fail("cannot open the library that decodes images: {}", reason);
}

}  // namespace

const ImageCodecs& image_codecs() {
  static const ImageCodecs* const codecs = open_codecs();
  return *codecs;
}

}  // namespace crema
