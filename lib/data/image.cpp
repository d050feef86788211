// A hint for the slip that pictures from other tools come with most often: height x width x
// channels.
#include "data/image.h"

#include <fmt/format.h>

namespace crema {

std::string channels_first_hint(const Shape& image) {
  const bool last = image.axes() == 3 && image[2] <= 4 && image[0] > 4;
  if (!last) return "";
  return fmt::format("; {} looks like height x width x channels, Caffe wants the channels first",
                     image.str());
}

}  // namespace crema
