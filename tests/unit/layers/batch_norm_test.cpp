#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields = "", const std::string& rest = "") {
  return "type: 'BatchNorm' bottom: 'x' top: 'y' " + rest + " batch_norm_param { " + fields + " }";
}

std::vector<Blob> statistics(std::int64_t channels, float factor) {
  return {spread({channels}, -1, 1, 5), spread({channels}, 0.5f, 2, 6), blob({1}, {factor})};
}

TEST(BatchNorm, BatchStatisticsByHand) {
  RunOptions options;
  options.backward = false;
  const Result result =
      run(*make(layer("eps: 0")), {blob({2, 2}, {1, 10, 3, 30})}, statistics(2, 1), {}, options);
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(-1, -1, 1, 1));
}

TEST(BatchNorm, StoredStatisticsByHand) {
  const std::vector<Blob> params = {blob({2}, {2, 4}), blob({2}, {8, 18}), blob({1}, {2})};
  const Result result = run(*make(layer("eps: 0 use_global_stats: true")),
                            {blob({2, 2}, {1, 2, 3, 8})}, params, {blob({2, 2}, {2, 3, 4, 6})});
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(result.bottom_gradients[0].values, testing::ElementsAre(1, 1, 2, 2));
  // The parameters have no gradient.
  for (const Blob& gradient : result.param_gradients) {
    EXPECT_THAT(gradient.values, testing::Each(0.0f));
  }
}

TEST(BatchNorm, FactorZeroMeansNothingGathered) {
  RunOptions options;
  options.backward = false;
  const Result result = run(*make(layer("eps: 0.25", "phase: TEST")), {blob({1, 2}, {1, 2})},
                            statistics(2, 0), {}, options);
  EXPECT_THAT(result.tops[0].values, testing::ElementsAre(2, 4));
}

/// The parameters after one forward pass.
std::vector<std::vector<float>> after_forward(const std::string& text, const Blob& bottom,
                                              std::vector<std::vector<float>> values) {
  const auto device = make_cpu_device(1);
  const auto made = make(text);
  const Inference inference = made->infer({bottom.shape});
  PlanRequest request{*device, {bottom.shape}, inference.tops, {}, {}, {}, {}, {}, {}};
  for (const ParamDef& param : inference.params) request.params.push_back(param.shape);
  request.bottom_layouts.resize(1);
  request.top_layouts.resize(1);
  request.param_layouts.resize(3);
  request.bottom_gradients = {1};
  request.param_gradients = {0, 0, 0};
  const auto op = made->plan(request);
  Blob x = bottom;
  const Buffer workspace(*device, op->workspace_bytes()), scratch(*device, op->scratch_bytes());
  RunContext run{*device, {}, {}, {}, {}, {}, {}, {}, workspace.data(), scratch.data(), 0, {}};
  run.bottoms = run.tops = {Tensor(*device, x.shape, Layout(), x.values.data())};
  for (std::size_t i = 0; i < 3; ++i) {
    run.params.emplace_back(*device, request.params[i], Layout(), values[i].data());
  }
  op->forward(run);
  return values;
}

TEST(BatchNorm, GathersStatistics) {
  const Blob x = blob({2, 2}, {1, 10, 3, 30});
  for (const char* rest : {"", "phase: TEST"}) {
    const auto after =
        after_forward(layer("use_global_stats: false moving_average_fraction: 0.5", rest), x,
                      {{4, 8}, {2, 6}, {3}});
    // Batch means 2 and 20, variances 1 and 100, times m / (m - 1) = 2.
    EXPECT_THAT(after[0], testing::ElementsAre(4, 24));
    EXPECT_THAT(after[1], testing::ElementsAre(3, 203));
    EXPECT_THAT(after[2], testing::ElementsAre(2.5f));
  }
  const std::vector<std::vector<float>> before = {{4, 8}, {2, 6}, {3}};
  EXPECT_EQ(after_forward(layer("", "phase: TEST"), x, before), before);
  EXPECT_EQ(after_forward(layer(), blob({0, 2}, {}), before), before);
  // One value a channel.
  const auto one = after_forward(layer("moving_average_fraction: 0"), blob({1, 2}, {7, 9}), before);
  EXPECT_THAT(one[0], testing::ElementsAre(7, 9));
  EXPECT_THAT(one[1], testing::ElementsAre(0, 0));
}

TEST(BatchNorm, EqualValuesGiveZero) {
  RunOptions options;
  options.backward = false;
  const Result result = run(*make(layer()), {blob({1, 2, 3}, {1e4f, 1e4f, 1e4f, -3, -3, -3})},
                            statistics(2, 1), {}, options);
  EXPECT_THAT(result.tops[0].values, testing::Each(0.0f));
}

TEST(BatchNorm, Grid) {
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 4, 5}, Shape{3, 2, 4}, Shape{2, 2, 2, 2, 3},
                             Shape{5, 1, 2, 2}, Shape{2, 20, 3, 1}, Shape{1, 2, 1, 1, 2, 3}}) {
    const std::vector<Blob> x = {spread(shape, -2, 3)};
    check_layer(layer(), x, statistics(shape[1], 1));
    check_layer(layer("eps: 0.5"), x, statistics(shape[1], 3));
  }
  // By its stored parameters it has a slope that is not theirs to learn.
  check_layer(layer("use_global_stats: true"), {spread({2, 3, 4, 5})}, statistics(3, 2), 0);
  check_layer(layer(), {spread({8, 64, 20, 20})}, statistics(64, 1), 0);
  EXPECT_EQ(layout_count(*make(layer()), {spread({2, 3, 4, 5})}), 2);
  for (const Shape& shape : {Shape{0, 3, 2}, Shape{2, 0, 2}, Shape{2, 3, 0}}) {
    check_layer(layer(), {spread(shape)}, statistics(shape[1], 1), 0);
  }
}

TEST(BatchNorm, StoredStatisticsGradientOfTheBottom) {
  const std::vector<Blob> x = {spread({2, 3, 2})}, params = statistics(3, 2);
  const auto made = make(layer("use_global_stats: true"));
  const std::vector<Blob> dy = spread_gradients(*made, x);
  const Result result = run(*made, x, params, dy);
  for (std::size_t i = 0; i < 12; ++i) {
    const float variance = params[1].values[i / 2 % 3] / 2;
    EXPECT_NEAR(result.bottom_gradients[0].values[i], dy[0].values[i] / std::sqrt(variance + 1e-5f),
                1e-6);
  }
}

TEST(BatchNorm, WhatBackwardReads) {
  EXPECT_TRUE(make(layer())->backward_reads_top(0));
  EXPECT_FALSE(make(layer())->backward_reads_bottom(0));
  EXPECT_FALSE(make(layer("", "phase: TEST"))->backward_reads_top(0));
  EXPECT_EQ(make(layer())->default_lr_mult(), 0);
}

TEST(BatchNorm, Errors) {
  EXPECT_EQ(infer_error(layer(), {{4}}),
            "the bottom must have at least 2 axes (axis 1 holds the channels), not 1 (4)");
  EXPECT_EQ(infer_error(layer("eps: -1"), {{4, 2}}),
            "batch_norm_param.eps is -1; it must be 0 or more");
  EXPECT_EQ(infer_error(layer("", "param { lr_mult: 0 } param { lr_mult: 0.5 }"), {{4, 2}}),
            "param 1 has lr_mult 0.5: the parameters of BatchNorm are statistics that forward "
            "passes gather, their lr_mult must be 0");
  EXPECT_NO_THROW(make(layer("", "param { decay_mult: 0 }")));
}

}  // namespace
}  // namespace crema::test
