// Where the parts of a net or solver stand in the text file they came from.
//
// Layers, nets and solvers carry their own positions (field crema_source), so that a check anywhere
// can say "net.prototxt:43" without the text at hand. Paths are those of the message itself:
// "bottom[1]", "pooling_param.pad", "convolution_param.kernel_size[0]", "include[0].phase".
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "caffe.pb.h"

namespace crema {

/// "net.prototxt:43": the line of the field, else of the nearest message around it that has a
/// position, else of the layer (net, solver) itself; "" when nothing is known.
std::string position(const caffe::SourcePositions& source, std::string_view path = "");

/// The same for a LayerParameter, V1LayerParameter, NetParameter or SolverParameter.
template <class Message>
std::string position_of(const Message& message, std::string_view path = "") {
  return message.has_crema_source() ? position(message.crema_source(), path) : std::string();
}

/// A user error with a position in front, if there is one.
template <class... Args>
[[noreturn]] void fail_at(const std::string& position, fmt::format_string<Args...> format,
                          Args&&... args) {
  Error error(ErrorKind::kUser, fmt::format(format, std::forward<Args>(args)...));
  error.add_context(position);
  throw error;
}

/// For code that renames fields: records for `to_path` (and what lies below it) the positions that
/// `from` has for `from_path`.
void copy_positions(const caffe::SourcePositions& from, std::string_view from_path,
                    std::string_view to_path, caffe::SourcePositions* to);

/// Whether any positions are stored in the message or below, and their removal.
bool has_positions(const google::protobuf::Message& message);
void strip_positions(google::protobuf::Message* message);

}  // namespace crema
