// LRN (1 bottom, 1 top): local response normalisation of a bottom N x C x H x W, y = x * s^-beta;
// n = local_size (odd).
//
// ACROSS_CHANNELS (primitives/lrn.h): the sum is over n channels around.
//
//     s = k + alpha/n * sum of x^2
//
// WITHIN_CHANNEL (here): the sum is over the n x n square around, 0 outside of the image. k is not
// used, as in Caffe.
//
//     s = 1 + alpha/n^2 * sum of x^2
//
//     dx_j = dy_j * s_j^-beta - 2*alpha*beta/n^2 * x_j * (sum of dy_i * x_i * s_i^(-beta-1))
//
// Krizhevsky et al., NIPS 2012, section 3.3.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/parallel_for.h"
#include "layers/fields.h"
#include "primitives/lrn.h"

namespace crema {
namespace {

class AcrossChannelsOp final : public Op {
 public:
  explicit AcrossChannelsOp(const LrnShape& shape) : shape_(shape) {}

  void forward(const RunContext& run) override { lrn_forward(shape_, run.bottoms[0], run.tops[0]); }
  void backward(const RunContext& run) override {
    if (run.top_gradients[0]) {
      lrn_backward(shape_, run.bottoms[0], run.top_gradients[0], run.bottom_gradients[0]);
    } else {
      run.bottom_gradients[0].fill_zero();
    }
  }

 private:
  LrnShape shape_;
};

/// Each plane by itself.
class WithinChannelOp final : public Op {
 public:
  WithinChannelOp(const Shape& bottom, std::int64_t size, float alpha, float beta)
      : planes_(bottom.count(0, 2)),
        height_(bottom[2]),
        width_(bottom[3]),
        radius_(std::min((size - 1) / 2, std::max(height_, width_))),  // the image ends there
        factor_(alpha / (static_cast<float>(size) * static_cast<float>(size))),
        beta_(beta) {
    // s, and the terms of the sum in the gradient.
    scratch_bytes_ = 2 * static_cast<std::size_t>(bottom.count()) * sizeof(float);
  }

  void forward(const RunContext& run) override {
    float* s = static_cast<float*>(run.scratch);
    for_each_plane(run, [&, x = run.bottoms[0].read(), y = run.tops[0].write()](std::int64_t at) {
      scales(x + at, s + at);
      for (std::int64_t i = at; i < at + height_ * width_; ++i) {
        y[i] = x[i] * std::pow(s[i], -beta_);
      }
    });
  }

  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.bottom_gradients[0].fill_zero();
      return;
    }
    float* s = static_cast<float*>(run.scratch);
    float* terms = s + planes_ * height_ * width_;
    const float* x = run.bottoms[0].read();
    const float* dy = run.top_gradients[0].read();
    float* dx = run.bottom_gradients[0].write();
    for_each_plane(run, [=, this](std::int64_t at) {
      scales(x + at, s + at);
      for (std::int64_t i = at; i < at + height_ * width_; ++i) {
        const float power = std::pow(s[i], -beta_);
        terms[i] = dy[i] * x[i] * power / s[i];
        s[i] = power;
      }
      for (std::int64_t h = 0; h < height_; ++h) {
        for (std::int64_t w = 0; w < width_; ++w) {
          const std::int64_t i = at + h * width_ + w;
          const float sum = window_sum(terms + at, h, w, [](float value) { return value; });
          dx[i] = dy[i] * s[i] - 2 * factor_ * beta_ * x[i] * sum;
        }
      }
    });
  }

 private:
  template <class Body>
  void for_each_plane(const RunContext& run, const Body& body) const {
    const std::int64_t size = height_ * width_;
    const std::int64_t window = (2 * radius_ + 1) * (2 * radius_ + 1);
    parallel_ranges(run.device, planes_, size * (window + 20),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t plane = begin; plane < end; ++plane) body(plane * size);
                    });
  }

  template <class Value>
  float window_sum(const float* plane, std::int64_t h, std::int64_t w, const Value& value) const {
    float sum = 0;
    const std::int64_t right = std::min(w + radius_ + 1, width_);
    for (std::int64_t i = std::max<std::int64_t>(h - radius_, 0);
         i < std::min(h + radius_ + 1, height_); ++i) {
      for (std::int64_t j = std::max<std::int64_t>(w - radius_, 0); j < right; ++j) {
        sum += value(plane[i * width_ + j]);
      }
    }
    return sum;
  }

  void scales(const float* x, float* s) const {
    for (std::int64_t h = 0; h < height_; ++h) {
      for (std::int64_t w = 0; w < width_; ++w) {
        s[h * width_ + w] =
            1 + factor_ * window_sum(x, h, w, [](float value) { return value * value; });
      }
    }
  }

  std::int64_t planes_, height_, width_, radius_;
  float factor_, beta_;
};

class LrnLayer final : public Layer {
 public:
  explicit LrnLayer(const caffe::LayerParameter& definition) : Layer(definition) {
    note_engine(*this, parameter().engine() == caffe::LRNParameter::CUDNN, "lrn_param.engine");
    require(parameter().local_size() % 2 == 1,
            "lrn_param.local_size {} is even; it must be odd, so that the window has a middle",
            parameter().local_size());
  }

  Inference infer(const std::vector<Shape>& bottoms) const override {
    require(bottoms[0].axes() == 4, "the bottom must have 4 axes (N x C x H x W), not {} ({})",
            bottoms[0].axes(), bottoms[0].str());
    Inference inference;
    inference.tops = {bottoms[0]};
    const std::int64_t size = parameter().local_size();
    inference.multiply_adds = work_of({bottoms[0].count(), size, within() ? size : 1});
    return inference;
  }

  std::vector<LayoutChoice> layouts(const LayoutRequest& request) const override {
    if (within()) return {plain_choice(request)};
    return plain_or_channels_last(request);
  }

  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    const Shape& bottom = request.bottoms[0];
    if (within()) {
      return std::make_unique<WithinChannelOp>(bottom, parameter().local_size(),
                                               parameter().alpha(), parameter().beta());
    }
    LrnShape shape;
    shape.batch = bottom[0];
    shape.channels = bottom[1];
    shape.spatial = bottom.count_from(2);
    shape.size = parameter().local_size();
    shape.alpha = parameter().alpha();
    shape.beta = parameter().beta();
    shape.k = parameter().k();
    return std::make_unique<AcrossChannelsOp>(shape);
  }

 private:
  const caffe::LRNParameter& parameter() const { return definition().lrn_param(); }
  bool within() const { return parameter().norm_region() == caffe::LRNParameter::WITHIN_CHANNEL; }
};

}  // namespace

std::unique_ptr<Layer> make_lrn(const caffe::LayerParameter& definition) {
  return std::make_unique<LrnLayer>(definition);
}

}  // namespace crema
