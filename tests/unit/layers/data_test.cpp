// Data, ImageData, WindowData and HDF5Data: the layers around the readers that data/ tests.

#include "data/batch_reader.h"
#include "op_harness.h"

namespace crema::test {
namespace {

TEST(Data, MissingDatabaseIsAnErrorOfShapeInference) {
  const auto layer = make(
      "name: 'd' type: 'Data' top: 'data' data_param { source: '/no/such_lmdb' backend: LMDB "
      "batch_size: 4 }");
  EXPECT_EQ(layer->reader(), nullptr);
  EXPECT_THAT(error_of([&] { layer->infer({}); }), testing::HasSubstr("/no/such_lmdb"));
}

TEST(ImageData, MissingListIsAnErrorOfShapeInference) {
  EXPECT_THAT(infer_error("type: 'ImageData' top: 'data' top: 'label' image_data_param { source: "
                          "'/no/list.txt' }",
                          {}),
              testing::HasSubstr("cannot open /no/list.txt"));
}

TEST(WindowData, MissingFileIsAnErrorOfShapeInference) {
  EXPECT_THAT(
      infer_error("type: 'WindowData' top: 'data' top: 'label' transform_param { crop_size: "
                  "8 } window_data_param { source: '/no/windows.txt' batch_size: 2 }",
                  {}),
      testing::HasSubstr("cannot open /no/windows.txt"));
}

TEST(Hdf5Data, MissingListIsAnErrorOfShapeInference) {
  EXPECT_THAT(infer_error("type: 'HDF5Data' top: 'data' hdf5_data_param { source: '/no/list.txt' "
                          "batch_size: 2 }",
                          {}),
              testing::HasSubstr("/no/list.txt"));
}

}  // namespace
}  // namespace crema::test
