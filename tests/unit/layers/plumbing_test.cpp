// Layers that only bring values in, pass them on or take them away: Input, DummyData, Split,
// Silence.
#include <algorithm>
#include <set>

#include "op_harness.h"

namespace crema::test {
namespace {

using testing::ElementsAre;

TEST(Input, Shapes) {
  EXPECT_THAT(make("type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 dim: 3 } }")
                  ->infer({})
                  .tops,
              ElementsAre(Shape{2, 3}, Shape{2, 3}));
  EXPECT_THAT(make("type: 'Input' top: 'a' top: 'b' input_param { shape { dim: 2 } shape { } }")
                  ->infer({})
                  .tops,
              ElementsAre(Shape{2}, Shape{}));
  EXPECT_TRUE(make("type: 'Input' top: 'a' input_param { shape { } }")->tops_persist());
}

TEST(Input, Errors) {
  EXPECT_EQ(infer_error("type: 'Input' top: 'a' top: 'b' top: 'c' input_param { shape { dim: 1 } "
                        "shape { dim: 2 } }",
                        {}),
            "input_param.shape is given 2 times for 3 tops; give it once or once a top");
  EXPECT_EQ(infer_error("type: 'Input' top: 'a'", {}),
            "input_param.shape is missing: give one shape, or one for each of the 1 tops");
  EXPECT_EQ(infer_error("type: 'Input' top: 'a' input_param { shape { dim: -1 } }", {}),
            "a dimension cannot be negative: -1");
}

std::string dummy(const std::string& fields) {
  return "name: 'd' type: 'DummyData' top: 'a' top: 'b' dummy_data_param { " + fields + " }";
}

TEST(DummyData, ShapesAndConstants) {
  Result result = run(*make(dummy("shape { dim: 2 }")), {}, {}, {});
  EXPECT_THAT(result.tops[0].values, ElementsAre(0, 0));
  result = run(*make(dummy("shape { dim: 2 } shape { dim: 1 } data_filler { value: 1.5 } "
                           "data_filler { value: 2 }")),
               {}, {}, {});
  EXPECT_THAT(result.tops[0].values, ElementsAre(1.5f, 1.5f));
  EXPECT_THAT(result.tops[1].values, ElementsAre(2));
  EXPECT_THAT(make(dummy("num: 2 num: 3 channels: 1 height: 2 width: 2 width: 1"))->infer({}).tops,
              ElementsAre(Shape{2, 1, 2, 2}, Shape{3, 1, 2, 1}));
}

TEST(DummyData, RandomValuesAreNewEachPass) {
  const auto layer = make(dummy("shape { dim: 1000 } data_filler { type: 'uniform' }"));
  RunOptions options;
  const Result first = run(*layer, {}, {}, {}, options);
  EXPECT_NE(first.tops[0].values, first.tops[1].values);
  EXPECT_EQ(run(*layer, {}, {}, {}, options).tops[0].values, first.tops[0].values);
  options.pass = 1;
  EXPECT_NE(run(*layer, {}, {}, {}, options).tops[0].values, first.tops[0].values);
}

TEST(DummyData, EachTopHasItsFiller) {
  const auto layer = make(dummy(
      "shape { dim: 3 } shape { dim: 0 dim: 2 } data_filler { type: 'uniform' min: 4 max: 5 } "
      "data_filler { value: 2 }"));
  for (const int threads : {1, 2}) {
    RunOptions options;
    options.threads = threads;
    const Result result = run(*layer, {}, {}, {}, options);
    EXPECT_THAT(result.tops[0].values,
                testing::Each(testing::AllOf(testing::Ge(4.0f), testing::Lt(5.0f))));
    EXPECT_TRUE(result.tops[1].values.empty());
  }
}

TEST(DummyData, Errors) {
  EXPECT_EQ(infer_error(dummy(""), {}),
            "dummy_data_param.shape is given 0 times for 2 tops; give it once or once a top");
  EXPECT_EQ(infer_error(dummy("num: 1 num: 2 num: 3 channels: 1 height: 1 width: 1"), {}),
            "dummy_data_param.num is given 3 times for 2 tops; give it once or once a top");
  EXPECT_EQ(infer_error(dummy("num: 1 channels: 1 height: 1"), {}),
            "dummy_data_param.width is given 0 times for 2 tops; give it once or once a top");
  EXPECT_EQ(
      infer_error(dummy("num: 1 channels: 1 height: 1 width: 1 shape { dim: 1 }"), {}),
      "dummy_data_param.shape is given together with num, channels, height or width; give one "
      "kind only");
  EXPECT_EQ(
      infer_error(dummy("shape { dim: 1 } data_filler { } data_filler { } data_filler { }"), {}),
      "dummy_data_param.data_filler is given 3 times for 2 tops; give it once or once a top");
  EXPECT_EQ(infer_error(dummy("shape { dim: 1 } data_filler { type: 'gaussian' std: -1 }"), {}),
            "dummy_data_param.data_filler: std -1 of a gaussian filler must be greater than 0");
}

TEST(Split, AddsGradients) {
  const std::string text = "type: 'Split' bottom: 'x' top: 'a' top: 'b' top: 'c'";
  const Blob x = blob({2}, {1, 2});
  Result result =
      run(*make(text), {x}, {}, {blob({2}, {1, 10}), blob({2}, {2, 20}), blob({2}, {3, 30})});
  EXPECT_EQ(result.tops[2].values, x.values);
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(6, 60));
  // Some consumers give none.
  result = run(*make(text), {x}, {}, {blob({2}, {}), blob({2}, {2, 20}), blob({2}, {})});
  EXPECT_THAT(result.bottom_gradients[0].values, ElementsAre(2, 20));
  check_layer(text, {spread({2, 3, 2, 2})}, {});
}

TEST(Silence, GivesZeroGradients) {
  check_layer("type: 'Silence' bottom: 'x' bottom: 'y'", {spread({2, 3}), spread({4})}, {}, 0);
  const Result result = run(*make("type: 'Silence' bottom: 'x'"), {spread({2, 2})}, {}, {});
  EXPECT_THAT(result.bottom_gradients[0].values, testing::Each(0.0f));
}

}  // namespace
}  // namespace crema::test
