#include "net/param_store.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "layers/filler.h"
#include "primitives/layouts.h"
#include "proto/blobs.h"

namespace crema {
namespace {

std::size_t padded_bytes(const ParamNode& param) {
  const auto bytes = static_cast<std::size_t>(param.layout.elements(param.shape)) * sizeof(float);
  return (bytes + 63) / 64 * 64;
}

/// For errors: which parameter takes the most memory, or "".
std::string largest_param(const Graph& graph) {
  const auto largest = std::ranges::max_element(graph.params, {}, padded_bytes);
  if (largest == graph.params.end()) return "";
  return fmt::format("{}: its parameter {} ({}, {}) is the largest of the net",
                     graph.nodes[static_cast<std::size_t>(largest->owner)].where(), largest->index,
                     largest->shape.str(),
                     human_bytes(static_cast<double>(padded_bytes(*largest))));
}

/// From the definition's own blobs, else by the filler.
std::vector<float> initial_values(const Node& owner, const ParamNode& param, std::uint64_t seed,
                                  const Device& device) {
  if (owner.definition.blobs_size() > 0) {
    require(param.index < owner.definition.blobs_size(),
            "the definition holds {}, but the layer has more parameters",
            counted(owner.definition.blobs_size(), "blob"));
    const caffe::BlobProto& blob = owner.definition.blobs(param.index);
    require(shape_fits(blob, param.shape),
            "blob {} of the definition has shape {}, the parameter {}", param.index,
            stored_shape(blob).str(), param.shape.str());
    return values(blob);
  }
  std::vector<float> filled(static_cast<std::size_t>(param.shape.count()));
  const RandomStream random(
      seed, stream_id(owner.name() + "/filler", static_cast<std::uint64_t>(param.index)));
  with_context([&] { return fmt::format("filler of parameter {}", param.index); },
               [&] { fill(device, param.filler, param.shape, random, filled.data()); });
  return filled;
}

}  // namespace

ParamStore::ParamStore(const Graph& graph, Device& device, bool gradients, std::uint64_t seed,
                       const std::map<int, Tensor>& borrowed)
    : data_(graph.params.size()), gradient_(graph.params.size()), written_(graph.params.size(), 0) {
  std::size_t data_bytes = 0, gradient_bytes = 0;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    if (!borrowed.contains(static_cast<int>(i))) data_bytes += padded_bytes(graph.params[i]);
    if (gradients) gradient_bytes += padded_bytes(graph.params[i]);
  }
  with_context([&] { return largest_param(graph); },
               [&] {
                 data_buffer_ = Buffer(device, data_bytes);
                 gradient_buffer_ = Buffer(device, gradient_bytes);
               });
  std::size_t data_offset = 0, gradient_offset = 0;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    const ParamNode& param = graph.params[i];
    const auto other = borrowed.find(static_cast<int>(i));
    if (other != borrowed.end()) {
      data_[i] = other->second;
    } else {
      data_[i] = Tensor(device, param.shape, param.layout, data_buffer_.floats(data_offset));
      data_offset += padded_bytes(param);
      const Node& owner = graph.nodes[static_cast<std::size_t>(param.owner)];
      with_context(
          [&] { return owner.where(); },
          [&] { write_plain(data_[i], initial_values(owner, param, seed, device).data()); });
    }
    if (gradients) {
      gradient_[i] =
          Tensor(device, param.shape, param.layout, gradient_buffer_.floats(gradient_offset));
      gradient_offset += padded_bytes(param);
    }
  }
}

void ParamStore::finish_gradient(int param) {
  const auto i = static_cast<std::size_t>(param);
  if (!gradient_[i] || written_[i]) return;
  gradient_[i].fill_zero();
  written_[i] = 1;
}

void ParamStore::finish_gradients() {
  for (std::size_t i = 0; i < gradient_.size(); ++i) finish_gradient(static_cast<int>(i));
}

std::size_t param_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const ParamNode& param : graph.params) bytes += padded_bytes(param);
  return bytes;
}

void write_plain(const Tensor& tensor, const float* values) {
  if (tensor.layout().is_plain()) {
    tensor.copy_from_host(values);
    return;
  }
  const Buffer buffer(tensor.device(),
                      static_cast<std::size_t>(tensor.shape().count()) * sizeof(float));
  const Tensor plain(tensor.device(), tensor.shape(), Layout(), buffer.floats());
  plain.copy_from_host(values);
  reorder(plain, tensor);
}

std::vector<float> read_plain(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape().count()));
  if (tensor.layout().is_plain()) {
    tensor.copy_to_host(values.data());
    return values;
  }
  const Buffer buffer(tensor.device(), values.size() * sizeof(float));
  const Tensor plain(tensor.device(), tensor.shape(), Layout(), buffer.floats());
  reorder(tensor, plain);
  plain.copy_to_host(values.data());
  return values;
}

}  // namespace crema
