// How error messages name a record of a data base.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace crema {

/// `record "00000012_cat.png"`. Keys are any bytes: unprintable ones are shown as \xNN and a very
/// long key is cut, so that the message stays one line.
std::string record_name(std::string_view key);

/// A key that is formatted as record_name() does, but only if it is needed:
/// require(ok, "{} is empty", RecordName{key}).
struct RecordName {
  std::string_view key;
};

}  // namespace crema

template <>
struct fmt::formatter<crema::RecordName> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const crema::RecordName& name, Context& context) const {
    return fmt::format_to(context.out(), "{}", crema::record_name(name.key));
  }
};
