// What describe-data says about a source by itself.
#pragma once

#include <string>
#include <vector>

#include "data/record_stats.h"
#include "data/record_stream.h"

namespace crema {

/// One line of a verdict.
struct Remark {
  enum class Level { kGood, kNote, kWrong };
  Level level = Level::kGood;
  std::string text;
};

/// Number, sizes, storage, labels, values, broken records.
std::string records_table(const RecordStream& stream, const RecordStats& stats);

/// What is wrong with a source, or odd, whatever net shall read it.
std::vector<Remark> remarks_on(const RecordStream& stream, const RecordStats& stats);

/// Whether label number 0 can be the number of a class: whole, and not absurdly large.
bool labels_are_classes(const RecordStats& stats);

/// "OK     …", "note   …", "WRONG  …", a line each.
std::string remark_lines(const std::vector<Remark>& remarks);

}  // namespace crema
