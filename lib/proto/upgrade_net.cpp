// What changed in nets after V1: inputs, and the rates of BatchNorm.
#include "proto/positions.h"
#include "proto/upgrade.h"

namespace crema {

void upgrade_inputs(caffe::NetParameter* net, UpgradeNotes* notes) {
  const int inputs = net->input_size();
  if (inputs == 0) return;
  const bool shapes = net->input_shape_size() > 0;
  // An old weight file names inputs without sizes.
  if (shapes || net->input_dim_size() > 0) {
    if (shapes && net->input_shape_size() != inputs) {
      fail_at(position_of(*net, "input_shape"), "{} inputs need {} input_shape, but there are {}",
              inputs, inputs, net->input_shape_size());
    }
    if (!shapes && net->input_dim_size() != 4 * inputs) {
      fail_at(position_of(*net, "input_dim"),
              "{} input{} need{} {} input_dim (four each), but there are {}", inputs,
              inputs == 1 ? "" : "s", inputs == 1 ? "s" : "", 4 * inputs, net->input_dim_size());
    }
    caffe::LayerParameter layer;
    layer.set_name("input");
    layer.set_type("Input");
    layer.mutable_top()->CopyFrom(net->input());
    for (int i = 0; i < inputs; ++i) {
      caffe::BlobShape* shape = layer.mutable_input_param()->add_shape();
      if (shapes) {
        *shape = net->input_shape(i);
      } else {
        for (int j = 0; j < 4; ++j) shape->add_dim(net->input_dim(4 * i + j));
      }
    }
    if (net->has_crema_source()) {
      const caffe::SourcePositions& from = net->crema_source();
      caffe::SourcePositions* to = layer.mutable_crema_source();
      to->set_file(from.file());
      copy_positions(from, "input", "top", to);
      if (to->field_size() > 0) {
        to->set_line(to->field(0).line());
        to->set_column(to->field(0).column());
      }
      for (int i = 0; i < inputs; ++i) {
        const std::string size =
            shapes ? fmt::format("input_shape[{}]", i) : fmt::format("input_dim[{}]", 4 * i);
        copy_positions(from, size, fmt::format("input_param.shape[{}]", i), to);
      }
    }
    net->add_layer()->Swap(&layer);
    for (int i = net->layer_size() - 1; i > 0; --i) net->mutable_layer()->SwapElements(i, i - 1);
    if (notes) notes->push_back("the net's inputs became a layer \"input\" of type Input");
  } else if (notes) {
    notes->push_back("the net's inputs were dropped, as no sizes are given");
  }
  net->clear_input();
  net->clear_input_shape();
  net->clear_input_dim();
}

void upgrade_batch_norm(caffe::NetParameter* net, UpgradeNotes* notes) {
  for (caffe::LayerParameter& layer : *net->mutable_layer()) {
    if (layer.type() != "BatchNorm" || layer.param_size() != 3) continue;
    bool changed = false;
    for (caffe::ParamSpec& param : *layer.mutable_param()) {
      changed = changed || param.lr_mult() != 0 || param.decay_mult() != 0;
      param.set_lr_mult(0);
      param.set_decay_mult(0);
    }
    if (changed && notes) {
      notes->push_back(
          fmt::format("the rates of BatchNorm layer \"{}\" became 0: its parameters are statistics",
                      layer.name()));
    }
  }
}

}  // namespace crema
