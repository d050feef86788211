#include <cmath>
#include <filesystem>

#include "op_harness.h"
#include "proto/blobs.h"
#include "proto/io.h"

namespace crema::test {
namespace {

std::string layer(const std::string& rest = "", const std::string& tops = "top: 'loss'") {
  return "type: 'InfogainLoss' bottom: 'x' bottom: 'label' bottom: 'H' " + tops + " " + rest;
}
std::string from_file(const std::string& source) {
  return "type: 'InfogainLoss' bottom: 'x' bottom: 'label' top: 'loss' infogain_loss_param { "
         "source: '" +
         source + "' }";
}

/// Probabilities 1/4 and 3/4, then 1/2 and 1/2.
const Blob kScores = {{2, 2}, {0, std::log(3.0f), 5, 5}};
const Blob kLabels = blob({2}, {0, 1});
const Blob kMatrix = blob({2, 2}, {1, 2, 3, 4});

TEST(InfogainLoss, ByHand) {
  const Result result = run(*make(layer()), {kScores, kLabels, kMatrix}, {}, {blob({}, {2})});
  EXPECT_NEAR(result.tops[0].values[0],
              -(std::log(0.25) + 2 * std::log(0.75) + 7 * std::log(0.5)) / 2, 1e-5);
  expect_near(result.bottom_gradients[0], blob({2, 2}, {-0.25f, 0.25f, 0.5f, -0.5f}), 1e-5, "dx");
}

TEST(InfogainLoss, SecondTopHoldsTheProbabilities) {
  const Result result = run(*make(layer("", "top: 'loss' top: 'p'")), {kScores, kLabels, kMatrix},
                            {}, {blob({}, {2})});
  expect_near(result.tops[1], blob({2, 2}, {0.25f, 0.75f, 0.5f, 0.5f}), 1e-6, "p");
  expect_near(result.bottom_gradients[0], blob({2, 2}, {-0.25f, 0.25f, 0.5f, -0.5f}), 1e-5, "dx");
}

TEST(InfogainLoss, WithTheIdentityItIsSoftmaxWithLoss) {
  const Blob x = spread({2, 3, 2, 2}, -2, 2), labels = blob({2, 4}, {0, 1, 2, 2, 1, 0, 0, 2});
  const Blob identity = blob({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  const std::string rest = "loss_param { ignore_label: 1 normalization: FULL }";
  const Result gain = run(*make(layer(rest)), {x, labels, identity}, {}, {blob({}, {1})});
  const Result plain =
      run(*make("type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'label' top: 'loss' " + rest),
          {x, labels}, {}, {blob({}, {1})});
  expect_near(gain.tops[0], plain.tops[0], 1e-6, "loss");
  expect_near(gain.bottom_gradients[0], plain.bottom_gradients[0], 1e-6, "dx");
}

TEST(InfogainLoss, Grid) {
  const Blob h = spread({3, 3}, 0, 1, 5);
  check_layer(layer(), {spread({4, 3}, -2, 2), blob({4}, {0, 2, 1, 2}), h}, {});
  const Blob image = spread({2, 3, 2, 2}, -2, 2);
  const Blob map = blob({2, 1, 2, 2}, {0, 1, 2, 2, 1, 0, 0, 2});
  for (const char* mode : {"FULL", "VALID", "BATCH_SIZE", "NONE"}) {
    check_layer(layer(std::string("loss_param { ignore_label: 0 normalization: ") + mode + " }"),
                {image, map, {{9}, h.values}}, {});
  }
  check_layer(layer("infogain_loss_param { axis: 2 }"),
              {spread({2, 4, 3}, -2, 2), blob({2, 4}, {0, 1, 2, 2, 1, 0, 0, 2}), h}, {});
  check_layer(layer("", "top: 'loss' top: 'p'"), {image, map, h}, {}, 0);
  EXPECT_FALSE(make(layer())->allow_force_backward(2));
}

TEST(InfogainLoss, MatrixFromAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "crema_infogain_matrix";
  caffe::BlobProto proto;
  to_proto(kMatrix.shape, kMatrix.values.data(), &proto);
  write_binary(proto, path.string());
  const Result result =
      run(*make(from_file(path.string())), {kScores, kLabels}, {}, {blob({}, {2})});
  const Result expected = run(*make(layer()), {kScores, kLabels, kMatrix}, {}, {blob({}, {2})});
  EXPECT_EQ(result.tops[0].values, expected.tops[0].values);
  EXPECT_EQ(result.bottom_gradients[0].values, expected.bottom_gradients[0].values);
  EXPECT_EQ(infer_error(from_file(path.string()), {{2, 3}, {2}}),
            "the matrix H (" + path.string() +
                ") must hold 3 x 3 values, a row for each class, "
                "not 4");
  std::filesystem::remove(path);
}

TEST(InfogainLoss, Errors) {
  EXPECT_EQ(infer_error(layer("loss_param { normalize: true }"), {{2, 3}, {2}, {3, 3}}),
            "loss_param.normalize is not for InfogainLoss; use loss_param.normalization");
  EXPECT_EQ(
      infer_error("type: 'InfogainLoss' bottom: 'x' bottom: 'label' top: 'loss'", {{2, 3}, {2}}),
      "infogain_loss_param.source is missing: the matrix H comes from that file or from a "
      "third bottom");
  EXPECT_THAT(infer_error(from_file("/no/such/file"), {{2, 3}, {2}}),
              testing::AllOf(testing::StartsWith("infogain_loss_param.source"),
                             testing::HasSubstr("/no/such/file")));
  EXPECT_EQ(infer_error(layer(), {{2, 3}, {2}, {2, 3}}),
            "the matrix H (bottom 2) must hold 3 x 3 values, a row for each class, not 6");
  EXPECT_EQ(infer_error(layer(), {{2, 3}, {2, 2}, {3, 3}}),
            "bottom 0 is 2x3: it needs 2 labels, one for every 3 scores, but bottom 1 holds 4 "
            "(2x2)");
  EXPECT_EQ(error_of([&] {
              run(*make(layer()), {kScores, blob({2}, {0, 2}), kMatrix}, {}, {});
            }),
            "label 2 of item 1 is not in 0..1 (labels start at 0)");
}

}  // namespace
}  // namespace crema::test
