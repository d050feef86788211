// The little of HDF5 that Crema needs, as functions that fail with a sentence.
//
// The library behind it is not safe for use from several threads at once: callers hold an Hdf5Lock.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace crema::hdf5 {

/// An open file, group, data set, …; closed at the end.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { reset(); }

  hid_t id() const { return id_; }
  bool valid() const { return id_ >= 0; }
  /// Closes now; false when that failed, which for a written file means that data was lost.
  bool reset();

 private:
  hid_t id_;
  Close close_;
};

struct Entry {
  std::string name;
  bool is_group = false;
};

/// The library's innermost complaint about its last failure, which has the actual reason.
std::string reason();

/// For reading. Asks for no file lock.
Handle open_file(const std::string& path);
/// A new file that lives in memory alone: written as one piece by the caller, so that a full disk
/// is our error and not the library's, which crashes over it when the program ends. Object times
/// are not recorded, so that equal content gives equal files.
Handle create_in_memory();
/// The bytes of such a file, as they would be on disk. Groups and data sets must be closed.
std::string image(const Handle& file);

bool exists(const Handle& parent, const std::string& name);
Handle open_group(const Handle& parent, const std::string& name);
/// `name` must not hold a slash.
Handle create_group(const Handle& parent, const std::string& name);
/// In byte order of their names.
std::vector<Entry> entries(const Handle& parent);

/// Numbers of any stored type, converted.
Shape dataset_shape(const Handle& parent, const std::string& name);
std::vector<float> read_floats(const Handle& parent, const std::string& name);
int read_int(const Handle& parent, const std::string& name);
/// Fixed or variable length.
std::string read_string(const Handle& parent, const std::string& name);
std::string read_bytes(const Handle& parent, const std::string& name);

void write_floats(const Handle& parent, const std::string& name, const Shape& shape,
                  const float* values);
/// Of shape (1).
void write_int(const Handle& parent, const std::string& name, int value);
void write_string(const Handle& parent, const std::string& name, const std::string& value);
void write_bytes(const Handle& parent, const std::string& name, const std::string& value);

}  // namespace crema::hdf5
