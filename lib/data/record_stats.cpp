#include "data/record_stats.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace crema {
namespace {

/// Pictures that are compared with each other: beyond, their fingerprints take too much memory.
constexpr std::size_t kMostCompared = std::size_t{4} << 20;

struct Fingerprint {
  std::size_t picture = 0;
  float label = 0;
  std::int64_t index = 0;

  friend bool operator<(const Fingerprint& a, const Fingerprint& b) {
    return std::tie(a.picture, a.index) < std::tie(b.picture, b.index);
  }
};

/// What a block's records gave.
struct Part final : BlockResult {
  RecordStats stats;
  std::optional<float> first_label, last_label;
  std::vector<Fingerprint> fingerprints;
};

ChannelStats channel_of(const std::uint8_t* values, std::int64_t count) {
  ChannelStats channel;
  std::uint64_t sum = 0, squares = 0;
  unsigned low = 255, high = 0;
  // Pieces whose sums fit into 32 bits, which the compiler vectorises.
  constexpr std::int64_t kPiece = 65536;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, count);
    std::uint32_t piece_sum = 0, piece_squares = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t value = values[i];
      piece_sum += value;
      piece_squares += value * value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    sum += piece_sum;
    squares += piece_squares;
  }
  channel.count = count;
  channel.mean = static_cast<double>(sum) / static_cast<double>(count);
  channel.squares =
      std::max(0.0, static_cast<double>(squares) - static_cast<double>(sum) * channel.mean);
  channel.min = low;
  channel.max = high;
  return channel;
}

ChannelStats channel_of(const float* values, std::int64_t count) {
  ChannelStats channel;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    const auto value = static_cast<double>(values[i]);
    channel.min = channel.count == 0 ? value : std::min(channel.min, value);
    channel.max = channel.count == 0 ? value : std::max(channel.max, value);
    sum += value;
    ++channel.count;
  }
  if (channel.count == 0) return channel;
  channel.mean = sum / static_cast<double>(channel.count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    const double distance = static_cast<double>(values[i]) - channel.mean;
    channel.squares += distance * distance;
  }
  return channel;
}

template <class Value>
void add_picture(const Value* values, const ImageView& image, const std::string& where,
                 RecordStats* stats) {
  const std::int64_t plane = image.height * image.width;
  if (plane == 0 || image.channels == 0) return;
  const auto channels = static_cast<std::size_t>(image.channels);
  if (stats->channels.size() < channels) stats->channels.resize(channels);
  bool finite = true, equal = true;
  for (std::int64_t c = 0; c < image.channels; ++c) {
    const ChannelStats channel = channel_of(values + c * plane, plane);
    finite &= channel.count == plane;
    equal &= channel.count == plane && channel.min == channel.max &&
             channel.min == static_cast<double>(values[0]);
    stats->channels[static_cast<std::size_t>(c)].join(channel);
  }
  if (!finite) stats->not_finite.add(where);
  if (equal && image.channels * plane > 1) stats->one_value.add(where);
  if (image.channels == 3 && !equal && std::equal(values, values + 2 * plane, values + plane)) {
    stats->gray_in_colour.add(where);
  }
}

std::size_t fingerprint_of(const ImageView& image) {
  const auto count = static_cast<std::size_t>(image.shape().count());
  const std::string_view bytes =
      image.bytes
          ? std::string_view(reinterpret_cast<const char*>(image.bytes), count)
          : std::string_view(reinterpret_cast<const char*>(image.floats), count * sizeof(float));
  return std::hash<std::string_view>()(bytes) ^ std::hash<std::string>()(image.shape().str()) * 31;
}

void add_labels(const Record& record, const std::string& where, Part* part) {
  RecordStats& stats = part->stats;
  stats.label_counts[record.labels.size()].add(where);
  stats.float_labels |= record.float_labels;
  if (stats.labels.size() < record.labels.size()) stats.labels.resize(record.labels.size());
  for (std::size_t k = 0; k < record.labels.size(); ++k) stats.labels[k].add(record.labels[k]);
  if (record.labels.empty()) return;
  const float label = record.labels[0];
  if (!part->first_label) part->first_label = label;
  if (part->last_label && *part->last_label != label) ++stats.label_changes;
  part->last_label = label;
}

void join(const RecordStats& later, RecordStats* stats) {
  stats->decoded += later.decoded;
  stats->bytes += later.bytes;
  for (const auto& [shape, found] : later.shapes) stats->shapes[shape].join(found);
  for (const auto& [encoding, count] : later.encodings) stats->encodings[encoding] += count;
  for (const auto& [count, found] : later.label_counts) stats->label_counts[count].join(found);
  stats->float_labels |= later.float_labels;
  if (stats->labels.size() < later.labels.size()) stats->labels.resize(later.labels.size());
  for (std::size_t k = 0; k < later.labels.size(); ++k) stats->labels[k].join(later.labels[k]);
  stats->label_changes += later.label_changes;
  if (stats->channels.size() < later.channels.size()) stats->channels.resize(later.channels.size());
  for (std::size_t c = 0; c < later.channels.size(); ++c) {
    stats->channels[c].join(later.channels[c]);
  }
  stats->not_finite.join(later.not_finite);
  stats->one_value.join(later.one_value);
  stats->gray_in_colour.join(later.gray_in_colour);
}

/// Which pictures are there more than once.
void find_duplicates(std::vector<Fingerprint>* prints, RecordStats* stats) {
  std::sort(prints->begin(), prints->end());
  for (std::size_t begin = 0, end = 0; begin < prints->size(); begin = end) {
    for (end = begin + 1; end < prints->size(); ++end) {
      if ((*prints)[end].picture != (*prints)[begin].picture) break;
      ++stats->duplicates;
      stats->contradictions += (*prints)[end].label != (*prints)[begin].label;
      if (stats->duplicates == 1 || (*prints)[end].index < stats->first_duplicate.second) {
        stats->first_duplicate = {(*prints)[begin].index, (*prints)[end].index};
      }
    }
  }
}

}  // namespace

void Occurrence::add(const std::string& name) {
  if (count++ == 0) first = name;
}

void Occurrence::join(const Occurrence& later) {
  if (count == 0) first = later.first;
  count += later.count;
}

double ChannelStats::deviation() const {
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

void ChannelStats::join(const ChannelStats& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  // Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm", 1979.
  const auto all = static_cast<double>(count + other.count);
  const double distance = other.mean - mean, share = static_cast<double>(other.count) / all;
  mean += distance * share;
  squares += other.squares + distance * distance * share * static_cast<double>(count);
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  count += other.count;
}

void LabelStats::add(float label) {
  const auto value = static_cast<double>(label);
  if (!std::isfinite(value)) {
    ++not_finite;
    ++count;
    return;
  }
  const bool first = count == not_finite;
  min = first ? value : std::min(min, value);
  max = first ? value : std::max(max, value);
  sum += value;
  ++count;
  if (value != std::trunc(value)) {
    ++not_whole;
  } else if (std::abs(value) < 9e18) {
    ++histogram[static_cast<std::int64_t>(value)];
  }
}

void LabelStats::join(const LabelStats& later) {
  if (later.count > later.not_finite) {
    const bool first = count == not_finite;
    min = first ? later.min : std::min(min, later.min);
    max = first ? later.max : std::max(max, later.max);
  }
  count += later.count;
  not_whole += later.not_whole;
  not_finite += later.not_finite;
  sum += later.sum;
  for (const auto& [label, number] : later.histogram) {
    if (histogram.size() < kMostClasses || histogram.contains(label)) {
      histogram[label] += number;
    } else {
      many = true;
    }
  }
}

RecordStats measure_records(RecordStream* stream, const RecordStatsOptions& options) {
  RecordStats stats;
  const std::int64_t total = stream->total().value_or(0);
  const auto wanted = [&](std::int64_t index) {
    if (options.sample < 0 || (total > 0 && options.sample >= total)) return true;
    if (total == 0) return index < options.sample;
    // Where the share of records that were looked at falls behind.
    return index * options.sample / total != (index - 1) * options.sample / total || index == 0;
  };

  std::optional<float> last_label;
  std::vector<Fingerprint> fingerprints;
  BlockWork work;
  work.begin = [] { return std::make_unique<Part>(); };
  work.visit = [&](const PackedRecord& packed, Record* record, BlockResult* result) {
    auto* const part = static_cast<Part*>(result);
    const bool look = wanted(packed.index);
    if (look) stream->decode(packed, record);
    const std::string where = stream->where(packed);
    // From here on the record is a good one.
    part->stats.bytes += record->stored_bytes;
    ++part->stats.encodings[record->encoding];
    add_labels(*record, where, part);
    if (!look && !record->file.empty()) return;
    part->stats.shapes[record->shape].add(where);
    if (!look) return;
    ++part->stats.decoded;
    const ImageView& image = record->image;
    image.bytes ? add_picture(image.bytes, image, where, &part->stats)
                : add_picture(image.floats, image, where, &part->stats);
    part->fingerprints.push_back(
        {fingerprint_of(image), record->labels.empty() ? 0 : record->labels[0], packed.index});
  };
  work.join = [&](std::unique_ptr<BlockResult> result) {
    const auto& part = static_cast<const Part&>(*result);
    join(part.stats, &stats);
    if (last_label && part.first_label && *last_label != *part.first_label) ++stats.label_changes;
    if (part.last_label) last_label = part.last_label;
    if (stats.records == 0) stats.first_key = part.first_key;
    if (part.records > 0) stats.last_key = part.last_key;
    stats.records += part.records;
    stats.broken += static_cast<std::int64_t>(part.broken.size());
    for (const BrokenRecord& broken : part.broken) {
      if (stats.first_broken.size() < RecordStats::kListed) stats.first_broken.push_back(broken);
    }
    if (fingerprints.size() < kMostCompared) {
      fingerprints.insert(fingerprints.end(), part.fingerprints.begin(), part.fingerprints.end());
    }
  };

  BlockOptions blocks;
  blocks.threads = options.threads;
  blocks.progress = options.progress;
  blocks.ended = &stats.ended;
  stream->rewind();
  for_each_block(stream, blocks, work);
  find_duplicates(&fingerprints, &stats);
  return stats;
}

}  // namespace crema
