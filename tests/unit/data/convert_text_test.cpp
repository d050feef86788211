#include "data/convert_text.h"

#include <gmock/gmock.h>

#include "base/tool.h"
#include "data/hdf5_rows.h"
#include "fixtures.h"

namespace crema {
namespace {

using testing::contents_of;
using testing::error_of;
using testing::TemporaryFolder;
using testing::write_file;

std::vector<float> rows(const std::string& path, const std::string& dataset) {
  const Hdf5Rows rows(path, dataset);
  std::vector<float> values(static_cast<std::size_t>(rows.rows() * rows.row_shape().count()));
  rows.read(0, rows.rows(), values.data());
  return values;
}

TEST(ConvertText, CutsTheTextIntoStreams) {
  const TemporaryFolder folder;
  // 10 bytes for training: streams abc, def, ghi, and j after them; of 6 for tests 4 are used.
  write_file(folder / "text", "abcdefghijkl\xffnop");
  const ConvertedText steps = convert_text(folder / "text", folder / "out", {3, 0.4});
  EXPECT_EQ(steps.train, 3);
  EXPECT_EQ(steps.test, 1);
  const std::string train = folder / "out/train", test = folder / "out/test";
  EXPECT_EQ(contents_of(train + ".txt"), train + ".h5\n");
  EXPECT_EQ(contents_of(test + ".txt"), test + ".h5\n");
  const Hdf5Rows input(train + ".h5", "input");
  EXPECT_EQ(input.rows(), 3);
  EXPECT_EQ(input.row_shape(), (Shape{3}));
  EXPECT_THAT(rows(train + ".h5", "input"),
              ::testing::ElementsAre('a', 'd', 'g', 'b', 'e', 'h', 'c', 'f', 'i'));
  EXPECT_THAT(rows(train + ".h5", "target"),
              ::testing::ElementsAre('b', 'e', 'h', 'c', 'f', 'i', 'd', 'g', 'j'));
  EXPECT_THAT(rows(train + ".h5", "cont"), ::testing::ElementsAre(0, 0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(rows(test + ".h5", "input"), ::testing::ElementsAre('k', 'l', 255));
  EXPECT_THAT(rows(test + ".h5", "target"), ::testing::ElementsAre('l', 255, 'n'));
  EXPECT_THAT(rows(test + ".h5", "cont"), ::testing::ElementsAre(0, 0, 0));
}

TEST(ConvertText, Errors) {
  const TemporaryFolder folder;
  const std::string text = folder / "text", out = folder / "out";
  write_file(text, "0123456789");
  const auto error = [&](const ConvertTextOptions& options) {
    return error_of([&] { convert_text(text, out, options); });
  };
  for (const ConvertTextOptions& options : {ConvertTextOptions{0, 0.1}, {2, 1}, {2, 0}}) {
    EXPECT_THROW(error(options), UsageError);
  }
  EXPECT_EQ(error({5, 0.5}), text + " has 10 bytes, 5 of them for tests: not enough for 5 streams");
  EXPECT_FALSE(boost::filesystem::exists(out));
  EXPECT_EQ(error_of([&] {
              convert_text(text, text, {2, 0.5});
            }),
            text + " exists already; remove it first, or choose another name");
  EXPECT_EQ(contents_of(text), "0123456789");
  EXPECT_EQ(error_of([&] {
              convert_text(text, folder / "no/out", {2, 0.5});
            }),
            "cannot create " + folder / "no/out: No such file or directory");
}

}  // namespace
}  // namespace crema
