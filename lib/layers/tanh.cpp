// TanH (1 bottom, 1 top): the hyperbolic tangent.
//
//   y = tanh(x)        dx = dy * (1 - y^2)
#include "kernels/pointwise.h"
#include "kernels/tanh_value.h"

namespace crema {

CREMA_POINTWISE("tanh", TanhValue)

}  // namespace crema

#ifndef __CUDACC__
#include "layers/pointwise_layer.h"

namespace crema {

std::unique_ptr<Layer> make_tanh(const caffe::LayerParameter& definition) {
  auto layer = std::make_unique<PointwiseLayer<TanhValue>>(definition, "tanh");
  note_engine(*layer, definition.tanh_param().engine() == caffe::TanHParameter::CUDNN,
              "tanh_param.engine");
  return layer;
}

}  // namespace crema
#endif
