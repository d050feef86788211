#include <cmath>

#include "op_harness.h"

namespace crema::test {
namespace {

std::string layer(const std::string& fields) {
  return "type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'priors' top: 'y' "
         "detection_output_param { " +
         fields + " }";
}

/// The rows found, in the way of the executor: the size first.
std::vector<float> detect(const std::string& fields, std::vector<Blob> bottoms) {
  const auto device = make_cpu_device(1);
  const std::unique_ptr<Layer> made = make(layer(fields));
  std::vector<Tensor> tensors;
  std::vector<Shape> shapes;
  for (Blob& bottom : bottoms) {
    shapes.push_back(bottom.shape);
    tensors.emplace_back(*device, bottom.shape, Layout(), bottom.values.data());
  }
  EXPECT_TRUE(made->tops_depend_on_data());
  const Shape top = made->actual_tops(tensors)[0];
  EXPECT_LE(top.count(), made->infer(shapes).tops[0].count());
  EXPECT_EQ(top, Shape({1, 1, top[2], 7}));
  std::vector<float> values(static_cast<std::size_t>(top.count()));
  RunContext run{*device, tensors, {Tensor(*device, top, Layout(), values.data())},
                 {},      {},      {},
                 {},      {},      nullptr,
                 nullptr, 0,       {}};
  made->plan({*device, shapes, {top}, {}, {{}, {}, {}}, {{}}, {}, {0, 0, 0}, {}})->forward(run);
  return values;
}

void expect_rows(const std::vector<float>& actual, const std::vector<std::vector<float>>& rows) {
  ASSERT_EQ(actual.size(), rows.size() * 7);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], rows[i / 7][i % 7], 1e-6) << "row " << i / 7 << ", column " << i % 7;
  }
}

/// a and b overlap by 2/3, c touches a.
const std::vector<float> kBoxes = {0, 0, 0.5F, 0.5F, 0.1F, 0, 0.6F, 0.5F, 0.5F, 0.5F, 1, 1};
const std::string kThree = "num_classes: 3 variance_encoded_in_target: true ";

/// Three classes, offsets 0.
std::vector<Blob> three() {
  std::vector<float> priors = kBoxes;
  priors.insert(priors.end(), 12, 0.1F);
  return {blob({1, 12}, std::vector<float>(12)),
          blob({1, 9}, {0.1F, 0.6F, 0.3F, 0.1F, 0.7F, 0.2F, 0, 0.2F, 0.8F}),
          blob({1, 2, 12}, std::move(priors))};
}

std::vector<float> row(float label, float score, int box) {
  const auto begin = kBoxes.begin() + box * 4;
  std::vector<float> values = {0, label, score};
  values.insert(values.end(), begin, begin + 4);
  return values;
}

TEST(DetectionOutput, ByHand) {
  const std::string nms = kThree + "nms_param { nms_threshold: 0.5 } ";
  expect_rows(detect(nms + "confidence_threshold: 0.25", three()),
              {row(1, 0.7F, 1), row(2, 0.8F, 2), row(2, 0.3F, 0)});
  expect_rows(detect(nms + "confidence_threshold: 0.25 keep_top_k: 2", three()),
              {row(1, 0.7F, 1), row(2, 0.8F, 2)});
  expect_rows(detect(nms, three()),
              {row(1, 0.7F, 1), row(1, 0.2F, 2), row(2, 0.8F, 2), row(2, 0.3F, 0)});
  // The best two of each class to begin with, one of which then goes.
  expect_rows(detect(kThree + "nms_param { nms_threshold: 0.5 top_k: 2 }", three()),
              {row(1, 0.7F, 1), row(2, 0.8F, 2), row(2, 0.3F, 0)});
  // Another background, and none.
  expect_rows(detect(nms + "background_label_id: 2 confidence_threshold: 0.25", three()),
              {row(1, 0.7F, 1)});
  expect_rows(detect(nms + "background_label_id: -1 confidence_threshold: 0.65", three()),
              {row(1, 0.7F, 1), row(2, 0.8F, 2)});
}

TEST(DetectionOutput, ThresholdOfOverlap) {
  const std::string fields = kThree + "confidence_threshold: 0.5 background_label_id: 2 ";
  expect_rows(detect(fields + "nms_param { nms_threshold: 0.8 }", three()),
              {row(1, 0.7F, 1), row(1, 0.6F, 0)});
  // 0.8 becomes 0.4 after the first box.
  expect_rows(detect(fields + "nms_param { nms_threshold: 0.8 eta: 0.5 }", three()),
              {row(1, 0.7F, 1)});
  expect_rows(detect(fields, three()), {row(1, 0.7F, 1)});
}

TEST(DetectionOutput, Codes) {
  const float five = 5 * std::log(2.0F);
  const std::vector<Blob> bottoms = {
      blob({1, 4}, {1, -1, five, 0}), blob({1, 2}, {0, 0.9F}),
      blob({1, 2, 4}, {0.2F, 0.2F, 0.4F, 0.6F, 0.1F, 0.1F, 0.2F, 0.2F})};
  const auto found = [&](const std::string& fields, std::vector<float> box) {
    box.insert(box.begin(), {0, 1, 0.9F});
    expect_rows(detect("num_classes: 2 " + fields, bottoms), {box});
  };
  found("code_type: CENTER_SIZE", {0.12F, 0.16F, 0.52F, 0.56F});
  found("", {0.3F, 0.1F, 0.4F + 0.2F * five, 0.6F});
  found("code_type: CORNER_SIZE", {0.22F, 0.16F, 0.4F + 0.04F * five, 0.6F});
  found("variance_encoded_in_target: true", {1.2F, -0.8F, 0.4F + five, 0.6F});
}

TEST(DetectionOutput, BoxesOfEachClassAndSeveralImages) {
  // Class 0 is the background; only the offsets of class 1 count.
  const std::vector<Blob> bottoms = {
      blob({2, 8}, {9, 9, 9, 9, 0.25F, 0, 0, 0, 9, 9, 9, 9, 0.5F, 0, 0, 0}),
      blob({2, 2}, {0, 0.5F, 0, 0.75F}), blob({1, 2, 4}, {0, 0, 1, 1, 1, 1, 1, 1})};
  expect_rows(detect("num_classes: 2 share_location: false", bottoms),
              {{0, 1, 0.5F, 0.25F, 0, 1, 1}, {1, 1, 0.75F, 0.5F, 0, 1, 1}});
  expect_rows(detect("num_classes: 2 share_location: false confidence_threshold: 0.6", bottoms),
              {{1, 1, 0.75F, 0.5F, 0, 1, 1}});
  expect_rows(detect("num_classes: 2 share_location: false confidence_threshold: 0.9", bottoms),
              {{0, -1, -1, -1, -1, -1, -1}, {1, -1, -1, -1, -1, -1, -1}});
}

TEST(DetectionOutput, NoImagesAndNoPriors) {
  EXPECT_TRUE(detect("num_classes: 2", {blob({0, 4}, {}), blob({0, 2}, {}),
                                        blob({1, 2, 4}, {0, 0, 1, 1, 1, 1, 1, 1})})
                  .empty());
  expect_rows(detect("num_classes: 2", {blob({1, 0}, {}), blob({1, 0}, {}), blob({1, 2, 0}, {})}),
              {{0, -1, -1, -1, -1, -1, -1}});
}

TEST(DetectionOutput, TheMostThatItCanFind) {
  const auto most = [](const std::string& fields) {
    return make(layer("num_classes: 3 " + fields))->infer({{2, 12}, {2, 9}, {1, 2, 12}}).tops[0];
  };
  EXPECT_EQ(most(""), Shape({1, 1, 2 * 9, 7}));
  EXPECT_EQ(most("nms_param { top_k: 2 }"), Shape({1, 1, 2 * 6, 7}));
  EXPECT_EQ(most("keep_top_k: 4"), Shape({1, 1, 2 * 4, 7}));
  EXPECT_EQ(most("keep_top_k: 0"), Shape({1, 1, 2, 7}));
}

TEST(DetectionOutput, Errors) {
  const auto error = [](const std::string& fields, const std::vector<Shape>& bottoms) {
    return infer_error(layer(fields), bottoms);
  };
  const std::vector<Shape> good = {{2, 12}, {2, 9}, {1, 2, 12}};
  EXPECT_EQ(error("", good),
            "detection_output_param.num_classes must be given: the number of classes, with the "
            "background");
  EXPECT_EQ(error("num_classes: 3 keep_top_k: -2", good),
            "detection_output_param.keep_top_k -2 must be at least 0, or -1 for all");
  EXPECT_EQ(error("num_classes: 3 nms_param { top_k: -2 }", good),
            "detection_output_param.nms_param.top_k -2 must be at least 0, or -1 for all");
  EXPECT_EQ(error("num_classes: 3 nms_param { nms_threshold: -1 }", good),
            "detection_output_param.nms_param.nms_threshold -1 must be at least 0");
  EXPECT_EQ(error("num_classes: 3 nms_param { eta: 2 }", good),
            "detection_output_param.nms_param.eta 2 must be above 0 and at most 1");
  EXPECT_EQ(error("num_classes: 3", {{2, 12}, {2, 9}, {1, 12}}),
            "bottom 2 must hold prior boxes, 1 x 2 x 4 for each, but is 1x12");
  EXPECT_EQ(error("num_classes: 3", {{2, 8}, {2, 9}, {1, 2, 12}}),
            "bottom 0 must hold 4 offsets for each of 3 prior boxes, 12 an image, but is 2x8");
  EXPECT_EQ(error("num_classes: 3 share_location: false", {{2, 12}, {2, 9}, {1, 2, 12}}),
            "bottom 0 must hold 4 offsets for each of 3 prior boxes and each class, 36 an image, "
            "but is 2x12");
  EXPECT_EQ(error("num_classes: 3", {{2, 12}, {1, 9}, {1, 2, 12}}),
            "bottom 1 must hold 3 scores for each of 3 prior boxes, 9 for each of 2 images, but is "
            "1x9");
}

}  // namespace
}  // namespace crema::test
