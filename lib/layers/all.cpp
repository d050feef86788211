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
CREMA_MAKER(make_argmax);
CREMA_MAKER(make_batch_norm);
CREMA_MAKER(make_batch_reindex);
CREMA_MAKER(make_bias);
CREMA_MAKER(make_bnll);
CREMA_MAKER(make_clip);
CREMA_MAKER(make_concat);
CREMA_MAKER(make_contrastive_loss);
CREMA_MAKER(make_convolution);
CREMA_MAKER(make_crop);
CREMA_MAKER(make_data);
CREMA_MAKER(make_deconvolution);
CREMA_MAKER(make_detection_output);
CREMA_MAKER(make_dropout);
CREMA_MAKER(make_dummy_data);
CREMA_MAKER(make_eltwise);
CREMA_MAKER(make_elu);
CREMA_MAKER(make_embed);
CREMA_MAKER(make_euclidean_loss);
CREMA_MAKER(make_exp);
CREMA_MAKER(make_filter);
CREMA_MAKER(make_flatten);
CREMA_MAKER(make_hdf5_data);
CREMA_MAKER(make_hdf5_output);
CREMA_MAKER(make_hinge_loss);
CREMA_MAKER(make_im2col);
CREMA_MAKER(make_image_data);
CREMA_MAKER(make_infogain_loss);
CREMA_MAKER(make_inner_product);
CREMA_MAKER(make_input);
CREMA_MAKER(make_log);
CREMA_MAKER(make_lrn);
CREMA_MAKER(make_lstm);
CREMA_MAKER(make_lstm_unit);
CREMA_MAKER(make_memory_data);
CREMA_MAKER(make_multinomial_logistic_loss);
CREMA_MAKER(make_mvn);
CREMA_MAKER(make_parameter);
CREMA_MAKER(make_permute);
CREMA_MAKER(make_pooling);
CREMA_MAKER(make_power);
CREMA_MAKER(make_prelu);
CREMA_MAKER(make_prior_box);
CREMA_MAKER(make_reduction);
CREMA_MAKER(make_relu);
CREMA_MAKER(make_reshape);
CREMA_MAKER(make_rnn);
CREMA_MAKER(make_scale);
CREMA_MAKER(make_sigmoid);
CREMA_MAKER(make_sigmoid_cross_entropy_loss);
CREMA_MAKER(make_silence);
CREMA_MAKER(make_slice);
CREMA_MAKER(make_softmax);
CREMA_MAKER(make_softmax_loss);
CREMA_MAKER(make_split);
CREMA_MAKER(make_spp);
CREMA_MAKER(make_swish);
CREMA_MAKER(make_tanh);
CREMA_MAKER(make_threshold);
CREMA_MAKER(make_tile);
CREMA_MAKER(make_window_data);
#undef CREMA_MAKER

namespace {

[[noreturn]] void refuse(const std::string& type) {
  require(!type.empty(), "the layer has no type");
  require(type != "Python",
          "a Python layer runs a user's Python code, which Crema cannot do; write it as a layer of "
          "its own in C++ (lib/layers) or build it from the layer types that there are");
  std::vector<std::string> names;
  for (const LayerType& row : layer_types()) names.emplace_back(row.type);
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
      {"ArgMax", make_argmax, 1, 1, 1, 1, "argmax_param", "Positions of the largest values.",
       "NaN counts as the largest value. A net with force_backward: true is accepted; the layer "
       "gives no gradient."},
      {"BNLL", make_bnll, 1, 1, 1, 1, "", "A smooth form of ReLU, log(1 + exp(x)).",
       "In place the gradient is right; Caffe's is taken at the wrong values."},
      {"BatchNorm", make_batch_norm, 1, 1, 1, 1, "batch_norm_param",
       "Every channel brought to mean 0 and variance 1.",
       "A param entry that gives no lr_mult counts as lr_mult 0; Caffe refuses it."},
      {"BatchReindex", make_batch_reindex, 2, 2, 1, 1, "",
       "Items of the first bottom in the order of the second, which may leave out and repeat.",
       "An index out of range is an error that names it. A net with force_backward: true is "
       "accepted; the indices get no gradient."},
      {"Bias", make_bias, 1, 2, 1, 1, "bias_param",
       "A learned summand, or one from a second bottom, for every channel or other part."},
      {"Clip", make_clip, 1, 1, 1, 1, "clip_param", "Values kept between two bounds.",
       "In place the gradient is right; Caffe passes all of it on. A min above max is refused."},
      {"Concat", make_concat, 1, kMany, 1, 1, "concat_param",
       "Bottoms laid one after the other along an axis."},
      {"ContrastiveLoss", make_contrastive_loss, 3, 3, 1, 1, "contrastive_loss_param",
       "Draws the features of similar pairs together and pushes others apart."},
      {"Convolution", make_convolution, 1, kMany, 1, kMany, "convolution_param",
       "Learned filters moved over images, in groups and with dilation if wanted.", "", true},
      {"Crop", make_crop, 2, 2, 1, 1, "crop_param",
       "The first bottom cut to the size of the second."},
      {"Data", make_data, 0, 0, 1, kMany, "data_param transform_param",
       "Images and labels from a database.",
       "Where records have several labels, a second top takes all of a record, or as many more "
       "tops "
       "as there are labels one each."},
      {"Deconvolution", make_deconvolution, 1, kMany, 1, kMany, "convolution_param",
       "The transpose of a convolution: enlarges images with learned or bilinear filters.", "",
       true},
      {"DetectionOutput", make_detection_output, 3, 3, 1, 1, "detection_output_param",
       "The objects that were found, from offsets, scores and prior boxes: one row each.",
       "Not in BVLC Caffe: of SSD's, NVIDIA's and Intel's Caffe. Where nothing is found there is "
       "one row an image: its number, then -1. Nothing is drawn or written to files."},
      {"Dropout", make_dropout, 1, 1, 1, 1, "dropout_param",
       "Zeroes random values in training, to keep features from relying on each other."},
      {"DummyData", make_dummy_data, 0, 0, 1, kMany, "dummy_data_param",
       "Made-up values, for tests and for measuring speed."},
      {"ELU", make_elu, 1, 1, 1, 1, "elu_param", "Exponential linear units, smooth below zero.",
       "In place with a negative alpha the gradient is right; Caffe's is not."},
      {"Eltwise", make_eltwise, 2, kMany, 1, 1, "eltwise_param",
       "Sum, product or maximum of bottoms of equal shape.", "MAX: a NaN in any bottom gives NaN."},
      {"Embed", make_embed, 1, 1, 1, 1, "embed_param",
       "The row of a learned table that each input names.",
       "An input that names no row is an error. A net with force_backward: true is accepted; the "
       "inputs get no gradient."},
      {"EuclideanLoss", make_euclidean_loss, 2, 2, 1, 1, "",
       "Half of the mean squared distance between items."},
      {"Exp", make_exp, 1, 1, 1, 1, "exp_param", "The exponential function."},
      {"Filter", make_filter, 2, kMany, 1, kMany, "",
       "The items whose selector, the last bottom, is not 0.",
       "No item kept is fine, and what follows runs on none. A net with force_backward: true is "
       "accepted; the selector gets no gradient."},
      {"Flatten", make_flatten, 1, 1, 1, 1, "flatten_param", "Several axes made one."},
      {"HDF5Data", make_hdf5_data, 0, 0, 1, kMany, "hdf5_data_param transform_param",
       "Rows of the datasets of HDF5 files.",
       "transform_param applies to the first top; Caffe refuses it. Files are read row by row and "
       "may be larger than memory."},
      {"HDF5Output", make_hdf5_output, 2, 2, 0, 0, "hdf5_output_param",
       "Writes its bottoms into the datasets data and label of an HDF5 file.",
       "Every forward pass appends its rows, where Caffe aborts at the second one. The file "
       "appears "
       "under its name when the net is gone."},
      {"HingeLoss", make_hinge_loss, 2, 2, 1, 1, "hinge_loss_param",
       "The margin by which each class is told from all others.",
       "A label that is no class is an error."},
      {"Im2col", make_im2col, 1, 1, 1, 1, "convolution_param",
       "The windows of a convolution laid out as channels."},
      {"ImageData", make_image_data, 0, 0, 2, kMany, "image_data_param transform_param",
       "Images and labels from picture files that a list names.",
       "An image that cannot be read is an error. Labels may be several (label_count), in one top "
       "or a top each, and need not be whole numbers. source may be a folder with a sub-folder of "
       "images for each class. rand_skip may be at most the number of lines."},
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
      {"LSTM", make_lstm, 2, 5, 1, 3, "recurrent_param",
       "Long short-term memory over time steps, with sequences side by side.",
       "The number of time steps may change from pass to pass. The state that is carried on starts "
       "from zero when the number of streams changes. As in Caffe, it is in no snapshot: a resumed "
       "training starts from zero."},
      {"LSTMUnit", make_lstm_unit, 3, 3, 2, 2, "",
       "One time step of an LSTM from the sums of its gates."},
      {"Log", make_log, 1, 1, 1, 1, "log_param", "The logarithm.",
       "In place the gradient is right; Caffe's is taken at the wrong values. A base of 1 is "
       "refused."},
      {"MVN", make_mvn, 1, 1, 1, 1, "mvn_param",
       "Each channel of each item, or each item, brought to mean 0 and variance 1."},
      {"MemoryData", make_memory_data, 0, 0, 2, 2, "memory_data_param",
       "Images and labels that the calling program puts in.",
       "A program writes one batch at a time, as into an Input layer, and values are taken as they "
       "are: transform_param is refused. The command line tools have nobody who could write any."},
      {"MultinomialLogisticLoss", make_multinomial_logistic_loss, 2, 2, 1, 1, "",
       "The logarithmic loss of probabilities.", "A label that is no class is an error."},
      {"PReLU", make_prelu, 1, 1, 1, 1, "prelu_param",
       "ReLU with learned slopes for negative values."},
      {"Parameter", make_parameter, 0, 0, 1, 1, "parameter_param",
       "A learned array as a top of its own.",
       "Gradients add up over iter_size and over layers that share the parameter, as those of all "
       "other types do; in Caffe only the last one remains."},
      {"Permute", make_permute, 1, 1, 1, 1, "permute_param", "The axes in another order.",
       "Not in BVLC Caffe: of SSD's, NVIDIA's and Intel's Caffe. An order of nothing but the axes "
       "as they are copies nothing."},
      {"Pooling", make_pooling, 1, 1, 1, 2, "pooling_param",
       "The maximum or average of every window, or an element drawn from it.",
       "STOCHASTIC works on the CPU too, with padding as in MAX, and has a gradient in the TEST "
       "phase. A net in which a window lies wholly outside of the image is refused: Caffe leaves "
       "its value undefined and writes outside of arrays. kernel_size_3d, stride_3d and pad_3d "
       "pool over any number of spatial axes."},
      {"Power", make_power, 1, 1, 1, 1, "power_param", "A power of a linear function.",
       "Where shift + scale * x is 0 the gradient is right for all powers; Caffe gives NaN unless "
       "the power is 1 or 2. In place the gradient is right; Caffe's is taken at the wrong "
       "values."},
      {"PriorBox", make_prior_box, 2, 2, 1, 1, "prior_box_param",
       "Boxes of fixed sizes and forms around each position of a feature map.",
       "Not in BVLC Caffe: of SSD's, NVIDIA's and Intel's Caffe."},
      {"RNN", make_rnn, 2, 4, 1, 2, "recurrent_param",
       "A plain recurrent net over time steps, with sequences side by side.",
       "The number of time steps may change from pass to pass. The state that is carried on starts "
       "from zero when the number of streams changes. As in Caffe, it is in no snapshot: a resumed "
       "training starts from zero."},
      {"ReLU", make_relu, 1, 1, 1, 1, "relu_param",
       "Zero for negative values, or a slope for them."},
      {"Reduction", make_reduction, 1, 1, 1, 1, "reduction_param",
       "A sum, sum of absolute values, sum of squares or mean over all axes from one on."},
      {"Reshape", make_reshape, 1, 1, 1, 1, "reshape_param", "The same values in another shape."},
      {"SPP", make_spp, 1, 1, 1, 1, "spp_param",
       "Spatial pyramid pooling: images of any size pooled to a fixed number of bins."},
      {"Scale", make_scale, 1, 2, 1, 1, "scale_param",
       "A learned factor, or one from a second bottom, for every channel or other part."},
      {"Sigmoid", make_sigmoid, 1, 1, 1, 1, "sigmoid_param", "The logistic function."},
      {"SigmoidCrossEntropyLoss", make_sigmoid_cross_entropy_loss, 2, 2, 1, 1, "loss_param",
       "The logarithmic loss of independent yes-no probabilities, made of scores."},
      {"Silence", make_silence, 1, kMany, 0, 0, "", "Takes blobs that nobody wants."},
      {"Slice", make_slice, 1, 1, 1, kMany, "slice_param", "Parts of the bottom along an axis."},
      {"Softmax", make_softmax, 1, 1, 1, 1, "softmax_param", "Probabilities from scores."},
      {"SoftmaxWithLoss", make_softmax_loss, 2, 2, 1, 2, "softmax_param loss_param",
       "The logarithmic loss of the probabilities that softmax makes of scores."},
      {"Split", make_split, 1, 1, 1, kMany, "", "The same values for several consumers."},
      {"Swish", make_swish, 1, 1, 1, 1, "swish_param", "The input times its logistic function."},
      {"TanH", make_tanh, 1, 1, 1, 1, "tanh_param", "The hyperbolic tangent."},
      {"Threshold", make_threshold, 1, 1, 1, 1, "threshold_param",
       "One for values above a threshold, else zero.",
       "With force_backward no gradient is asked of it; Caffe aborts."},
      {"Tile", make_tile, 1, 1, 1, 1, "tile_param", "The bottom repeated along an axis."},
      {"WindowData", make_window_data, 0, 0, 2, 2, "window_data_param transform_param",
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
