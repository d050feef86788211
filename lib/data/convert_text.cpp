// The text and both files are in memory as a whole: 25 bytes a byte of text.
#include "data/convert_text.h"

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/tool.h"
#include "data/new_folder.h"
#include "proto/hdf5.h"
#include "proto/hdf5_lock.h"

namespace crema {
namespace {

/// The last byte of a piece needs one after it.
std::int64_t steps_of(std::string_view text, std::int64_t streams) {
  return text.empty() ? 0 : (static_cast<std::int64_t>(text.size()) - 1) / streams;
}

void write_part(std::string_view text, std::int64_t streams, const std::string& name,
                const NewFolder& folder) {
  const std::int64_t steps = steps_of(text, streams);
  const Shape shape{steps, streams};
  std::vector<float> input, target, cont;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t stream = 0; stream < streams; ++stream) {
      const auto at = static_cast<std::size_t>(stream * steps + step);
      input.push_back(static_cast<unsigned char>(text[at]));
      target.push_back(static_cast<unsigned char>(text[at + 1]));
      cont.push_back(step > 0 ? 1 : 0);
    }
  }
  const Hdf5Lock lock;
  const hdf5::Handle file = hdf5::create_in_memory();
  hdf5::write_floats(file, "input", shape, input.data());
  hdf5::write_floats(file, "target", shape, target.data());
  hdf5::write_floats(file, "cont", shape, cont.data());
  folder.write(name + ".h5", hdf5::image(file));
  folder.write(name + ".txt", fmt::format("{}/{}.h5\n", folder.path(), name));
}

}  // namespace

ConvertedText convert_text(const std::string& text_path, const std::string& folder,
                           const ConvertTextOptions& options) {
  if (options.streams < 1) {
    throw UsageError(
        fmt::format("the number of streams is {}, it must be at least 1", options.streams));
  }
  if (!(options.test_share > 0 && options.test_share < 1)) {
    throw UsageError(fmt::format(
        "the share of the text for tests is {}, it must lie between 0 and 1", options.test_share));
  }
  NewFolder made(folder, "data set");  // first, since it fails at once when there is something
  const std::string all = read_file(text_path);
  const std::string_view text = all;
  const auto tested =
      static_cast<std::size_t>(static_cast<double>(text.size()) * options.test_share);
  const std::string_view train = text.substr(0, text.size() - tested);
  const std::string_view test = text.substr(text.size() - tested);
  const ConvertedText steps{steps_of(train, options.streams), steps_of(test, options.streams)};
  require(steps.train > 0 && steps.test > 0,
          "{} has {} bytes, {} of them for tests: not enough for {} streams", text_path,
          text.size(), tested, options.streams);
  write_part(train, options.streams, "train", made);
  write_part(test, options.streams, "test", made);
  made.keep();
  return steps;
}

}  // namespace crema
