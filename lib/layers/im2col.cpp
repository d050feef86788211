// Im2col (1 bottom, 1 top; parameters of convolution_param without num_output): the windows of a
// convolution laid out as channels.
//
//   y[n, c*K + k, p] = x[n,c, p*stride - pad + k*dilation]        dx: the transpose, which adds up
//
// x outside of the image counts as 0; K is the product of the kernel's sizes and k the position in
// it, row-major. Bottom: leading axes x C x d spatial axes (d at least 1), C at `axis`. Top: the
// same leading axes x C*K x the spatial sizes that a Convolution would give.
#include "primitives/im2col.h"

#include "base/error.h"
#include "kernels/loop_registry.h"
#include "layers/fields.h"
#include "layers/layer.h"
#include "layers/window_fields.h"

namespace crema {
namespace {

class Im2colOp final : public Op {
 public:
  explicit Im2colOp(const ConvolutionShape& shape) : images_(shape.batch), shape_(shape) {}

  void forward(const RunContext& run) override {
    for (std::int64_t n = 0; n < images_; ++n) {
      run_loop(run.device, "im2col", &loops::im2col<Cpu, float>, shape_,
               run.bottoms[0].read() + n * image(), run.tops[0].write() + n * columns());
    }
  }
  void backward(const RunContext& run) override {
    if (!run.top_gradients[0]) {
      run.bottom_gradients[0].fill_zero();
      return;
    }
    for (std::int64_t n = 0; n < images_; ++n) {
      run_loop(run.device, "col2im", &loops::col2im<Cpu, float>, shape_,
               run.top_gradients[0].read() + n * columns(),
               run.bottom_gradients[0].write() + n * image());
    }
  }

 private:
  std::int64_t image() const { return shape_.channels * shape_.in_count; }
  std::int64_t columns() const { return shape_.channels * shape_.kernel_count * shape_.out_count; }

  std::int64_t images_;
  loops::ColumnShape shape_;
};

class Im2colLayer final : public Layer {
 public:
  using Layer::Layer;

  Inference infer(const std::vector<Shape>& bottoms) const override {
    const Shape& bottom = bottoms[0];
    const ConvolutionShape shape = windows(bottom);
    const int axis = channel_axis(bottom);
    std::vector<std::int64_t> top(bottom.dims().begin(), bottom.dims().begin() + axis);
    top.push_back(work_of({shape.in_channels, Shape(shape.kernel).count()}));
    top.insert(top.end(), shape.out.begin(), shape.out.end());
    Inference inference;
    inference.tops = {Shape(std::move(top))};
    return inference;
  }
  std::unique_ptr<Op> plan(const PlanRequest& request) const override {
    return std::make_unique<Im2colOp>(windows(request.bottoms[0]));
  }
  bool backward_reads_bottom(int) const override { return false; }
  bool backward_reads_top(int) const override { return false; }

 private:
  int channel_axis(const Shape& bottom) const {
    return axis_of(bottom, definition().convolution_param().axis(), "convolution_param.axis");
  }
  ConvolutionShape windows(const Shape& bottom) const {
    const int axis = channel_axis(bottom);
    require(axis + 1 < bottom.axes(), "there is no spatial axis after axis {} of the bottom ({})",
            axis, bottom.str());
    const WindowFields fields = window_fields(definition().convolution_param(),
                                              static_cast<std::size_t>(bottom.axes() - axis - 1));
    ConvolutionShape shape;
    shape.batch = bottom.count(0, axis);
    shape.in_channels = bottom[axis];
    shape.in.assign(bottom.dims().begin() + axis + 1, bottom.dims().end());
    shape.out = window_counts(fields, bottom, axis + 1);
    shape.kernel = fields.kernel;
    shape.stride = fields.stride;
    shape.pad = fields.pad;
    shape.dilation = fields.dilation;
    return shape;
  }
};

}  // namespace

std::unique_ptr<Layer> make_im2col(const caffe::LayerParameter& definition) {
  return std::make_unique<Im2colLayer>(definition);
}

}  // namespace crema
