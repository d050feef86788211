// Checks of a Datum, each with the record's name, since one bad record in a million is otherwise
// never found. The commonest slip is a picture file put in as it is: its first bytes tell.
#include "data/datum.h"

#include <limits>

#include "base/error.h"
#include "data/record_name.h"

namespace crema {
namespace {

void check(RecordName name, const caffe::Datum& datum, std::string_view value) {
  require(datum.label_size() == 0 || datum.float_label_size() == 0,
          "{} has {} in label and {} in float_label: which are meant?", name, datum.label_size(),
          datum.float_label_size());
  if (datum.encoded()) {
    require(!datum.data().empty(), "{} is an encoded image, but its data are empty", name);
    return;
  }
  const std::string_view kind = image_kind(datum.data());
  const std::int64_t channels = datum.channels(), height = datum.height(), width = datum.width();
  const std::string unset_hint =
      kind.empty() ? "" : fmt::format("; the data are {}, whose \"encoded\" flag is unset", kind);
  require(channels > 0 && height > 0 && width > 0,
          "{} holds no image: its channels x height x width are {}x{}x{} ({} bytes in all){}", name,
          channels, height, width, value.size(), unset_hint);

  // Two factors of 31 bits fit into 64 bits; all three only below what memory could hold anyway.
  const std::int64_t plane = height * width;
  const bool absurd = plane > std::numeric_limits<std::int64_t>::max() / channels;
  const auto bytes = static_cast<std::int64_t>(datum.data().size());
  const std::int64_t floats = datum.float_data_size();
  require(
      bytes == 0 || floats == 0,
      "{} holds an image in data ({} bytes) and in float_data ({} numbers): which one is meant?",
      name, bytes, floats);
  const std::int64_t present = bytes > 0 ? bytes : floats;
  if (absurd || channels * plane != present) {
    fail("{} needs {} values for {}x{}x{}, but has {}{}", name,
         absurd ? "too many" : std::to_string(channels * plane), channels, height, width,
         present == 0 ? "neither data nor float_data"
         : bytes > 0  ? fmt::format("{} bytes of data", bytes)
                      : fmt::format("{} numbers in float_data", floats),
         unset_hint);
  }
}

}  // namespace

void parse_datum(std::string_view key, std::string_view value, caffe::Datum* datum) {
  const RecordName name{key};
  require(!value.empty(), "{} is empty (0 bytes)", name);
  require(value.size() <= std::numeric_limits<int>::max(), "{} has {} bytes, more than 2 GB", name,
          value.size());
  if (!datum->ParsePartialFromArray(value.data(), static_cast<int>(value.size()))) {
    const std::string_view kind = image_kind(value);
    require(kind.empty(), "{} is {} by itself, not a Datum that holds one", name, kind);
    fail("{} is not a Datum: its {} bytes cannot be parsed", name, value.size());
  }
  check(name, *datum, value);
}

void labels_of(const caffe::Datum& datum, std::vector<float>* labels) {
  labels->assign(datum.float_label().begin(), datum.float_label().end());
  for (const std::int32_t label : datum.label()) labels->push_back(static_cast<float>(label));
  if (labels->empty()) labels->push_back(0);
}

ImageView image_of(const caffe::Datum& datum) {
  CREMA_ASSERT(!datum.encoded());
  ImageView image{datum.channels(), datum.height(), datum.width(), nullptr, nullptr};
  if (datum.data().empty()) {
    image.floats = datum.float_data().data();
  } else {
    image.bytes = reinterpret_cast<const std::uint8_t*>(datum.data().data());
  }
  return image;
}

ImageView image_of(const caffe::Datum& datum, Decode as, Image* decoded) {
  if (!datum.encoded()) return image_of(datum);
  decode_image(datum.data(), as, decoded);
  return decoded->view();
}

}  // namespace crema
