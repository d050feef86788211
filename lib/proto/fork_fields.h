// What forks of Caffe added to its messages: one table of fields and enumeration values with the
// numbers that each fork gave them and what Crema does about them.
//
// Text names fields, so one name is one thing there whoever's it is. Binary files have numbers
// only, and those of the forks collide: NVIDIA's recurrent_param is 151, where Intel keeps
// mn_activation_param; DataParameter 11 is NVIDIA's `threads` and Intel's `shuffle`. Such a file is
// read by the numbers of one fork, its dialect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crema {

/// Whose numbers a file has; kDetect: tell from fields that only one fork has.
enum class Dialect { kDetect, kBvlc, kNvidia, kIntel };

/// "detect", "bvlc", "nvidia" or "intel"; anything else is a user error.
Dialect parse_dialect(const std::string& name);

/// Bits, since several forks may have a field.
enum Fork { kNvidia = 1, kIntel = 2, kSegNet = 4, kC3d = 8, kFasterRcnn = 16 };

enum class Treatment {
  kIgnored,    ///< chooses speed or precision, or has effect only together with a refused field
  kRenamed,    ///< another name of a field that Crema has: `note`
  kReplaced,   ///< stands for the text `note` unless its value is `neutral`
  kConverted,  ///< Crema has it under this name
  kRefused,    ///< changes results, unless its value is `neutral`; `note` says more
};

struct ForkField {
  std::string_view message;  ///< "PoolingParameter", or "PoolingParameter.Engine" for a value
  std::string_view field;
  int number = 0;  ///< 0 where only text is known
  char wire = 0;   ///< v(arint), f(ixed 32 bits), b(ytes)
  int fork = 0;    ///< 0: of many
  Treatment treatment = Treatment::kRefused;
  std::string_view neutral;  ///< the value that is the same as leaving it out, or ""
  std::string_view note;
};

/// The rows of a name: none, or one a fork.
std::vector<const ForkField*> fork_rows(std::string_view message, std::string_view field);

/// The rows of a number in those forks (bits) that write it with this wire type.
std::vector<const ForkField*> fork_rows(std::string_view message, int number, char wire, int forks);

/// Whether a value as written in text is the neutral one: numbers by value, booleans in all forms.
bool is_neutral(const ForkField& row, std::string_view text);

/// "NVIDIA Caffe (NVCaffe) and Intel Caffe"
std::string fork_names(int forks);

/// What is said of a field or value that is refused, as the end of a sentence ("it is a field of
/// Intel Caffe that changes results and is not supported (write …)"), or "" when no fork we know
/// has it. `what` is "field" or "value".
std::string fork_refusal(std::string_view message, std::string_view field, const char* what);

/// What to write instead of a field that Crema lacks but users often have, or "".
std::string advice_for_field(std::string_view message, std::string_view field);

/// The fork fields that turned up in one file.
struct ForkUse {
  struct Ignored {
    std::string field;  ///< "data_param.cache"
    std::string where;  ///< "line 30", or "layer \"x\""
    int forks = 0;
  };
  std::vector<Ignored> ignored;
  /// Forks that are given away by a field which only they have (in text: and not Crema).
  int told = 0;
  /// One sentence for each thing that was written otherwise.
  std::vector<std::string> notes;
};

/// The dialect of a file: the given one, else the one that is told. Fails when a file to be
/// detected has fields of both forks.
Dialect dialect_of(const ForkUse& use, Dialect given, const std::string& file);

/// One sentence for all that was ignored, or "": fields of which forks, and where.
std::string ignored_sentence(const ForkUse& use);

}  // namespace crema
