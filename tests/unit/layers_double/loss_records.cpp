#include "records.h"

namespace crema::test {
namespace {

std::string normalization(Random& r) {
  return fmt::format("loss_param {{ normalization: {} {}}}",
                     r.pick({"FULL", "VALID", "BATCH_SIZE", "NONE"}),
                     r.coin() ? "ignore_label: 1 " : "");
}

/// Scores N x K x H x W and a label for each position.
struct Scores {
  explicit Scores(Random& r)
      : classes(r.between(2, 5)), items(r.between(1, 3)), rows(r.between(1, 3)) {
    scores = r.values({items, classes, rows, 2}, -3, 3);
    labels = r.integers({items, 1, rows, 2}, classes);
    labels.values[0] = 0;  // not all of them may be ignored
  }
  std::int64_t classes, items, rows;
  Blob scores, labels;
};

/// Two blobs N x C and a flag an item.
Draw pairs(Random& r, const std::string& fields, double range) {
  const Shape shape{r.between(2, 5), r.between(2, 6)};
  return {
      fields,
      {r.values(shape, -range, range), r.values(shape, -range, range), r.integers({shape[0]}, 2)}};
}

}  // namespace

std::vector<Record> loss_records() {
  return {
      // Caffe divides by d + 1e-4 where the derivative has the distance d: at distances of about
      // 100,
      // as here, that is a millionth.
      {"ContrastiveLoss", "",
       [](Random& r) { return pairs(r, "contrastive_loss_param { margin: 1000 }", 100); }, 5e-6},
      {"ContrastiveLoss", "legacy",
       [](Random& r) {
         return pairs(r,
                      fmt::format("contrastive_loss_param {{ legacy_version: true margin: {} }}",
                                  r.real(1, 3)),
                      1);
       }},
      {"EuclideanLoss", "",
       [](Random& r) {
         const Shape shape = r.shape(1, 4);
         return Draw{"", {r.values(shape), r.values(shape)}};
       }},
      {"HingeLoss", "",
       [](Random& r) {
         const Shape shape{r.between(1, 4), r.between(2, 4), r.between(1, 2)};
         return Draw{
             "hinge_loss_param { norm: " + r.pick({"L1", "L2"}) + " }",
             {r.values(shape, -2, 2, {-1, 1}), r.integers({shape[0]}, shape.count_from(1))}};
       }},
      {"InfogainLoss", "",
       [](Random& r) {
         const Scores s(r);
         return Draw{normalization(r),
                     {s.scores, s.labels, r.values({s.classes, s.classes}, 0, 2)}};
       }},
      {"MultinomialLogisticLoss", "",
       [](Random& r) {
         const Shape shape = r.shape(2, 3);
         return Draw{"", {r.values(shape, 0.05, 1), r.integers({shape[0]}, shape.count_from(1))}};
       }},
      {"SigmoidCrossEntropyLoss", "",
       [](Random& r) {
         const Shape shape{r.between(2, 4), r.between(2, 4)};
         const std::string fields = fmt::format("loss_param {{ normalization: {} {}}}",
                                                r.pick({"FULL", "VALID", "BATCH_SIZE", "NONE"}),
                                                r.coin() ? "ignore_label: 1 " : "");
         Blob targets = r.integers(shape, 2);
         targets.values[0] = 0.25f;
         return Draw{fields, {r.values(shape, -3, 3), targets}};
       }},
      {"SoftmaxWithLoss", "",
       [](Random& r) {
         const Scores s(r);
         Draw draw{normalization(r), {s.scores, s.labels}};
         draw.tops = static_cast<int>(r.between(1, 2));
         draw.tops_with_gradient = 1;  // the probabilities are for looking at
         return draw;
       }},
  };
}

}  // namespace crema::test
