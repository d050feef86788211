// Making primitives and memory objects costs more than many a run of them: whatever can be kept
// from call to call is kept, the reorders with the device.
#include "primitives/cpu/dnnl_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "kernels/thread_scope.h"

namespace crema::cpu {
namespace {

/// The reorders of one device, kept because making one costs far more than a small copy.
class ReorderCache {
 public:
  struct Entry {
    dnnl::memory::desc from, to;
    std::size_t scratchpad_bytes = 0;
    DnnlCall call;
  };

  Entry& find(const dnnl::engine& engine, const dnnl::memory::desc& from,
              const dnnl::memory::desc& to) {
    std::vector<Entry>& entries = entries_[hash(from) * 31 + hash(to)];
    for (Entry& entry : entries) {
      if (entry.from == from && entry.to == to) return entry;
    }
    const dnnl::reorder::primitive_desc plan(engine, from, engine, to, user_scratchpad());
    entries.push_back({from, to, plan.scratchpad_desc().get_size(),
                       DnnlCall(engine, dnnl::reorder(plan),
                                {{DNNL_ARG_FROM, from},
                                 {DNNL_ARG_TO, to},
                                 {DNNL_ARG_SCRATCHPAD, plan.scratchpad_desc()}})});
    return entries.back();
  }

  /// Memory for a reorder that wants some; few do.
  void* scratchpad(std::size_t bytes) {
    if (scratchpad_.size() < bytes) scratchpad_.resize(bytes);
    return scratchpad_.data();
  }

 private:
  static std::size_t hash(const dnnl::memory::desc& desc) {
    std::size_t result = static_cast<std::size_t>(desc.data.ndims);
    for (int axis = 0; axis < desc.data.ndims; ++axis) {
      result = result * 1000003 + static_cast<std::size_t>(desc.data.dims[axis]);
      result =
          result * 1000003 + static_cast<std::size_t>(desc.data.format_desc.blocking.strides[axis]);
    }
    return result;
  }

  std::unordered_map<std::size_t, std::vector<Entry>> entries_;
  std::vector<char> scratchpad_;
};

}  // namespace

dnnl::memory::desc row_major(const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    strides[axis - 1] = strides[axis] * std::max<dnnl::memory::dim>(dims[axis], 1);
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

Layout layout_of(const dnnl::memory::desc& desc) {
  if (desc == row_major(desc.dims())) return Layout();
  return Layout(std::make_shared<DnnlDescription>(desc));
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

DnnlCall::DnnlCall(const dnnl::engine& engine, dnnl::primitive primitive,
                   std::initializer_list<Argument> arguments)
    : primitive_(std::move(primitive)) {
  for (const Argument& argument : arguments) {
    memories_.emplace_back();
    if (argument.desc.get_size() == 0) continue;
    memories_.back() = dnnl::memory(argument.desc, engine, DNNL_MEMORY_NONE);
    arguments_.push_back({argument.name, memories_.back().get()});
  }
}

void DnnlCall::run(const Device& device, const DnnlBackend& backend,
                   std::initializer_list<const void*> addresses) {
  CREMA_ASSERT(addresses.size() == memories_.size());
  const ThreadScope threads(device);
  auto memory = memories_.begin();
  for (const void* const address : addresses) {
    if (*memory) memory->set_data_handle(const_cast<void*>(address));
    ++memory;
  }
  // A CPU stream runs at once and is done on return. The C function spares a map of arguments.
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), backend.stream.get(),
                             static_cast<int>(arguments_.size()), arguments_.data());
  require(status != dnnl_out_of_memory, "out of memory in oneDNN");
  dnnl::error::wrap_c_api(status, "oneDNN could not run a primitive");
}

void reorder_memory(Device& device, const dnnl::memory::desc& from_desc, const float* from,
                    const dnnl::memory::desc& to_desc, float* to) {
  auto& backend = device.backend<DnnlBackend>();
  auto& cache = device.backend<ReorderCache>();
  const ThreadScope threads(device);
  ReorderCache::Entry& entry = cache.find(backend.engine, from_desc, to_desc);
  entry.call.run(device, backend, {from, to, cache.scratchpad(entry.scratchpad_bytes)});
}

std::string DnnlDescription::name() const {
  // As oneDNN's own tags: axes by falling stride, capital if blocked, then the blocks:
  // "ABcd16b16a".
  const dnnl_memory_desc_t& data = desc_.data;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  std::vector<int> order(static_cast<std::size_t>(data.ndims));
  for (int axis = 0; axis < data.ndims; ++axis) order[static_cast<std::size_t>(axis)] = axis;
  std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
    return blocking.strides[left] > blocking.strides[right];
  });
  std::string tag;
  for (const int axis : order) {
    const auto* const last = blocking.inner_idxs + blocking.inner_nblks;
    const bool blocked = std::find(blocking.inner_idxs, last, axis) != last;
    tag += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (int block = 0; block < blocking.inner_nblks; ++block) {
    tag += fmt::format("{}{}", blocking.inner_blks[block],
                       static_cast<char>('a' + blocking.inner_idxs[block]));
  }
  return "onednn " + tag;
}

}  // namespace crema::cpu
