// MemoryData: shapes and what is refused. That it holds what was written is a matter of the net.
#include "op_harness.h"

namespace crema::test {
namespace {

TEST(MemoryData, ShapesComeFromItsFields) {
  const auto layer = make(
      "type: 'MemoryData' top: 'data' top: 'label' memory_data_param { batch_size: 2 channels: 3 "
      "height: 4 width: 5 }");
  const Inference inference = layer->infer({});
  ASSERT_EQ(inference.tops.size(), 2u);
  EXPECT_EQ(inference.tops[0], (Shape{2, 3, 4, 5}));
  EXPECT_EQ(inference.tops[1], (Shape{2}));
  EXPECT_TRUE(layer->filled_by_caller());
}

TEST(MemoryData, Errors) {
  EXPECT_EQ(infer_error("type: 'MemoryData' top: 'data' top: 'label' memory_data_param { "
                        "batch_size: 2 channels: 3 height: 4 }",
                        {}),
            "memory_data_param.width is missing or 0; all four sizes are needed");
  EXPECT_EQ(infer_error("type: 'MemoryData' top: 'data' top: 'label' transform_param { scale: 2 } "
                        "memory_data_param { batch_size: 2 channels: 3 height: 4 width: 5 }",
                        {}),
            "transform_param has no effect on MemoryData: write transformed values, or transform "
            "them with layers behind this one");
}

}  // namespace
}  // namespace crema::test
