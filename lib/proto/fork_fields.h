// Fields and enumeration values that forks of Caffe added, for saying so when one turns up.
#pragma once

#include <string>
#include <string_view>

namespace crema {

/// Whose it is ("NVIDIA Caffe (NVCaffe) and Intel Caffe"), or "" when no fork we know has it.
/// `message` is the message's or enumeration's name, such as "PoolingParameter.Engine".
std::string fork_of_field(std::string_view message, std::string_view field);

/// What to write instead of a field that Crema lacks but users often have, or "".
std::string advice_for_field(std::string_view message, std::string_view field);

}  // namespace crema
