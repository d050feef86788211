#include "data/hdf5_writer.h"

#include <gmock/gmock.h>

#include "fixtures.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
namespace fs = boost::filesystem;

TEST(Hdf5Writer, AppendsRows) {
  const TemporaryFolder folder;
  {
    Hdf5Writer writer(folder / "out.h5");
    const float values[] = {1, 2, 3, 4, 5, 6};
    writer.append("data", {2, 1, 3}, values);
    writer.append("label", {1}, values);
    writer.append("data", {0, 1, 3}, values);
    writer.append("data", {1, 1, 3}, values + 3);
    EXPECT_FALSE(fs::exists(folder / "out.h5"));
  }
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::open_file(folder / "out.h5");
  EXPECT_EQ(hdf5::dataset_shape(file, "data"), (Shape{3, 1, 3}));
  EXPECT_THAT(hdf5::read_floats(file, "data"), ElementsAre(1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_THAT(hdf5::read_floats(file, "label"), ElementsAre(1));
}

TEST(Hdf5Writer, LeavesTheFormerFileUntilItIsDone) {
  const TemporaryFolder folder;
  testing::write_file(folder / "out.h5", "former");
  { const Hdf5Writer unused(folder / "out.h5"); }
  EXPECT_EQ(testing::contents_of(folder / "out.h5"), "former");
  Hdf5Writer writer(folder / "out.h5");
  const float value = 1;
  writer.append("data", {1}, &value);
  EXPECT_EQ(testing::contents_of(folder / "out.h5"), "former");
  writer.finish();
  EXPECT_THAT(testing::contents_of(folder / "out.h5"), HasSubstr("HDF"));
}

TEST(Hdf5Writer, ErrorsLeaveNothing) {
  const TemporaryFolder folder;
  const float values[8] = {};
  {
    Hdf5Writer writer(folder / "out.h5");
    writer.append("data", {2, 2}, values);
    EXPECT_EQ(error_of([&] {
                writer.append("data", {2, 3}, values);
              }),
              "rows of \"data\" in " + folder / "out.h5 are 2, but these are 3");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  Hdf5Writer nowhere(folder / "no/out.h5");
  EXPECT_THAT(error_of([&] { nowhere.append("data", {2}, values); }),
              HasSubstr("does not exist; make it first"));
}

}  // namespace
}  // namespace crema
