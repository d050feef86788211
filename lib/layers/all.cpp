// The table of layer types. To add one: write its file and its row.
#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "layers/layer.h"

namespace crema {

#define CREMA_MAKER(name) std::unique_ptr<Layer> name(const caffe::LayerParameter&)
CREMA_MAKER(make_accuracy);
CREMA_MAKER(make_concat);
CREMA_MAKER(make_contrastive_loss);
CREMA_MAKER(make_convolution);
CREMA_MAKER(make_data);
CREMA_MAKER(make_deconvolution);
CREMA_MAKER(make_dropout);
CREMA_MAKER(make_dummy_data);
CREMA_MAKER(make_euclidean_loss);
CREMA_MAKER(make_hdf5_data);
CREMA_MAKER(make_hinge_loss);
CREMA_MAKER(make_im2col);
CREMA_MAKER(make_infogain_loss);
CREMA_MAKER(make_inner_product);
CREMA_MAKER(make_input);
CREMA_MAKER(make_lrn);
CREMA_MAKER(make_multinomial_logistic_loss);
CREMA_MAKER(make_pooling);
CREMA_MAKER(make_relu);
CREMA_MAKER(make_sigmoid);
CREMA_MAKER(make_sigmoid_cross_entropy_loss);
CREMA_MAKER(make_silence);
CREMA_MAKER(make_softmax);
CREMA_MAKER(make_softmax_loss);
CREMA_MAKER(make_split);
CREMA_MAKER(make_spp);
CREMA_MAKER(make_tanh);
#undef CREMA_MAKER

namespace {

/// Types of Caffe that have no row yet.
constexpr std::string_view kPlanned[] = {
    "AbsVal",     "ArgMax",    "BNLL",      "BatchNorm", "BatchReindex", "Bias",    "Clip",
    "Crop",       "ELU",       "Eltwise",   "Embed",     "Exp",          "Filter",  "Flatten",
    "HDF5Output", "ImageData", "LSTM",      "LSTMUnit",  "Log",          "MVN",     "MemoryData",
    "PReLU",      "Parameter", "Power",     "RNN",       "Reduction",    "Reshape", "Scale",
    "Slice",      "Swish",     "Threshold", "Tile",      "WindowData",
};

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
      {"Accuracy", make_accuracy, 2, 2, 1, 2, "accuracy_param",
       "The share of items whose label is among the top_k highest scores."},
      {"Concat", make_concat, 1, kMany, 1, 1, "concat_param",
       "Bottoms laid one after the other along an axis."},
      {"ContrastiveLoss", make_contrastive_loss, 3, 3, 1, 1, "contrastive_loss_param",
       "Draws the features of similar pairs together and pushes others apart."},
      {"Convolution", make_convolution, 1, kMany, 1, kMany, "convolution_param",
       "Learned filters moved over images, in groups and with dilation if wanted.", "", true},
      {"Data", make_data, 0, 0, 1, 2, "data_param", "Images and labels from a database."},
      {"Deconvolution", make_deconvolution, 1, kMany, 1, kMany, "convolution_param",
       "The transpose of a convolution: enlarges images with learned or bilinear filters.", "",
       true},
      {"Dropout", make_dropout, 1, 1, 1, 1, "dropout_param",
       "Zeroes random values in training, to keep features from relying on each other."},
      {"DummyData", make_dummy_data, 0, 0, 1, kMany, "dummy_data_param",
       "Made-up values, for tests and for measuring speed."},
      {"EuclideanLoss", make_euclidean_loss, 2, 2, 1, 1, "",
       "Half of the mean squared distance between items."},
      {"HDF5Data", make_hdf5_data, 0, 0, 1, kMany, "hdf5_data_param",
       "Rows of the datasets of HDF5 files."},
      {"HingeLoss", make_hinge_loss, 2, 2, 1, 1, "hinge_loss_param",
       "The margin by which each class is told from all others.",
       "A label that is no class is an error."},
      {"Im2col", make_im2col, 1, 1, 1, 1, "convolution_param",
       "The windows of a convolution laid out as channels."},
      {"InfogainLoss", make_infogain_loss, 2, 3, 1, 2, "infogain_loss_param",
       "A softmax loss in which each confusion of classes has its own weight.",
       "A label that is no class is an error. Under force_backward the matrix gets no gradient, "
       "where Caffe stops."},
      {"InnerProduct", make_inner_product, 1, 1, 1, 1, "inner_product_param",
       "A fully connected layer."},
      {"Input", make_input, 0, 0, 1, kMany, "input_param",
       "Values that the caller writes into the net."},
      {"LRN", make_lrn, 1, 1, 1, 1, "lrn_param",
       "Responses divided by the strength of their neighbours."},
      {"MultinomialLogisticLoss", make_multinomial_logistic_loss, 2, 2, 1, 1, "",
       "The logarithmic loss of probabilities.", "A label that is no class is an error."},
      {"Pooling", make_pooling, 1, 1, 1, 2, "pooling_param",
       "The maximum or average of every window, or an element drawn from it.",
       "STOCHASTIC works on the CPU too, with padding as in MAX, and has a gradient in the TEST "
       "phase. A net in which a window lies wholly outside of the image is refused: Caffe leaves "
       "its value undefined and writes outside of arrays. kernel_size_3d, stride_3d and pad_3d "
       "pool over any number of spatial axes."},
      {"ReLU", make_relu, 1, 1, 1, 1, "relu_param",
       "Zero for negative values, or a slope for them."},
      {"SPP", make_spp, 1, 1, 1, 1, "spp_param",
       "Spatial pyramid pooling: images of any size pooled to a fixed number of bins."},
      {"Sigmoid", make_sigmoid, 1, 1, 1, 1, "sigmoid_param", "The logistic function."},
      {"SigmoidCrossEntropyLoss", make_sigmoid_cross_entropy_loss, 2, 2, 1, 1, "loss_param",
       "The logarithmic loss of independent yes-no probabilities, made of scores."},
      {"Silence", make_silence, 1, kMany, 0, 0, "", "Takes blobs that nobody wants."},
      {"Softmax", make_softmax, 1, 1, 1, 1, "softmax_param", "Probabilities from scores."},
      {"SoftmaxWithLoss", make_softmax_loss, 2, 2, 1, 2, "softmax_param",
       "The logarithmic loss of the probabilities that softmax makes of scores."},
      {"Split", make_split, 1, 1, 1, kMany, "", "The same values for several consumers."},
      {"TanH", make_tanh, 1, 1, 1, 1, "tanh_param", "The hyperbolic tangent."},
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
