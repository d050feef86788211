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
CREMA_MAKER(make_convolution);
CREMA_MAKER(make_data);
CREMA_MAKER(make_dropout);
CREMA_MAKER(make_dummy_data);
CREMA_MAKER(make_euclidean_loss);
CREMA_MAKER(make_hdf5_data);
CREMA_MAKER(make_hdf5_output);
CREMA_MAKER(make_image_data);
CREMA_MAKER(make_inner_product);
CREMA_MAKER(make_input);
CREMA_MAKER(make_lrn);
CREMA_MAKER(make_memory_data);
CREMA_MAKER(make_pooling);
CREMA_MAKER(make_relu);
CREMA_MAKER(make_sigmoid);
CREMA_MAKER(make_silence);
CREMA_MAKER(make_softmax);
CREMA_MAKER(make_softmax_loss);
CREMA_MAKER(make_split);
CREMA_MAKER(make_tanh);
CREMA_MAKER(make_window_data);
#undef CREMA_MAKER

namespace {

/// Types of Caffe that have no row yet.
constexpr std::string_view kPlanned[] = {
    "AbsVal",
    "ArgMax",
    "BNLL",
    "BatchNorm",
    "BatchReindex",
    "Bias",
    "Clip",
    "ContrastiveLoss",
    "Crop",
    "Deconvolution",
    "ELU",
    "Eltwise",
    "Embed",
    "Exp",
    "Filter",
    "Flatten",
    "HingeLoss",
    "Im2col",
    "InfogainLoss",
    "LSTM",
    "LSTMUnit",
    "Log",
    "MVN",
    "MultinomialLogisticLoss",
    "PReLU",
    "Parameter",
    "Power",
    "RNN",
    "Reduction",
    "Reshape",
    "SPP",
    "Scale",
    "SigmoidCrossEntropyLoss",
    "Slice",
    "Swish",
    "Threshold",
    "Tile",
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
      {"Convolution", make_convolution, 1, kMany, 1, kMany, "convolution_param",
       "Learned filters moved over images, in groups and with dilation if wanted.", "", true},
      {"Data", make_data, 0, 0, 1, 2, "data_param", "Images and labels from a database."},
      {"Dropout", make_dropout, 1, 1, 1, 1, "dropout_param",
       "Zeroes random values in training, to keep features from relying on each other."},
      {"DummyData", make_dummy_data, 0, 0, 1, kMany, "dummy_data_param",
       "Made-up values, for tests and for measuring speed."},
      {"EuclideanLoss", make_euclidean_loss, 2, 2, 1, 1, "",
       "Half of the mean squared distance between items."},
      {"HDF5Data", make_hdf5_data, 0, 0, 1, kMany, "hdf5_data_param",
       "Rows of the datasets of HDF5 files."},
      {"HDF5Output", make_hdf5_output, 2, 2, 0, 0, "hdf5_output_param",
       "Writes its bottoms into the datasets data and label of an HDF5 file.",
       "Every forward pass appends its rows, where Caffe aborts at the second one. The file "
       "appears "
       "under its name when the net is gone."},
      {"ImageData", make_image_data, 0, 0, 2, 2, "image_data_param",
       "Images and labels from picture files that a list names.",
       "Labels have to be whole numbers, and an image that cannot be read is an error. rand_skip "
       "may be at most the number of lines."},
      {"InnerProduct", make_inner_product, 1, 1, 1, 1, "inner_product_param",
       "A fully connected layer."},
      {"Input", make_input, 0, 0, 1, kMany, "input_param",
       "Values that the caller writes into the net."},
      {"LRN", make_lrn, 1, 1, 1, 1, "lrn_param",
       "Responses divided by the strength of their neighbours."},
      {"MemoryData", make_memory_data, 0, 0, 2, 2, "memory_data_param",
       "Images and labels that the calling program puts in.",
       "A program writes one batch at a time, as into an Input layer, and values are taken as they "
       "are: transform_param is refused. The command line tools have nobody who could write any."},
      {"Pooling", make_pooling, 1, 1, 1, 2, "pooling_param",
       "The maximum or average of every window."},
      {"ReLU", make_relu, 1, 1, 1, 1, "relu_param",
       "Zero for negative values, or a slope for them."},
      {"Sigmoid", make_sigmoid, 1, 1, 1, 1, "sigmoid_param", "The logistic function."},
      {"Silence", make_silence, 1, kMany, 0, 0, "", "Takes blobs that nobody wants."},
      {"Softmax", make_softmax, 1, 1, 1, 1, "softmax_param", "Probabilities from scores."},
      {"SoftmaxWithLoss", make_softmax_loss, 2, 2, 1, 2, "softmax_param",
       "The logarithmic loss of the probabilities that softmax makes of scores."},
      {"Split", make_split, 1, 1, 1, kMany, "", "The same values for several consumers."},
      {"TanH", make_tanh, 1, 1, 1, 1, "tanh_param", "The hyperbolic tangent."},
      {"WindowData", make_window_data, 0, 0, 2, 2, "window_data_param",
       "Parts of images, foreground and background, as R-CNN trains on.",
       "A window that reaches beyond its image without context_pad is cut off there; Caffe "
       "aborts."},
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
