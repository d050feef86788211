// The op of data layers: the next batch of a reader becomes the tops.
#pragma once

#include <cstddef>
#include <vector>

#include "data/batch_reader.h"
#include "layers/op.h"

namespace crema {

class ReaderOp final : public Op {
 public:
  explicit ReaderOp(BatchReader& reader) : reader_(reader) {}

  void forward(const RunContext& run) override {
    std::vector<float*> targets;
    if (run.device.kind() == DeviceKind::kCpu) {
      for (const Tensor& top : run.tops) targets.push_back(top.write());
      reader_.read(targets);
      return;
    }
    std::vector<std::vector<float>> staged;
    for (const Tensor& top : run.tops) {
      staged.emplace_back(static_cast<std::size_t>(top.shape().count()));
      targets.push_back(staged.back().data());
    }
    reader_.read(targets);
    for (std::size_t i = 0; i < staged.size(); ++i) run.tops[i].copy_from_host(targets[i]);
  }

 private:
  BatchReader& reader_;
};

}  // namespace crema
