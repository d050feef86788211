#include "proto/solver_state.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "proto/blobs.h"
#include "proto/file_kind.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"
#include "proto/io.h"
#include "proto/mapped_file.h"
#include "proto/weights_hdf5.h"

namespace crema {
namespace {

constexpr const char* kTraining = "crema_training";

std::string refusal(FileKind kind, std::string_view content) {
  switch (kind) {
    case FileKind::kNet:
      return "is a weights file, not a solver state; did you mean --weights?";
    case FileKind::kText:
      return "is a text file, not a solver state";
    case FileKind::kEmpty:
      return "is empty";
    case FileKind::kUnknown: {
      const std::string broken = broken_record(content);
      return fmt::format("is not a solver state{}{}", broken.empty() ? "" : "; ", broken);
    }
    default:
      return fmt::format("is {}, not a solver state", describe(kind));
  }
}

void require_state(const hdf5::Handle& file, const std::string& path) {
  if (hdf5::exists(file, "iter") && hdf5::exists(file, "history")) return;
  require(!hdf5::exists(file, "data"),
          "{} is a weights file, not a solver state; did you mean --weights?", path);
  fail("{} is an HDF5 file without \"iter\" and \"history\", so it is no solver state", path);
}

caffe::SolverState read_hdf5_state(const hdf5::Handle& file) {
  caffe::SolverState state;
  state.set_iter(hdf5::read_int(file, "iter"));
  if (hdf5::exists(file, "learned_net")) {
    state.set_learned_net(hdf5::read_string(file, "learned_net"));
  }
  if (hdf5::exists(file, "current_step")) {
    state.set_current_step(hdf5::read_int(file, "current_step"));
  }
  const hdf5::Handle history = hdf5::open_group(file, "history");
  const std::size_t count = hdf5::entries(history).size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    require(hdf5::exists(history, name), "the history lacks data set \"{}\"", name);
    const Shape shape = hdf5::dataset_shape(history, name);
    const std::vector<float> stored = hdf5::read_floats(history, name);
    to_proto(shape, stored.data(), state.add_history());
  }
  if (hdf5::exists(file, kTraining)) {
    require(state.mutable_crema_training()->ParseFromString(hdf5::read_bytes(file, kTraining)),
            "data set \"{}\" is damaged", kTraining);
  }
  return state;
}

void write_hdf5_state(const caffe::SolverState& state, const std::string& path) {
  const hdf5::Handle file = hdf5::create_in_memory();
  with_context(path, [&] {
    hdf5::write_int(file, "iter", state.iter());
    hdf5::write_string(file, "learned_net", state.learned_net());
    hdf5::write_int(file, "current_step", state.current_step());
    {
      const hdf5::Handle history = hdf5::create_group(file, "history");
      for (int i = 0; i < state.history_size(); ++i) {
        const caffe::BlobProto& blob = state.history(i);
        with_context([&] { return fmt::format("history {}", i); },
                     [&] {
                       const std::vector<float> stored = values(blob);
                       hdf5::write_floats(history, std::to_string(i), stored_shape(blob),
                                          stored.data());
                     });
      }
    }
    if (state.has_crema_training()) {
      hdf5::write_bytes(file, kTraining, state.crema_training().SerializeAsString());
    }
  });
  write_file_atomically(path, hdf5::image(file));
}

}  // namespace

caffe::SolverState read_solver_state(const std::string& path) {
  require_file(path, "a solver state");
  caffe::SolverState state;
  const MappedFile file(path);
  const FileKind kind = kind_of(file.bytes());
  if (kind == FileKind::kHdf5) {
    const Hdf5Lock lock;
    const hdf5::Handle hdf5_file = hdf5::open_file(path);
    require_state(hdf5_file, path);
    return with_context(path, [&] { return read_hdf5_state(hdf5_file); });
  }
  require(kind == FileKind::kSolverState, "{} {}", path, refusal(kind, file.bytes()));
  read_binary(path, &state);
  for (int i = 0; i < state.history_size(); ++i) {
    with_context([&] { return fmt::format("{}: history {}", path, i); },
                 [&] { stored_shape(state.history(i)); });
  }
  return state;
}

void write_solver_state(const caffe::SolverState& state, const std::string& path,
                        WeightFormat format) {
  if (format == WeightFormat::kHdf5) {
    const Hdf5Lock lock;
    write_hdf5_state(state, path);
  } else {
    write_binary(state, path);
  }
}

}  // namespace crema
