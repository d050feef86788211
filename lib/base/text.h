// Small text helpers that error messages and flags need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crema {

/// Splits at every `separator`; empty parts are dropped.
std::vector<std::string> split(std::string_view text, char separator);

/// The candidate nearest to `name` by edit distance, or "" when none is near enough to be a slip.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// `; did you mean "X"?` for the nearest candidate, or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// To standard output. A reader that went away (`| head`) is no error, a full disk is.
void print(const std::string& text);

/// 1234567 as "1,234,567".
std::string with_thousands(long long value);

/// "1 record", "2,000 records": `noun` in the singular takes an s.
std::string counted(long long count, std::string_view noun);

/// One line whatever a name in a file holds: control characters become \n and \xNN.
std::string printable(std::string_view text);

/// Bytes as a person reads them: "12.3 MB".
std::string human_bytes(double bytes);

}  // namespace crema
