#include "proto/io.h"

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "proto/blobs.h"
#include "proto/file_kind.h"
#include "proto/fork_binary.h"
#include "proto/mapped_file.h"
#include "proto/text.h"
#include "proto/upgrade.h"

namespace crema {
namespace {

using google::protobuf::Message;

/// Parses a serialized message; `path` and what is wrong on failure.
void parse_binary(std::string_view bytes, const std::string& path, Message* out) {
  require(bytes.size() <= INT_MAX, "{} has {} bytes; protobuf files end at 2^31 - 1", path,
          bytes.size());
  if (parse_quietly(bytes, out)) return;
  const std::string broken = broken_record(bytes);
  fail("{} cannot be read as {}: {}", path, out->GetDescriptor()->name(),
       broken.empty() ? "a record within is damaged" : broken);
}

/// Whether a text's BatchNorm layers have the defaults of Intel's Caffe. Names are the same
/// whoever's they are, so a text with fields of both forks is no riddle.
bool has_intels_defaults(const ForkUse& use, Dialect given) {
  if (given != Dialect::kDetect) return given == Dialect::kIntel;
  return (use.told & (kNvidia | kIntel)) == kIntel;
}

/// upgrade_forks, with one line in the log where nobody asks for the notes.
void upgrade_forks_of(caffe::NetParameter* net, bool intel, const std::string& file,
                      const ReadOptions& options, std::vector<std::string>* upgrades) {
  UpgradeNotes notes;
  upgrade_forks(net, intel, &notes);
  if (upgrades) {
    upgrades->insert(upgrades->end(), notes.begin(), notes.end());
  } else if (!notes.empty() && !options.quiet) {
    LOG(INFO) << file << ": " << notes.front()
              << (notes.size() > 1 ? fmt::format("; {} such changes", notes.size()) : "");
  }
}

/// What a net says where Caffe does not look.
void warn_of_transforms(const caffe::NetParameter& net, const ReadOptions& options) {
  const std::string ignored = ignored_transforms(net);
  if (!ignored.empty() && !options.quiet) LOG(WARNING) << ignored;
}

/// Says what became of a file's fork fields.
void report(const ForkUse& use, const std::string& file, const ReadOptions& options,
            std::vector<std::string>* upgrades) {
  if (upgrades) upgrades->insert(upgrades->end(), use.notes.begin(), use.notes.end());
  const std::string ignored = ignored_sentence(use);
  if (!ignored.empty() && !options.quiet) LOG(WARNING) << file << ": " << ignored;
}

}  // namespace

caffe::NetParameter parse_net(const std::string& text, const std::string& name,
                              std::vector<std::string>* upgrades, const ReadOptions& options) {
  caffe::NetParameter net;
  ForkUse use;
  parse_text(text, name, &net, &use);
  report(use, name, options, upgrades);
  upgrade_net(&net, upgrades);
  warn_of_transforms(net, options);
  upgrade_forks_of(&net, has_intels_defaults(use, options.dialect), name, options, upgrades);
  return net;
}

caffe::NetParameter read_net(const std::string& path, std::vector<std::string>* upgrades,
                             const ReadOptions& options) {
  require_file(path, "a net");
  const MappedFile file(path);
  const FileKind kind = kind_of(file.bytes());
  require(kind != FileKind::kEmpty, "{} is empty", path);
  if (kind == FileKind::kText) return parse_net(std::string(file.bytes()), path, upgrades, options);
  // Prototxt with a stray control character is told by protobuf where it is.
  if (kind == FileKind::kUnknown && looks_like_text(file.bytes())) {
    return parse_net(std::string(file.bytes()), path, upgrades, options);
  }
  const std::string broken =
      kind == FileKind::kUnknown ? broken_record(file.bytes()) : std::string();
  require(kind == FileKind::kNet, "{} is {}, not a net{}{}", path, describe(kind),
          broken.empty() ? "" : "; ", broken);
  caffe::NetParameter net;
  parse_binary(file.bytes(), path, &net);
  strip_positions(&net);
  with_context(path, [&] {
    ForkUse use;
    const Dialect dialect = treat_fork_fields(&net, options.dialect, path, &use);
    report(use, path, options, upgrades);
    upgrade_net(&net, upgrades);
    warn_of_transforms(net, options);
    upgrade_forks_of(&net, dialect == Dialect::kIntel, path, options, upgrades);
    if (const int widened = widen_raw_blobs(&net); widened > 0 && upgrades) {
      upgrades->push_back(counted(widened, "blob") + " in NVIDIA's raw form became floats");
    }
  });
  return net;
}

caffe::SolverParameter read_solver_text(const std::string& path, std::vector<std::string>* upgrades,
                                        const ReadOptions& options) {
  require_file(path, "a solver");
  const std::string text = read_file(path);
  const FileKind kind = kind_of(text);
  require(kind != FileKind::kEmpty, "{} is empty", path);
  require(kind == FileKind::kText || is_foreign(kind) || looks_like_text(text),
          "{} is {}; a solver is a text file (prototxt)", path, describe(kind));
  caffe::SolverParameter solver;
  ForkUse use;
  parse_text(text, path, &solver, &use);
  report(use, path, options, upgrades);
  upgrade_solver(&solver, upgrades);
  const bool intel = has_intels_defaults(use, options.dialect);
  const auto upgrade = [&](caffe::NetParameter* net) {
    warn_of_transforms(*net, options);
    upgrade_forks_of(net, intel, path, options, upgrades);
  };
  if (solver.has_net_param()) upgrade(solver.mutable_net_param());
  if (solver.has_train_net_param()) upgrade(solver.mutable_train_net_param());
  for (auto& net : *solver.mutable_test_net_param()) upgrade(&net);
  return solver;
}

caffe::SolverParameter read_solver(const std::string& path, std::vector<std::string>* upgrades,
                                   const ReadOptions& options) {
  caffe::SolverParameter solver = read_solver_text(path, upgrades, options);
  set_snapshot_prefix(path, &solver);
  return solver;
}

bool parse_quietly(std::string_view bytes, Message* out) {
  // protobuf would print a line for each name that is not UTF-8; such nets are legal and old.
  const google::protobuf::LogSilencer silencer;
  return bytes.size() <= INT_MAX &&
         out->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void read_binary(const std::string& path, Message* out) {
  require_file(path, "a file");
  const MappedFile file(path);
  parse_binary(file.bytes(), path, out);
}

void write_binary(const Message& message, const std::string& path) {
  std::unique_ptr<Message> copy;
  if (has_positions(message)) {
    copy.reset(message.New());
    copy->CopyFrom(message);
    strip_positions(copy.get());
  }
  const Message& plain = copy ? *copy : message;
  const std::size_t size = plain.ByteSizeLong();
  require(size <= INT_MAX,
          "{} would have {}, but protobuf files end at 2^31 - 1 bytes; write HDF5 "
          "(snapshot_format: HDF5)",
          path, human_bytes(static_cast<double>(size)));
  write_file_atomically(path, [&](const std::string& temporary) {
    const google::protobuf::LogSilencer silencer;
    errno = 0;
    std::ofstream out(temporary, std::ios::binary);
    const bool written = out.good() && plain.SerializePartialToOstream(&out);
    out.close();
    require_system(written && out.good(), "cannot write {}", path);
  });
}

void write_text(const Message& message, const std::string& path) {
  write_file_atomically(path, print_text(message));
}

}  // namespace crema
