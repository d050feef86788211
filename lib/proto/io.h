// Nets and solvers from files, in today's form whatever their age.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "caffe.pb.h"
#include "proto/fork_fields.h"
#include "proto/positions.h"

namespace crema {

struct ReadOptions {
  /// Whose field numbers a binary file has and whose defaults hold.
  Dialect dialect = Dialect::kDetect;
  /// No warning about fields of forks that were ignored: the file has been read before.
  bool quiet = false;
};

/// A net from a text or binary file (told apart by content), upgraded, with positions if text.
/// `upgrades` receives one sentence for each thing that was brought up to date. What is ignored of
/// a fork's fields is one warning in the log.
caffe::NetParameter read_net(const std::string& path, std::vector<std::string>* upgrades = nullptr,
                             const ReadOptions& options = {});

/// A net from text; `name` stands for the file name in messages.
caffe::NetParameter parse_net(const std::string& text, const std::string& name,
                              std::vector<std::string>* upgrades = nullptr,
                              const ReadOptions& options = {});

/// A solver from a text file, upgraded, its nets too; snapshot_prefix as it stands there.
caffe::SolverParameter read_solver_text(const std::string& path,
                                        std::vector<std::string>* upgrades = nullptr,
                                        const ReadOptions& options = {});

/// The same with snapshot_prefix always set.
caffe::SolverParameter read_solver(const std::string& path,
                                   std::vector<std::string>* upgrades = nullptr,
                                   const ReadOptions& options = {});

/// Parses a serialized message, missing required fields and all; false if it is damaged. Nothing is
/// printed.
bool parse_quietly(std::string_view bytes, google::protobuf::Message* out);

/// Any message from a binary file, as it is.
void read_binary(const std::string& path, google::protobuf::Message* out);

/// Writes a binary file, wholly or not at all, without positions. Fails beyond 2^31 - 1 bytes,
/// which no reader takes.
void write_binary(const google::protobuf::Message& message, const std::string& path);

/// Writes prototxt, wholly or not at all, without positions.
void write_text(const google::protobuf::Message& message, const std::string& path);

}  // namespace crema
