// convert-text: a text to HDF5 for a net that guesses the next character.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "base/tool.h"
#include "data/convert_text.h"

DEFINE_int32(streams, 32, "pieces that the text is cut into, which are read side by side");
DEFINE_double(test_share, 0.1, "share of the text, its end, that is kept for tests");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-text",
    .synopsis = "convert-text [--streams N] [--test_share X] TEXT FOLDER",
    .summary = "Makes the HDF5 files of models/char_lstm from any text.",
    .details =
        "Makes FOLDER, which must not exist, with train.h5 and test.h5, and train.txt and "
        "test.txt, "
        "which HDF5Data layers\n"
        "take as their source.\n"
        "A row is one time step of all streams: datasets input (bytes, 0 to 255), target (the byte "
        "after each) and cont\n"
        "(0 in the first row, then 1). With batch_size T a batch is T steps, and the next one goes "
        "on where it ended.",
    .examples = "convert-text book.txt data/text",
    .min_arguments = 2,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  const crema::ConvertedText steps =
      crema::convert_text(arguments[0], arguments[1], {FLAGS_streams, FLAGS_test_share});
  crema::print(fmt::format("{}: {} streams, {} time steps for training, {} for tests\n",
                           arguments[1], FLAGS_streams, crema::with_thousands(steps.train),
                           crema::with_thousands(steps.test)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
