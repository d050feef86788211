// Facts: the published caffe.proto of NVIDIA's (branch caffe-0.17) and Intel's (1.1) forks, the
// rest from files that people published.
#include "proto/fork_fields.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

struct ForkName {
  int fork;
  const char* name;
};
constexpr ForkName kNames[] = {
    {kNvidia, "NVIDIA Caffe (NVCaffe)"},        {kIntel, "Intel Caffe"},
    {kSegNet, "the Caffe of SegNet"},           {kC3d, "the Caffe of C3D"},
    {kFasterRcnn, "the Caffe of Faster R-CNN"},
};

using enum Treatment;

constexpr ForkField kFields[] = {
    {"BatchNormParameter", "bias_filler", 8, 'b', kIntel, kConverted, "", ""},
    {"BatchNormParameter", "bias_filler", 6, 'b', kNvidia, kConverted, "", ""},
    {"BatchNormParameter", "bias_term", 6, 'v', kIntel, kConverted, "", ""},
    {"BatchNormParameter", "engine", 4, 'v', kIntel, kIgnored, "", ""},
    {"BatchNormParameter", "engine", 15, 'v', kNvidia, kIgnored, "", ""},
    {"BatchNormParameter", "filler", 7, 'b', kIntel, kConverted, "", ""},
    {"BatchNormParameter", "relu", 10, 'v', kIntel, kConverted, "", ""},
    {"BatchNormParameter", "scale_bias", 7, 'v', kNvidia, kConverted, "", ""},
    {"BatchNormParameter", "scale_filler", 5, 'b', kNvidia, kConverted, "", ""},
    {"BatchNormParameter", "stats_batch_size", 9, 'v', kIntel, kRefused, "0",
     "statistics over parts of a batch"},
    {"BatchNormParameter", "use_weight_bias", 5, 'v', kIntel, kConverted, "", ""},
    {"ConcatParameter", "engine", 3, 'v', kIntel, kIgnored, "", ""},
    {"ConcatParameter", "per_fla_fuse", 4, 'v', kIntel, kIgnored, "", ""},
    {"ConvolutionParameter", "coeff", 23, 'f', kIntel, kRefused, "",
     "the sum with another layer; use an Eltwise layer"},
    {"ConvolutionParameter", "conv_algorithm", 21, 'b', kIntel, kIgnored, "", ""},
    {"ConvolutionParameter", "conv_algos_override", 20, 'b', kNvidia, kIgnored, "", ""},
    {"ConvolutionParameter", "cudnn_convolution_algo_seeker", 19, 'v', kNvidia, kIgnored, "", ""},
    {"ConvolutionParameter", "fusion_type", 24, 'v', kIntel, kRefused, "NONE_FUSION",
     "the sum with another layer; use an Eltwise layer"},
    {"ConvolutionParameter", "kernel_depth", 0, 'v', kC3d, kRefused, "", ""},
    {"ConvolutionParameter", "negative_slope", 20, 'f', kIntel, kConverted, "", ""},
    {"ConvolutionParameter", "relu", 19, 'v', kIntel, kConverted, "", ""},
    {"ConvolutionParameter", "temporal_pad", 0, 'v', kC3d, kRefused, "", ""},
    {"ConvolutionParameter", "temporal_stride", 0, 'v', kC3d, kRefused, "", ""},
    {"ConvolutionParameter.Engine", "MKL2017", 3, 'v', kIntel, kIgnored, "", ""},
    {"ConvolutionParameter.Engine", "MKLDNN", 4, 'v', kIntel, kIgnored, "", ""},
    {"DataParameter", "cache", 13, 'v', kNvidia, kIgnored, "", ""},
    {"DataParameter", "parser_threads", 12, 'v', kNvidia, kIgnored, "", ""},
    {"DataParameter", "precache", 16, 'v', kNvidia, kIgnored, "", ""},
    {"DataParameter", "shuffle", 11, 'v', kIntel, kConverted, "", ""},
    {"DataParameter", "shuffle", 14, 'v', kNvidia, kConverted, "", ""},
    {"DataParameter", "side", 12, 'v', kIntel, kRefused, "", ""},
    {"DataParameter", "threads", 11, 'v', kNvidia, kIgnored, "", ""},
    {"DetectionOutputParameter", "save_file", 12, 'b', kIntel, kIgnored, "", ""},
    {"DetectionOutputParameter", "save_file", 12, 'b', kNvidia, kIgnored, "", ""},
    {"DetectionOutputParameter", "save_output_param", 5, 'b', kIntel, kIgnored, "", ""},
    {"DetectionOutputParameter", "save_output_param", 5, 'b', kNvidia, kIgnored, "", ""},
    {"DetectionOutputParameter", "visualize", 10, 'v', kIntel, kIgnored, "", ""},
    {"DetectionOutputParameter", "visualize", 10, 'v', kNvidia, kIgnored, "", ""},
    {"DetectionOutputParameter", "visualize_threshold", 11, 'f', kIntel, kIgnored, "", ""},
    {"DetectionOutputParameter", "visualize_threshold", 11, 'f', kNvidia, kIgnored, "", ""},
    {"DropoutParameter", "engine", 2, 'v', kNvidia, kIgnored, "", ""},
    {"DropoutParameter", "random_seed", 3, 'v', kNvidia, kIgnored, "", ""},
    {"ELUParameter", "lambda", 2, 'f', kNvidia, kRefused, "1", ""},
    {"EltwiseParameter", "engine", 4, 'v', kIntel, kIgnored, "", ""},
    {"FillerParameter", "scale", 9, 'f', kIntel, kRefused, "1", ""},
    {"ImageDataParameter", "cache", 15, 'v', kNvidia, kIgnored, "", ""},
    {"ImageDataParameter", "dataset_share_per_node", 17, 'f', kNvidia, kRefused, "1", ""},
    {"ImageDataParameter", "min_height", 13, 'v', kIntel, kRefused, "0", ""},
    {"ImageDataParameter", "min_width", 14, 'v', kIntel, kRefused, "0", ""},
    {"ImageDataParameter", "precache", 16, 'v', kNvidia, kIgnored, "", ""},
    {"ImageDataParameter", "short_side", 13, 'v', kNvidia, kRefused, "0", ""},
    {"ImageDataParameter", "threads", 14, 'v', kNvidia, kIgnored, "", ""},
    {"InnerProductParameter", "engine", 7, 'v', kIntel, kIgnored, "", ""},
    {"InnerProductParameter", "negative_slope", 9, 'f', kIntel, kConverted, "", ""},
    {"InnerProductParameter", "relu", 8, 'v', kIntel, kConverted, "", ""},
    {"LRNParameter.Engine", "MKL2017", 3, 'v', kIntel, kIgnored, "", ""},
    {"LRNParameter.Engine", "MKLDNN", 4, 'v', kIntel, kIgnored, "", ""},
    {"LayerParameter", "annotated_data_param", 200, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "annotated_data_param", 200, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "backward_math", 148, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "backward_type", 146, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "bn_param", 0, 'b', kSegNet, kRefused, "", ""},
    {"LayerParameter", "box_annotator_ohem_param", 152, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "cudnn_math_override", 150, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "debug", 149, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "dense_image_data_param", 0, 'b', kSegNet, kRefused, "", ""},
    {"LayerParameter", "detection_evaluate_param", 205, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "detection_evaluate_param", 205, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "detectnet_augmentation_param", 6802, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "detectnet_groundtruth_param", 6801, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "engine", 149, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "eval_detection_param", 301, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "forward_math", 147, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "forward_type", 145, 'v', kNvidia, kIgnored, "", ""},
    {"LayerParameter", "mn_activation_param", 151, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "mn_grad_compress_param", 156, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "multibox_loss_param", 201, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "multibox_loss_param", 201, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "multinode", 150, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "norm_param", 206, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "norm_param", 206, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "psroi_pooling_param", 153, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "quantization_param", 158, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "recurrent_param", 151, 'b', kNvidia, kConverted, "", ""},
    {"LayerParameter", "region_loss_param", 209, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "reorg_param", 159, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "roi_pooling_param", 0, 'b', kFasterRcnn, kRefused, "", ""},
    {"LayerParameter", "roi_pooling_param", 154, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "smooth_l1_loss_param", 0, 'b', kFasterRcnn, kRefused, "", ""},
    {"LayerParameter", "smooth_l1_loss_param", 148, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "spatial_dropout_param", 155, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "split_param", 208, 'b', kIntel, kIgnored, "", ""},
    {"LayerParameter", "trt_param", 152, 'b', kNvidia, kRefused, "", ""},
    {"LayerParameter", "upsample_param", 0, 'b', kSegNet, kRefused, "", ""},
    {"LayerParameter", "video_data_param", 207, 'b', kIntel, kRefused, "", ""},
    {"LayerParameter", "video_data_param", 207, 'b', kNvidia, kRefused, "", ""},
    {"LossParameter", "label_smoothing", 5, 'f', kIntel, kRefused, "0", ""},
    {"LossParameter", "label_smoothing", 4, 'f', kNvidia, kRefused, "0", ""},
    {"LossParameter", "pre_fixed_normalizer", 4, 'f', kIntel, kRefused, "1", ""},
    {"LossParameter.NormalizationMode", "NONE", 4, 'v', kIntel, kConverted, "", ""},
    {"LossParameter.NormalizationMode", "PRE_FIXED", 3, 'v', kIntel, kRefused, "",
     "use normalization: NONE and loss_weight"},
    {"NetParameter", "bn_stats_batch_size", 11, 'v', kIntel, kRefused, "0",
     "statistics over parts of a batch"},
    {"NetParameter", "compile_net_state", 10, 'b', kIntel, kIgnored, "", ""},
    {"NetParameter", "default_backward_math", 14, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "default_backward_type", 12, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "default_conv_algos_override", 17, 'b', kNvidia, kIgnored, "", ""},
    {"NetParameter", "default_cudnn_math_override", 19, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "default_forward_math", 13, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "default_forward_type", 11, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "eltwise_mem_sharing", 20, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "engine", 9, 'b', kIntel, kIgnored, "", ""},
    {"NetParameter", "global_grad_scale", 15, 'f', kNvidia, kIgnored, "", ""},
    {"NetParameter", "global_grad_scale_adaptive", 16, 'v', kNvidia, kIgnored, "", ""},
    {"NetParameter", "multinode", 101, 'b', kIntel, kIgnored, "", ""},
    {"NetParameter", "reduce_buckets", 18, 'v', kNvidia, kIgnored, "", ""},
    {"PoolingParameter", "avg_include_pad", 13, 'v', kIntel, kRefused, "true",
     "averages over the image alone"},
    {"PoolingParameter", "axis", 14, 'v', kIntel, kRefused, "1", ""},
    {"PoolingParameter", "ceil_mode", 0, 'v', 0, kReplaced, "true", "round_mode: FLOOR"},
    {"PoolingParameter", "kernel_depth", 0, 'v', kC3d, kRefused, "", ""},
    {"PoolingParameter", "kernel_size_3d", 16, 'v', kIntel, kConverted, "", ""},
    {"PoolingParameter", "pad_3d", 15, 'v', kIntel, kConverted, "", ""},
    {"PoolingParameter", "round_below", 0, 'v', 0, kReplaced, "false", "round_mode: FLOOR"},
    {"PoolingParameter", "stride_3d", 17, 'v', kIntel, kConverted, "", ""},
    {"PoolingParameter", "temporal_pad", 0, 'v', kC3d, kRefused, "", ""},
    {"PoolingParameter", "temporal_stride", 0, 'v', kC3d, kRefused, "", ""},
    {"PoolingParameter", "torch_pooling", 40, 'v', kNvidia, kRefused, "false", ""},
    {"PoolingParameter.Engine", "MKL2017", 3, 'v', kIntel, kIgnored, "", ""},
    {"PoolingParameter.Engine", "MKLDNN", 4, 'v', kIntel, kIgnored, "", ""},
    {"ReLUParameter", "fuse", 3, 'v', kIntel, kIgnored, "", ""},
    {"ReLUParameter.Engine", "MKL2017", 3, 'v', kIntel, kIgnored, "", ""},
    {"ReLUParameter.Engine", "MKLDNN", 4, 'v', kIntel, kIgnored, "", ""},
    {"ReshapeParameter", "pixelshuffler", 4, 'v', kIntel, kRefused, "1", ""},
    {"SolverParameter", "ap_version", 42, 'b', kIntel, kIgnored, "", ""},
    {"SolverParameter", "ap_version", 242, 'b', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "disabled_update", 46, 'v', kIntel, kRefused, "false", ""},
    {"SolverParameter", "engine", 47, 'b', kIntel, kIgnored, "", ""},
    {"SolverParameter", "eval_type", 41, 'b', kIntel, kRefused, "classification",
     "detection is not scored"},
    {"SolverParameter", "eval_type", 241, 'b', kNvidia, kRefused, "classification",
     "detection is not scored"},
    {"SolverParameter", "larc", 49, 'v', kNvidia, kRefused, "false", "layer-wise adaptive rates"},
    {"SolverParameter", "larc_eta", 51, 'f', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "larc_policy", 50, 'b', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "larc_turbo", 55, 'v', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "local_gw_ratio", 51, 'f', kIntel, kIgnored, "", ""},
    {"SolverParameter", "local_lr_auto", 50, 'v', kIntel, kRefused, "false",
     "layer-wise adaptive rates"},
    {"SolverParameter", "max_momentum", 47, 'f', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "max_weight_decay", 56, 'f', kNvidia, kRefused, "0", ""},
    {"SolverParameter", "min_lr", 43, 'f', kNvidia, kConverted, "", ""},
    {"SolverParameter", "momentum_policy", 46, 'b', kNvidia, kRefused, "fixed", ""},
    {"SolverParameter", "momentum_power", 48, 'f', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "plateau_winsize", 44, 'v', kIntel, kConverted, "", ""},
    {"SolverParameter", "plateau_winsize", 243, 'v', kNvidia, kConverted, "", ""},
    {"SolverParameter", "rampup_interval", 41, 'v', kNvidia, kRenamed, "", "warmup_iter"},
    {"SolverParameter", "rampup_lr", 42, 'f', kNvidia, kRenamed, "", "warmup_start_lr"},
    {"SolverParameter", "show_per_class_result", 43, 'v', kIntel, kIgnored, "", ""},
    {"SolverParameter", "show_per_class_result", 244, 'v', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "solver_data_type", 44, 'v', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "stageiter", 151, 'v', kIntel, kRefused, "",
     "write lr_policy: \"multistep\" where the rates fit"},
    {"SolverParameter", "stagelr", 150, 'f', kIntel, kRefused, "",
     "write lr_policy: \"multistep\" where the rates fit"},
    {"SolverParameter", "store_blobs_in_old_format", 45, 'v', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "test_and_snapshot_last_epochs", 54, 'v', kNvidia, kIgnored, "", ""},
    {"SolverParameter", "test_offset", 52, 'v', kIntel, kRefused, "0", ""},
    {"SolverParameter", "warmup_iter", 48, 'v', kIntel, kConverted, "", ""},
    {"SolverParameter", "warmup_start_lr", 49, 'f', kIntel, kConverted, "", ""},
    {"SolverParameter", "weight_decay_policy", 52, 'b', kNvidia, kRefused, "fixed", ""},
    {"SolverParameter", "weight_decay_power", 53, 'f', kNvidia, kIgnored, "", ""},
    {"SolverParameter.SolverType", "SAG", 6, 'v', kNvidia, kRefused, "", ""},
    {"TransformationParameter", "allow_upscale", 20, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "bgr2rgb", 18, 'v', kIntel, kRefused, "false", ""},
    {"TransformationParameter", "crop_h", 11, 'v', kIntel, kRenamed, "0", "crop_height"},
    {"TransformationParameter", "crop_h", 211, 'v', kNvidia, kRenamed, "0", "crop_height"},
    {"TransformationParameter", "crop_w", 12, 'v', kIntel, kRenamed, "0", "crop_width"},
    {"TransformationParameter", "crop_w", 212, 'v', kNvidia, kRenamed, "0", "crop_width"},
    {"TransformationParameter", "display", 22, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "distort_param", 13, 'b', kIntel, kRefused, "",
     "brightness, contrast, saturation and hue come closest"},
    {"TransformationParameter", "distort_param", 213, 'b', kNvidia, kRefused, "",
     "brightness, contrast, saturation and hue come closest"},
    {"TransformationParameter", "emit_constraint", 10, 'b', kIntel, kRefused, "", ""},
    {"TransformationParameter", "emit_constraint", 210, 'b', kNvidia, kRefused, "", ""},
    {"TransformationParameter", "expand_param", 14, 'b', kIntel, kRefused, "",
     "min_scale below 1 comes closest"},
    {"TransformationParameter", "expand_param", 214, 'b', kNvidia, kRefused, "",
     "min_scale below 1 comes closest"},
    {"TransformationParameter", "flow", 17, 'v', kIntel, kRefused, "false", ""},
    {"TransformationParameter", "forward_packing", 21, 'v', kNvidia, kRefused, "NCHW", ""},
    {"TransformationParameter", "horizontal_stretch_lower", 16, 'f', kNvidia, kRefused, "1",
     "max_aspect_ratio comes closest"},
    {"TransformationParameter", "horizontal_stretch_upper", 17, 'f', kNvidia, kRefused, "1",
     "max_aspect_ratio comes closest"},
    {"TransformationParameter", "img_rand_resize_lower", 10, 'v', kNvidia, kRefused, "0",
     "resize_short_side with min_scale and max_scale comes closest"},
    {"TransformationParameter", "img_rand_resize_upper", 11, 'v', kNvidia, kRefused, "0",
     "resize_short_side with min_scale and max_scale comes closest"},
    {"TransformationParameter", "interpolation_algo_down", 18, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "interpolation_algo_up", 19, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "noise_param", 9, 'b', kIntel, kRefused, "", ""},
    {"TransformationParameter", "noise_param", 209, 'b', kNvidia, kRefused, "", ""},
    {"TransformationParameter", "num_labels", 23, 'v', kNvidia, kRefused, "0", ""},
    {"TransformationParameter", "pad", 19, 'v', kIntel, kRefused, "0", ""},
    {"TransformationParameter", "rand_resize_ratio_lower", 12, 'f', kNvidia, kRefused, "0",
     "min_scale and max_scale come closest"},
    {"TransformationParameter", "rand_resize_ratio_upper", 13, 'f', kNvidia, kRefused, "0",
     "min_scale and max_scale come closest"},
    {"TransformationParameter", "random_aspect_ratio_param", 16, 'b', kIntel, kRefused, "",
     "max_aspect_ratio, min_scale and max_scale come closest"},
    {"TransformationParameter", "random_resize_param", 15, 'b', kIntel, kRefused, "",
     "resize_short_side with min_scale and max_scale comes closest"},
    {"TransformationParameter", "random_seed", 9, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "resize_param", 8, 'b', kIntel, kRefused, "",
     "resize_height and resize_width, or resize_short_side, come closest"},
    {"TransformationParameter", "resize_param", 208, 'b', kNvidia, kRefused, "",
     "resize_height and resize_width, or resize_short_side, come closest"},
    {"TransformationParameter", "use_gpu_transform", 8, 'v', kNvidia, kIgnored, "", ""},
    {"TransformationParameter", "vertical_stretch_lower", 14, 'f', kNvidia, kRefused, "1",
     "max_aspect_ratio comes closest"},
    {"TransformationParameter", "vertical_stretch_upper", 15, 'f', kNvidia, kRefused, "1",
     "max_aspect_ratio comes closest"},
    {"V1LayerParameter.LayerType", "CONVOLUTION3D", 0, 'v', kC3d, kRefused, "", ""},
    {"V1LayerParameter.LayerType", "DECONVOLUTION3D", 0, 'v', kC3d, kRefused, "", ""},
    {"V1LayerParameter.LayerType", "POOLING3D", 0, 'v', kC3d, kRefused, "", ""},
    {"V1LayerParameter.LayerType", "VOLUME_DATA", 0, 'v', kC3d, kRefused, "", ""},
};

struct Advice {
  std::string_view message, field, text;
};
constexpr Advice kAdvice[] = {
    {"LayerParameter", "blobs_lr", "use `param { lr_mult decay_mult }`, one for each parameter"},
    {"LayerParameter", "weight_decay",
     "use `param { lr_mult decay_mult }`, one for each parameter"},
    {"LayerParameter", "blob_share_mode", "use `param { share_mode }`"},
    {"TransformationParameter", "mean", "use mean_value or mean_file"},
};

/// Without quotes; true and false in one form.
std::string plain_value(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  if (value == "True" || value == "t") return "true";
  if (value == "False" || value == "f") return "false";
  return std::string(value);
}

bool to_number(const std::string& text, double* number) {
  if (text == "true" || text == "false") {
    *number = text == "true" ? 1 : 0;
    return true;
  }
  char* end = nullptr;
  *number = std::strtod(text.c_str(), &end);
  return !text.empty() && (*end == '\0' || (*end == 'f' && end[1] == '\0'));
}

}  // namespace

Dialect parse_dialect(const std::string& name) {
  if (name == "detect") return Dialect::kDetect;
  if (name == "bvlc") return Dialect::kBvlc;
  if (name == "nvidia") return Dialect::kNvidia;
  if (name == "intel") return Dialect::kIntel;
  fail("the dialect is detect, bvlc, nvidia or intel, not \"{}\"", name);
}

std::vector<const ForkField*> fork_rows(std::string_view message, std::string_view field) {
  std::vector<const ForkField*> rows;
  for (const ForkField& row : kFields) {
    if (row.field == field && row.message == message) rows.push_back(&row);
  }
  return rows;
}

std::vector<const ForkField*> fork_rows(std::string_view message, int number, char wire,
                                        int forks) {
  std::vector<const ForkField*> rows;
  for (const ForkField& row : kFields) {
    if (number != 0 && row.number == number && row.wire == wire && (row.fork & forks) != 0 &&
        row.message == message) {
      rows.push_back(&row);
    }
  }
  return rows;
}

bool is_neutral(const ForkField& row, std::string_view text) {
  if (row.neutral.empty()) return false;
  const std::string value = plain_value(text);
  const std::string neutral(row.neutral);
  double a = 0, b = 0;
  return value == neutral || (to_number(value, &a) && to_number(neutral, &b) && a == b);
}

std::string fork_names(int forks) {
  std::string text;
  for (const ForkName& name : kNames) {
    if (!(forks & name.fork)) continue;
    if (!text.empty()) text += " and ";
    text += name.name;
  }
  return text;
}

std::string fork_refusal(std::string_view message, std::string_view field, const char* what) {
  int forks = 0;
  std::string_view note;
  for (const ForkField* row : fork_rows(message, field)) {
    forks |= row->fork;
    if (row->treatment == kRefused) note = row->note;
  }
  if (forks == 0) return "";
  std::string text = fmt::format("it is a {} of {} that changes results and is not supported", what,
                                 fork_names(forks));
  return note.empty() ? text : fmt::format("{} ({})", text, note);
}

std::string advice_for_field(std::string_view message, std::string_view field) {
  for (const Advice& advice : kAdvice) {
    if (advice.message == message && advice.field == field) return std::string(advice.text);
  }
  return "";
}

Dialect dialect_of(const ForkUse& use, Dialect given, const std::string& file) {
  if (given != Dialect::kDetect) return given;
  const int told = use.told & (kNvidia | kIntel);
  require(told != (kNvidia | kIntel),
          "{} has fields of NVIDIA's and of Intel's Caffe; say by --dialect whose it is", file);
  return told == kNvidia ? Dialect::kNvidia : told == kIntel ? Dialect::kIntel : Dialect::kBvlc;
}

std::string ignored_sentence(const ForkUse& use) {
  constexpr std::size_t kShown = 3;
  struct Group {
    std::string field;
    std::vector<std::string> places;
  };
  std::vector<Group> groups;
  int forks = 0;
  for (const ForkUse::Ignored& ignored : use.ignored) {
    forks |= ignored.forks;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.field == ignored.field; });
    if (group == groups.end()) group = groups.insert(group, {ignored.field, {}});
    group->places.push_back(ignored.where);
  }
  if (groups.empty()) return "";
  std::vector<std::string> parts;
  for (Group& group : groups) {
    const std::size_t count = group.places.size();
    group.places.resize(std::min(count, kShown));
    parts.push_back(fmt::format("{} ({}{})", group.field, fmt::join(group.places, ", "),
                                count > kShown ? fmt::format(" and {} more", count - kShown) : ""));
  }
  const std::string whose = forks == 0 ? "" : fmt::format("fields of {}: ", fork_names(forks));
  return fmt::format("ignored, as no result depends on them here: {}{}", whose,
                     fmt::join(parts, ", "));
}

}  // namespace crema
