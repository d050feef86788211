// HDF5Output: four axes, rows of every pass, gradients of zero.
#include <unistd.h>

#include <boost/filesystem.hpp>

#include "op_harness.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"

namespace crema::test {
namespace {

class Hdf5Output : public ::testing::Test {
 protected:
  Hdf5Output() {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~Hdf5Output() override { boost::filesystem::remove_all(folder_); }

  std::string text() const {
    return "type: 'HDF5Output' bottom: 'a' bottom: 'b' hdf5_output_param { file_name: '" + folder_ +
           "/out.h5' }";
  }

  std::string folder_ = "/tmp/crema-hdf5-output-XXXXXX";
};

TEST_F(Hdf5Output, EveryPassAppends) {
  const Blob data = spread({2, 3}), label = blob({2}, {4, 5});
  {
    const auto layer = make(text());
    EXPECT_TRUE(layer->infer({data.shape, label.shape}).tops.empty());
    const Result result = run(*layer, {data, label}, {}, {});
    for (const Blob& gradient : result.bottom_gradients) {
      for (const float value : gradient.values) EXPECT_EQ(value, 0);
    }
    run(*layer, {data, label}, {}, {});
    EXPECT_FALSE(boost::filesystem::exists(folder_ + "/out.h5"));
  }
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::open_file(folder_ + "/out.h5");
  EXPECT_EQ(hdf5::dataset_shape(file, "data"), (Shape{4, 3, 1, 1}));
  EXPECT_EQ(hdf5::dataset_shape(file, "label"), (Shape{4, 1, 1, 1}));
  std::vector<float> twice = data.values;
  twice.insert(twice.end(), data.values.begin(), data.values.end());
  EXPECT_EQ(hdf5::read_floats(file, "data"), twice);
  EXPECT_THAT(hdf5::read_floats(file, "label"), testing::ElementsAre(4, 5, 4, 5));
}

TEST_F(Hdf5Output, Errors) {
  EXPECT_EQ(infer_error("type: 'HDF5Output' bottom: 'a' bottom: 'b'", {{2}, {2}}),
            "hdf5_output_param.file_name is missing");
  EXPECT_EQ(infer_error(text(), {{2, 1, 1, 1, 1}, {2}}),
            "bottom 0 is 2x1x1x1x1: HDF5Output writes blobs of at most 4 axes");
  EXPECT_EQ(infer_error(text(), {{2, 3}, {3}}),
            "the bottoms are 2x3 and 3: they must have as many items");
}

}  // namespace
}  // namespace crema::test
