// The table of layer types. To add one: write its file and its row.
#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "layers/layer.h"

namespace crema {

#define CREMA_MAKER(name) std::unique_ptr<Layer> name(const caffe::LayerParameter&)
CREMA_MAKER(make_absval);
CREMA_MAKER(make_accuracy);
CREMA_MAKER(make_batch_norm);
CREMA_MAKER(make_bias);
CREMA_MAKER(make_bnll);
CREMA_MAKER(make_clip);
CREMA_MAKER(make_concat);
CREMA_MAKER(make_convolution);
CREMA_MAKER(make_data);
CREMA_MAKER(make_dropout);
CREMA_MAKER(make_dummy_data);
CREMA_MAKER(make_elu);
CREMA_MAKER(make_euclidean_loss);
CREMA_MAKER(make_exp);
CREMA_MAKER(make_hdf5_data);
CREMA_MAKER(make_inner_product);
CREMA_MAKER(make_input);
CREMA_MAKER(make_log);
CREMA_MAKER(make_lrn);
CREMA_MAKER(make_mvn);
CREMA_MAKER(make_pooling);
CREMA_MAKER(make_power);
CREMA_MAKER(make_prelu);
CREMA_MAKER(make_relu);
CREMA_MAKER(make_scale);
CREMA_MAKER(make_sigmoid);
CREMA_MAKER(make_silence);
CREMA_MAKER(make_softmax);
CREMA_MAKER(make_softmax_loss);
CREMA_MAKER(make_split);
CREMA_MAKER(make_swish);
CREMA_MAKER(make_tanh);
CREMA_MAKER(make_threshold);
#undef CREMA_MAKER

namespace {

/// Types of Caffe that have no row yet.
// clang-format off
constexpr std::string_view kPlanned[] = {
    "ArgMax",
    "BatchReindex",
    "ContrastiveLoss",
    "Crop",
    "Deconvolution",
    "Eltwise",
    "Embed",
    "Filter",
    "Flatten",
    "HDF5Output",
    "HingeLoss",
    "Im2col",
    "ImageData",
    "InfogainLoss",
    "LSTM",
    "LSTMUnit",
    "MemoryData",
    "MultinomialLogisticLoss",
    "Parameter",
    "RNN",
    "Reduction",
    "Reshape",
    "SPP",
    "SigmoidCrossEntropyLoss",
    "Slice",
    "Tile",
    "WindowData",
};
// clang-format on

[[noreturn]] void refuse(const std::string& type) {
  require(!type.empty(), "the layer has no type");
  require(type != "Python",
          "a Python layer runs a user's Python code, which Crema cannot do; write it as a layer of "
          "its own in C++ (lib/layers) or build it from the layer types that there are");
  std::vector<std::string> names;
  for (const LayerType& row : layer_types()) names.emplace_back(row.type);
  for (const std::string_view planned : kPlanned) {
    require(type != planned, "layer type \"{}\" is known but not supported yet", type);
    names.emplace_back(planned);
  }
  fail("unknown layer type \"{}\"{}", type, did_you_mean(type, names));
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  // type, maker, bottoms (least, most), tops (least, most), message, summary, differences from
  // Caffe
  static const std::vector<LayerType> types = {
      {"AbsVal", make_absval, 1, 1, 1, 1, "", "The absolute value."},
      {"Accuracy", make_accuracy, 2, 2, 1, 2, "accuracy_param",
       "The share of items whose label is among the top_k highest scores."},
      {"BNLL", make_bnll, 1, 1, 1, 1, "", "A smooth form of ReLU, log(1 + exp(x)).",
       "In place the gradient is right; Caffe's is taken at the wrong values."},
      {"BatchNorm", make_batch_norm, 1, 1, 1, 1, "batch_norm_param",
       "Every channel brought to mean 0 and variance 1.",
       "A param entry that gives no lr_mult counts as lr_mult 0; Caffe refuses it."},
      {"Bias", make_bias, 1, 2, 1, 1, "bias_param",
       "A learned summand, or one from a second bottom, for every channel or other part."},
      {"Clip", make_clip, 1, 1, 1, 1, "clip_param", "Values kept between two bounds.",
       "In place the gradient is right; Caffe passes all of it on. A min above max is refused."},
      {"Concat", make_concat, 1, kMany, 1, 1, "concat_param",
       "Bottoms laid one after the other along an axis."},
      {"Convolution", make_convolution, 1, kMany, 1, kMany, "convolution_param",
       "Learned filters moved over images, in groups and with dilation if wanted.", "", true},
      {"Data", make_data, 0, 0, 1, 2, "data_param", "Images and labels from a database."},
      {"Dropout", make_dropout, 1, 1, 1, 1, "dropout_param",
       "Zeroes random values in training, to keep features from relying on each other."},
      {"DummyData", make_dummy_data, 0, 0, 1, kMany, "dummy_data_param",
       "Made-up values, for tests and for measuring speed."},
      {"ELU", make_elu, 1, 1, 1, 1, "elu_param", "Exponential linear units, smooth below zero.",
       "In place with a negative alpha the gradient is right; Caffe's is not."},
      {"EuclideanLoss", make_euclidean_loss, 2, 2, 1, 1, "",
       "Half of the mean squared distance between items."},
      {"Exp", make_exp, 1, 1, 1, 1, "exp_param", "The exponential function."},
      {"HDF5Data", make_hdf5_data, 0, 0, 1, kMany, "hdf5_data_param",
       "Rows of the datasets of HDF5 files."},
      {"InnerProduct", make_inner_product, 1, 1, 1, 1, "inner_product_param",
       "A fully connected layer."},
      {"Input", make_input, 0, 0, 1, kMany, "input_param",
       "Values that the caller writes into the net."},
      {"LRN", make_lrn, 1, 1, 1, 1, "lrn_param",
       "Responses divided by the strength of their neighbours."},
      {"Log", make_log, 1, 1, 1, 1, "log_param", "The logarithm.",
       "In place the gradient is right; Caffe's is taken at the wrong values. A base of 1 is "
       "refused."},
      {"MVN", make_mvn, 1, 1, 1, 1, "mvn_param",
       "Each channel of each item, or each item, brought to mean 0 and variance 1."},
      {"PReLU", make_prelu, 1, 1, 1, 1, "prelu_param",
       "ReLU with learned slopes for negative values."},
      {"Pooling", make_pooling, 1, 1, 1, 2, "pooling_param",
       "The maximum or average of every window."},
      {"Power", make_power, 1, 1, 1, 1, "power_param", "A power of a linear function.",
       "Where shift + scale * x is 0 the gradient is right for all powers; Caffe gives NaN unless "
       "the power is 1 or 2. In place the gradient is right; Caffe's is taken at the wrong "
       "values."},
      {"ReLU", make_relu, 1, 1, 1, 1, "relu_param",
       "Zero for negative values, or a slope for them."},
      {"Scale", make_scale, 1, 2, 1, 1, "scale_param",
       "A learned factor, or one from a second bottom, for every channel or other part."},
      {"Sigmoid", make_sigmoid, 1, 1, 1, 1, "sigmoid_param", "The logistic function."},
      {"Silence", make_silence, 1, kMany, 0, 0, "", "Takes blobs that nobody wants."},
      {"Softmax", make_softmax, 1, 1, 1, 1, "softmax_param", "Probabilities from scores."},
      {"SoftmaxWithLoss", make_softmax_loss, 2, 2, 1, 2, "softmax_param",
       "The logarithmic loss of the probabilities that softmax makes of scores."},
      {"Split", make_split, 1, 1, 1, kMany, "", "The same values for several consumers."},
      {"Swish", make_swish, 1, 1, 1, 1, "swish_param", "The input times its logistic function."},
      {"TanH", make_tanh, 1, 1, 1, 1, "tanh_param", "The hyperbolic tangent."},
      {"Threshold", make_threshold, 1, 1, 1, 1, "threshold_param",
       "One for values above a threshold, else zero.",
       "With force_backward no gradient is asked of it; Caffe aborts."},
  };
  return types;
}

const LayerType& layer_type(const std::string& type) {
  const auto& types = layer_types();
  const auto found = std::lower_bound(types.begin(), types.end(), std::string_view(type),
                                      [](const LayerType& row, std::string_view name) {
                                        return std::string_view(row.type) < name;
                                      });
  if (found == types.end() || found->type != type) refuse(type);
  return *found;
}

}  // namespace crema
