// From a text to the HDF5 files that a recurrent net reads.
#pragma once

#include <cstdint>
#include <string>

namespace crema {

struct ConvertTextOptions {
  std::int64_t streams = 32;  ///< pieces of the text that are read side by side
  double test_share = 0.1;    ///< of the text, its end
};

/// Time steps of the files.
struct ConvertedText {
  std::int64_t train = 0, test = 0;
};

/// Makes `folder`, which must not exist, with train.h5 and test.h5, and train.txt and test.txt,
/// which list one each, as HDF5Data wants it. A part of the text is cut into `streams` pieces of
/// equal length; what is left over is dropped. Row t of the datasets, each steps x streams, holds
/// for every piece
///   input   its byte t, 0 to 255
///   target  the byte after that
///   cont    0 in the first row, else 1
/// so that a batch of T rows is T time steps, and the next batch goes on where it ended.
ConvertedText convert_text(const std::string& text, const std::string& folder,
                           const ConvertTextOptions& options);

}  // namespace crema
