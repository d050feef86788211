// What data layers have in common: a reader, whose next batch becomes the tops.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "data/batch_reader.h"
#include "layers/layer.h"

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

/// No bottom; shapes come from the first record. The source is opened when they are first asked
/// for.
class ReaderLayer : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>&) const override {
    if (!reader_) reader_ = open();
    Inference inference;
    inference.tops = reader_->shapes(reader_->items());
    return inference;
  }

  std::unique_ptr<Op> plan(const PlanRequest&) const override {
    return std::make_unique<ReaderOp>(*reader_);
  }
  BatchReader* reader() const override { return reader_.get(); }

 private:
  virtual std::unique_ptr<BatchReader> open() const = 0;

  mutable std::unique_ptr<BatchReader> reader_;
};

}  // namespace crema
