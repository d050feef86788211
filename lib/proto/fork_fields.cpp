#include "proto/fork_fields.h"

#include "base/text.h"

namespace crema {
namespace {

enum Fork { kNvidia = 1, kIntel = 2, kMinerva = 4, kSegNet = 8, kC3d = 16, kFasterRcnn = 32 };

struct ForkName {
  int fork;
  const char* name;
};
constexpr ForkName kNames[] = {
    {kNvidia, "NVIDIA Caffe (NVCaffe)"},
    {kIntel, "Intel Caffe"},
    {kMinerva, "Minerva"},
    {kSegNet, "the Caffe of SegNet"},
    {kC3d, "the Caffe of C3D"},
    {kFasterRcnn, "the Caffe of Faster R-CNN"},
};

struct ForkFields {
  std::string_view message;
  int forks;
  std::string_view names;
};
constexpr ForkFields kFields[] = {
    {"BatchNormParameter", kIntel, "bias_term filler relu stats_batch_size use_weight_bias"},
    {"BatchNormParameter", kNvidia, "scale_bias scale_filler"},
    {"BatchNormParameter", kNvidia | kIntel, "bias_filler engine"},
    {"ConcatParameter", kIntel, "engine per_fla_fuse"},
    {"ConvolutionParameter", kIntel, "coeff conv_algorithm fusion_type negative_slope relu"},
    {"ConvolutionParameter", kNvidia, "conv_algos_override cudnn_convolution_algo_seeker"},
    {"ConvolutionParameter.Engine", kIntel, "MKL2017 MKLDNN"},
    {"DataParameter", kIntel, "side"},
    {"DataParameter", kNvidia, "cache parser_threads precache threads"},
    {"DataParameter", kNvidia | kIntel, "shuffle"},
    {"DropoutParameter", kNvidia, "engine random_seed"},
    {"ELUParameter", kNvidia, "lambda"},
    {"EltwiseParameter", kIntel, "engine"},
    {"FillerParameter", kIntel, "scale"},
    {"ImageDataParameter", kIntel, "min_height min_width"},
    {"ImageDataParameter", kNvidia, "cache dataset_share_per_node precache short_side threads"},
    {"InnerProductParameter", kIntel, "engine negative_slope relu"},
    {"LRNParameter.Engine", kIntel, "MKL2017 MKLDNN"},
    {"LayerParameter", kIntel,
     "box_annotator_ohem_param engine eval_detection_param mn_activation_param "
     "mn_grad_compress_param multinode psroi_pooling_param quantization_param "
     "region_loss_param reorg_param roi_pooling_param smooth_l1_loss_param "
     "spatial_dropout_param split_param"},
    {"LayerParameter", kNvidia,
     "backward_math backward_type cudnn_math_override debug "
     "detectnet_augmentation_param detectnet_groundtruth_param forward_math "
     "forward_type trt_param"},
    {"LayerParameter", kNvidia | kIntel,
     "annotated_data_param detection_evaluate_param detection_output_param "
     "multibox_loss_param norm_param permute_param prior_box_param video_data_param"},
    {"LossParameter", kIntel, "pre_fixed_normalizer"},
    {"LossParameter", kNvidia | kIntel, "label_smoothing"},
    {"LossParameter.NormalizationMode", kIntel, "PRE_FIXED"},
    {"NetParameter", kIntel, "bn_stats_batch_size compile_net_state engine multinode"},
    {"NetParameter", kNvidia,
     "default_backward_math default_backward_type default_conv_algos_override "
     "default_cudnn_math_override default_forward_math default_forward_type "
     "eltwise_mem_sharing global_grad_scale global_grad_scale_adaptive reduce_buckets"},
    {"Phase", kMinerva, "MULTI_VIEW"},
    {"PoolingParameter", kIntel, "avg_include_pad axis"},
    {"PoolingParameter", kNvidia, "torch_pooling"},
    {"PoolingParameter.Engine", kIntel, "MKL2017 MKLDNN"},
    {"ReLUParameter", kIntel, "fuse"},
    {"ReLUParameter.Engine", kIntel, "MKL2017 MKLDNN"},
    {"ReshapeParameter", kIntel, "pixelshuffler"},
    {"SolverParameter", kIntel,
     "disabled_update engine local_gw_ratio local_lr_auto stageiter stagelr "
     "test_offset warmup_iter warmup_start_lr"},
    {"SolverParameter", kNvidia,
     "larc larc_eta larc_policy larc_turbo max_momentum max_weight_decay min_lr "
     "momentum_policy momentum_power rampup_interval rampup_lr solver_data_type "
     "store_blobs_in_old_format test_and_snapshot_last_epochs weight_decay_policy "
     "weight_decay_power"},
    {"SolverParameter", kNvidia | kIntel,
     "ap_version eval_type plateau_winsize show_per_class_result"},
    {"SolverParameter.SolverType", kNvidia, "SAG"},
    {"TransformationParameter", kIntel,
     "bgr2rgb flow pad random_aspect_ratio_param random_resize_param"},
    {"TransformationParameter", kNvidia,
     "allow_upscale display forward_packing horizontal_stretch_lower "
     "horizontal_stretch_upper img_rand_resize_lower img_rand_resize_upper "
     "interpolation_algo_down interpolation_algo_up num_labels rand_resize_ratio_lower "
     "rand_resize_ratio_upper random_seed use_gpu_transform vertical_stretch_lower "
     "vertical_stretch_upper"},
    {"TransformationParameter", kNvidia | kIntel,
     "crop_h crop_w distort_param emit_constraint expand_param noise_param "
     "resize_param"},
    {"ConvolutionParameter", kC3d, "kernel_depth temporal_pad temporal_stride"},
    {"LayerParameter", kFasterRcnn, "roi_pooling_param smooth_l1_loss_param"},
    {"LayerParameter", kSegNet, "bn_param dense_image_data_param upsample_param"},
    {"PoolingParameter", kC3d, "kernel_depth temporal_pad temporal_stride"},
    {"V1LayerParameter.LayerType", kC3d, "CONVOLUTION3D DECONVOLUTION3D POOLING3D VOLUME_DATA"},
};

struct Advice {
  std::string_view message, field, text;
};
constexpr Advice kAdvice[] = {
    {"LayerParameter", "blobs_lr", "use `param { lr_mult decay_mult }`, one for each parameter"},
    {"LayerParameter", "weight_decay",
     "use `param { lr_mult decay_mult }`, one for each parameter"},
    {"LayerParameter", "blob_share_mode", "use `param { share_mode }`"},
    {"PoolingParameter", "ceil_mode",
     "write `round_mode: FLOOR` for `ceil_mode: false`, nothing for true"},
    {"PoolingParameter", "round_below",
     "write `round_mode: FLOOR` for `round_below: true`, nothing for false"},
    {"TransformationParameter", "mean", "use mean_value or mean_file"},
};

}  // namespace

std::string fork_of_field(std::string_view message, std::string_view field) {
  int forks = 0;
  for (const ForkFields& row : kFields) {
    if (row.message != message) continue;
    for (const std::string& name : split(row.names, ' ')) {
      if (name == field) forks |= row.forks;
    }
  }
  std::string text;
  for (const ForkName& name : kNames) {
    if (!(forks & name.fork)) continue;
    if (!text.empty()) text += " and ";
    text += name.name;
  }
  return text;
}

std::string advice_for_field(std::string_view message, std::string_view field) {
  for (const Advice& advice : kAdvice) {
    if (advice.message == message && advice.field == field) return std::string(advice.text);
  }
  return "";
}

}  // namespace crema
