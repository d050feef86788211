#include "report/records_report.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/record_name.h"
#include "report/net_table.h"

namespace crema {
namespace {

/// Lines of one kind: classes, sizes, names in a sentence.
constexpr std::size_t kMostClasses = 50, kMostShapes = 10, kMostNamed = 10;

using Rows = std::vector<std::vector<std::string>>;

std::string records(std::int64_t count) { return counted(count, "record"); }

std::string share(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

/// A value as a person reads it: what came from bytes without a fraction.
std::string number(double value) { return fmt::format("{:.6g}", value); }

/// A key in quotes, as in messages.
std::string quoted(const std::string& key) {
  return record_name(key).substr(std::string("record ").size());
}

std::string range(const LabelStats& labels) {
  if (labels.count == labels.not_finite) return "no finite number";
  return labels.min == labels.max ? number(labels.min)
                                  : fmt::format("{} to {}", number(labels.min), number(labels.max));
}

std::string kinds_of_labels(const RecordStats& stats) {
  std::vector<std::string> parts;
  for (const auto& [count, found] : stats.label_counts) {
    parts.push_back(stats.label_counts.size() == 1 ? fmt::format("{} a record", count)
                                                   : fmt::format("{} a record ({} times)", count,
                                                                 with_thousands(found.count)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A line for each class, or for the extremes when there are many.
void add_classes(const RecordStream& stream, const LabelStats& labels, Rows* rows) {
  const std::vector<std::string> names = stream.classes();
  const auto name_of = [&](std::int64_t label) {
    const auto index = static_cast<std::size_t>(label);
    return label >= 0 && index < names.size() ? fmt::format("  ({})", names[index]) : "";
  };
  if (labels.histogram.size() <= kMostClasses) {
    for (const auto& [label, count] : labels.histogram) {
      rows->push_back({"", fmt::format("label {}: {}, {}{}", label, records(count),
                                       share(count, labels.count), name_of(label))});
    }
    return;
  }
  const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] =
      std::minmax_element(labels.histogram.begin(), labels.histogram.end(), by_count);
  rows->push_back(
      {"", fmt::format("from {} (label {}) to {} (label {}) a label", records(least->second),
                       least->first, records(most->second), most->first)});
}

void add_labels(const RecordStream& stream, const RecordStats& stats, Rows* rows) {
  if (stats.labels.empty()) {
    rows->push_back({"labels", "none"});
    return;
  }
  rows->push_back({"labels", kinds_of_labels(stats)});
  for (std::size_t k = 0; k < stats.labels.size(); ++k) {
    const LabelStats& labels = stats.labels[k];
    const std::string which = stats.labels.size() == 1 ? "" : fmt::format("label {}: ", k);
    const bool whole = labels.not_whole == 0 && labels.not_finite == 0;
    const std::int64_t finite = labels.count - labels.not_finite;
    std::string text =
        fmt::format("{}{} {}", which, whole ? "whole numbers," : "numbers,", range(labels));
    if (whole && !labels.many) {
      text += fmt::format(
          ", {}", counted(static_cast<long long>(labels.histogram.size()), "different one"));
    }
    if (finite > 0) {
      text += fmt::format(", mean {}", number(labels.sum / static_cast<double>(finite)));
    }
    rows->push_back({"", text});
    if (stats.labels.size() == 1 && labels_are_classes(stats)) add_classes(stream, labels, rows);
  }
}

void add_shapes(const RecordStats& stats, Rows* rows) {
  std::vector<std::pair<std::int64_t, Shape>> shapes;
  for (const auto& [shape, found] : stats.shapes) shapes.emplace_back(found.count, shape);
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = i > 0 ? "" : shapes.size() == 1 ? "size" : "sizes";
    if (i == kMostShapes) {
      rows->push_back({"", fmt::format("and {} more", with_thousands(static_cast<long long>(
                                                          shapes.size() - kMostShapes)))});
      break;
    }
    std::string text = shapes[i].second.str();
    if (i == 0 && shapes[i].second.axes() == 3) text += " (channels x height x width)";
    if (shapes.size() > 1) text += fmt::format(": {}", records(shapes[i].first));
    rows->push_back({name, text});
  }
}

void add_values(const RecordStats& stats, Rows* rows) {
  ChannelStats all;
  for (const ChannelStats& channel : stats.channels) all.join(channel);
  if (all.count == 0) return;
  const auto line = [](const ChannelStats& channel) {
    return fmt::format("{} to {}, mean {}, deviation {}", number(channel.min), number(channel.max),
                       number(channel.mean), number(channel.deviation()));
  };
  rows->push_back({"values", line(all)});
  if (stats.channels.size() == 1 || stats.channels.size() > kMostClasses) return;
  for (std::size_t c = 0; c < stats.channels.size(); ++c) {
    rows->push_back({"", fmt::format("channel {}: {}", c, line(stats.channels[c]))});
  }
}

/// The first few of many.
std::string listed(const std::vector<std::int64_t>& numbers) {
  const std::size_t shown = std::min(numbers.size(), kMostNamed);
  return fmt::format(
      "{}{}",
      fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      numbers.size() > shown ? fmt::format(", … ({} in all)", numbers.size()) : "");
}

class Remarks {
 public:
  Remarks(const RecordStream& stream, const RecordStats& stats) : stream_(stream), stats_(stats) {}

  std::vector<Remark> all() {
    readable();
    sizes();
    labels();
    pictures();
    return std::move(remarks_);
  }

 private:
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    remarks_.push_back({Remark::Level::kNote, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <class... Args>
  void wrong(fmt::format_string<Args...> format, Args&&... args) {
    remarks_.push_back({Remark::Level::kWrong, fmt::format(format, std::forward<Args>(args)...)});
  }

  void readable() {
    if (!stats_.ended.empty()) {
      wrong("the source breaks off after {}: {}", records(stats_.records), stats_.ended);
    }
    if (stats_.broken > 0) {
      wrong("{} of {} cannot be read", with_thousands(stats_.broken), records(stats_.records));
    }
    if (stats_.not_finite.count > 0) {
      wrong("{} with values that are no finite numbers, first {}", records(stats_.not_finite.count),
            stats_.not_finite.first);
    }
  }

  void sizes() {
    if (stats_.shapes.size() < 2) return;
    std::int64_t side = 0;
    bool channels_differ = false;
    for (const auto& [shape, found] : stats_.shapes) {
      if (shape.axes() != 3) return;
      const std::int64_t shorter = std::min(shape[1], shape[2]);
      side = side == 0 ? shorter : std::min(side, shorter);
      channels_differ |= shape[0] != stats_.shapes.begin()->first[0];
    }
    if (channels_differ) {
      wrong(
          "images differ in channels: first {} of {}, first {} of {}; force_color or force_gray "
          "makes encoded ones alike",
          stats_.shapes.begin()->second.first, stats_.shapes.begin()->first.str(),
          stats_.shapes.rbegin()->second.first, stats_.shapes.rbegin()->first.str());
    }
    note(
        "images differ in size, and all of a batch need one: crop_size up to {}, or a size to "
        "resize them to",
        side);
  }

  void labels() {
    if (stats_.label_counts.size() > 1) {
      const auto& [few, first] = *stats_.label_counts.begin();
      const auto& [many, other] = *stats_.label_counts.rbegin();
      wrong("records differ in the number of labels: first {} has {}, first {} has {}", first.first,
            few, other.first, many);
    }
    for (std::size_t k = 0; k < stats_.labels.size(); ++k) {
      if (stats_.labels[k].not_finite == 0) continue;
      wrong("label {} is no finite number in {}", k, records(stats_.labels[k].not_finite));
    }
    if (stats_.labels.size() == 1 && labels_are_classes(stats_)) classes(stats_.labels[0]);
  }

  void classes(const LabelStats& labels) {
    const auto first = static_cast<std::int64_t>(labels.min);
    const auto last = static_cast<std::int64_t>(labels.max);
    if (labels.histogram.size() == 1) {
      if (stats_.good() > 1) note("all records have label {}", first);
      return;
    }
    if (first > 0) {
      note("labels start at {}, but classes count from 0: take {} off, or the net needs {} outputs",
           first, first, last + 1);
    }
    if (first < 0) note("labels go below 0, which only ignore_label makes good use of: {}", first);
    std::vector<std::int64_t> missing;
    for (std::int64_t label = std::max<std::int64_t>(first, 0); label <= last; ++label) {
      if (!labels.histogram.contains(label)) missing.push_back(label);
    }
    for (auto label = static_cast<std::size_t>(last + 1); label < stream_.classes().size();
         ++label) {
      missing.push_back(static_cast<std::int64_t>(label));
    }
    if (!missing.empty()) note("no record has label {}", listed(missing));
    const auto different = static_cast<std::int64_t>(labels.histogram.size());
    if (stats_.label_changes + 1 == different && stats_.good() > 2 * different) {
      note(
          "records are sorted by label, so that batches hold few classes: shuffle them (shuffle: "
          "true in the data layer, or --shuffle when converting)");
    }
  }

  void pictures() {
    if (stats_.decoded < stats_.good()) {
      note("only {} of {} images were looked at (--sample)", with_thousands(stats_.decoded),
           with_thousands(stats_.good()));
    }
    if (stats_.one_value.count > 0) {
      note("{} of one single value (an empty image?), first {}", records(stats_.one_value.count),
           stats_.one_value.first);
    }
    if (stats_.gray_in_colour.count > 0) {
      note("{} with three equal channels (grey as colour), first {}",
           records(stats_.gray_in_colour.count), stats_.gray_in_colour.first);
    }
    if (stats_.duplicates > 0) {
      note("{} the same image as an earlier one, first number {} that of number {} (from 0){}",
           stats_.duplicates == 1 ? "1 record has"
                                  : with_thousands(stats_.duplicates) + " records have",
           stats_.first_duplicate.second, stats_.first_duplicate.first,
           stats_.contradictions > 0
               ? fmt::format("; {} with another label", with_thousands(stats_.contradictions))
               : "");
    }
  }

  const RecordStream& stream_;
  const RecordStats& stats_;
  std::vector<Remark> remarks_;
};

}  // namespace

std::string records_table(const RecordStream& stream, const RecordStats& stats) {
  Rows rows;
  rows.push_back({"source", fmt::format("{}: {} ({})", stream.path(), stream.kind_name(),
                                        stream.recognised_by())});
  for (const std::string& note : stream.notes()) rows.push_back({"", note});
  rows.push_back({"records", fmt::format("{}, {}", with_thousands(stats.records),
                                         human_bytes(static_cast<double>(stats.bytes)))});
  if (stats.records > 0) {
    rows.push_back(
        {"keys", fmt::format("{} to {}", quoted(stats.first_key), quoted(stats.last_key))});
  }
  for (const auto& [encoding, count] : stats.encodings) {
    rows.push_back({encoding == stats.encodings.begin()->first ? "stored as" : "",
                    fmt::format("{}: {}", encoding, records(count))});
  }
  add_shapes(stats, &rows);
  if (stats.good() > 0) add_labels(stream, stats, &rows);
  add_values(stats, &rows);
  for (std::size_t i = 0; i < stats.first_broken.size(); ++i) {
    rows.push_back({i == 0 ? "broken" : "", stats.first_broken[i].why});
  }
  const auto more = stats.broken - static_cast<std::int64_t>(stats.first_broken.size());
  if (more > 0) rows.push_back({"", fmt::format("and {} more", with_thousands(more))});
  return align_columns(rows, 2);
}

std::vector<Remark> remarks_on(const RecordStream& stream, const RecordStats& stats) {
  return Remarks(stream, stats).all();
}

bool labels_are_classes(const RecordStats& stats) {
  if (stats.labels.empty()) return false;
  const LabelStats& labels = stats.labels[0];
  return labels.count > 0 && labels.not_whole == 0 && labels.not_finite == 0 && !labels.many &&
         labels.min >= -1000 && labels.max < static_cast<double>(LabelStats::kMostClasses);
}

std::string remark_lines(const std::vector<Remark>& remarks) {
  std::string text;
  for (const Remark& remark : remarks) {
    text += fmt::format("{:<6} {}\n",
                        remark.level == Remark::Level::kGood   ? "OK"
                        : remark.level == Remark::Level::kNote ? "note"
                                                               : "WRONG",
                        printable(remark.text));
  }
  return text;
}

}  // namespace crema
