// The way from lists and folders of picture files to data bases. Several threads make the records,
// one writes them in their order, so that the result does not depend on how many there are.
#include "data/convert_images.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <boost/filesystem.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/database.h"
#include "data/image_files.h"
#include "data/image_list.h"
#include "data/image_record.h"
#include "data/in_order.h"
#include "data/permutation.h"

namespace crema {
namespace {

using Places = std::vector<std::int64_t>;

constexpr std::int64_t kRecordsPerReport = 1000;

void check_options(const ConvertImagesOptions& options) {
  const int height = options.resize_height, width = options.resize_width;
  if ((height > 0) != (width > 0) || height < 0 || width < 0) {
    throw UsageError("--resize_height and --resize_width: give both, greater than 0");
  }
  const double bytes = (options.gray ? 1.0 : 3.0) * height * width;
  if (bytes > std::numeric_limits<int>::max()) {
    throw UsageError(
        fmt::format("--resize_height={} --resize_width={}: such an image has {} of pixels, and a "
                    "record holds 2 GB",
                    height, width, human_bytes(bytes)));
  }
  const std::string& type = options.encode_type;
  const auto& types = encode_types();
  if (!type.empty() && std::find(types.begin(), types.end(), type) == types.end()) {
    throw UsageError(
        fmt::format("--encode_type is \"{}\"; it can be {}", type, fmt::join(types, ", ")));
  }
  if (options.label_count < 1) {
    throw UsageError(
        fmt::format("--label_count is {}; it must be at least 1", options.label_count));
  }
  if (options.threads < 0) {
    throw UsageError(fmt::format("--threads is {}; it cannot be negative", options.threads));
  }
}

/// 0 .. n-1 as they are, or in a random order.
Places order_of(std::int64_t n, const ConvertImagesOptions& options) {
  Places places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  if (options.shuffle) {
    const Permutation shuffled(RandomStream(options.seed, stream_id("convert-imageset")), 0, n);
    for (std::int64_t& place : places) place = shuffled[place];
  }
  return places;
}

/// A label that cannot be stored is a fault of the list, not of an image.
void check_labels(const ImageList& list) {
  for (std::int64_t i = 0; i < list.size(); ++i) {
    for (int k = 0; k < list.label_count(); ++k) {
      try {
        list.whole_label(i, k);
      } catch (const Error& error) {
        fail("{}: {}; --float_labels stores such labels", list.where(i), error.what());
      }
    }
  }
}

/// What a list makes: records of one data base after the other.
class Conversion {
 public:
  Conversion(const ImageList& list, const std::string& root, const ConvertImagesOptions& options,
             const ConvertImagesEvents& events, StopOnSignal& signals)
      : list_(list),
        files_(&list, root),
        options_(options),
        events_(events),
        signals_(signals),
        makers_(&options) {
    if (!options.float_labels) check_labels(list);
  }

  /// The images at `places`, as the records 0, 1, 2, … of a data base. Once an image is bad that
  /// may not be left out, nothing more is written.
  ConvertImagesResult write(const Places& places, DatabaseWriter* writer) {
    ConvertImagesResult result;
    taken_ = 0;
    const auto make = [&](std::int64_t i) { return make_record(places, i); };
    const auto take = [&](std::int64_t i, Record record) {
      if (record.postponed) record = make_record(places, i);
      waiting_bytes_ -= record.value.size();
      ++taken_;
      const std::int64_t place = places[static_cast<std::size_t>(i)];
      if (record.problem.empty()) record.problem = problem_of_size(place, record.shape);
      if (!record.problem.empty()) {
        ++result.skipped;
        spoiled_ |= !options_.skip_bad_records;
        if (result.reasons.size() < ConvertImagesResult::kReasons) {
          result.reasons.push_back(std::move(record.problem));
        }
      } else if (!spoiled_) {
        with_context([&] { return list_.where(place); },
                     [&] { writer->put(record.key, record.value); });
        if (++result.records % kRecordsPerReport == 0) report(result.records);
      }
      ++done_;
      if (events_.progress) events_.progress(done_, list_.size());
      signals_.check();
    };
    make_in_order(static_cast<std::int64_t>(places.size()), options_.threads, make, take);
    if (result.records % kRecordsPerReport != 0) report(result.records);
    return result;
  }

 private:
  struct Record {
    std::string key, value;
    Shape shape;
    std::string problem;     ///< why there is no value
    bool postponed = false;  ///< to be made when its turn comes
  };

  void report(std::int64_t records) const {
    if (events_.written && !spoiled_) events_.written(records);
  }

  /// Thread-safe.
  Record make_record(const Places& places, std::int64_t i) {
    const std::int64_t place = places[static_cast<std::size_t>(i)];
    Record record;
    try {
      with_context([&] { return list_.where(place); }, [&] { fill(&record, place, i); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUser) throw;
      record.problem = error.what();
      record.value.clear();
    }
    // Whose turn it is may be as large as it likes, or none would come through.
    if (taken_ == i) {
      waiting_bytes_ += record.value.size();
    } else if ((waiting_bytes_ += record.value.size()) > options_.waiting_bytes) {
      waiting_bytes_ -= record.value.size();
      record = Record();
      record.postponed = true;
    }
    return record;
  }

  void fill(Record* record, std::int64_t place, std::int64_t i) {
    record->key = fmt::format("{:08}_{}", i, list_.name(place));
    require(record->key.size() <= kLongestKey,
            "the name of {} is too long: a key has {} bytes at most, this one {}",
            files_.path(place), kLongestKey, record->key.size());
    caffe::Datum datum;
    if (options_.float_labels) {
      const auto labels = list_.labels(place);
      datum.mutable_float_label()->Add(labels.begin(), labels.end());
    } else {
      for (int k = 0; k < list_.label_count(); ++k) datum.add_label(list_.whole_label(place, k));
    }
    const std::string file = files_.read(place);
    with_context([&] { return files_.path(place); },
                 [&] {
                   record->shape =
                       makers_.local().make(file, list_.name(place), &datum, &record->value);
                 });
  }

  /// Of a record whose picture has another size than the first one, if that is asked for.
  std::string problem_of_size(std::int64_t place, const Shape& shape) {
    if (!options_.check_size) return "";
    if (!first_shape_) first_shape_ = shape;
    if (shape == *first_shape_) return "";
    return fmt::format("{}: {}: the image is {}, but the first one is {}", list_.where(place),
                       files_.path(place), shape.str(), first_shape_->str());
  }

  const ImageList& list_;
  const ImageFiles files_;
  const ConvertImagesOptions& options_;
  const ConvertImagesEvents& events_;
  StopOnSignal& signals_;
  tbb::enumerable_thread_specific<ImageRecordMaker> makers_;
  std::optional<Shape> first_shape_;
  bool spoiled_ = false;
  std::int64_t done_ = 0;
  std::atomic<std::int64_t> taken_{0};  ///< records of the present data base
  std::atomic<std::size_t> waiting_bytes_{0};
};

[[noreturn]] void refuse(const std::vector<std::string>& reasons, std::int64_t bad,
                         std::int64_t all) {
  const auto listed = static_cast<std::int64_t>(reasons.size());
  fail("{} of {} images cannot be converted (--skip_bad_records leaves such out): {}{}", bad, all,
       fmt::join(reasons, "; "), bad > listed ? fmt::format("; and {} more", bad - listed) : "");
}

/// Fails when the data bases made of the parts of a list are not to be kept.
void check_results(const std::vector<const ConvertImagesResult*>& parts, std::int64_t images,
                   bool skip_bad_records) {
  std::int64_t skipped = 0;
  bool empty = false;
  std::vector<std::string> reasons;
  for (const ConvertImagesResult* part : parts) {
    skipped += part->skipped;
    empty |= part->records == 0;
    reasons.insert(reasons.end(), part->reasons.begin(), part->reasons.end());
  }
  if (reasons.size() > ConvertImagesResult::kReasons) {
    reasons.resize(ConvertImagesResult::kReasons);
  }
  if (skipped > 0 && (empty || !skip_bad_records)) refuse(reasons, skipped, images);
}

/// Places in `order` that belong to the tests, and the others. Each class is divided by itself: the
/// images of a class that come first in a random order of their own.
struct Division {
  Places train, test;

  Division(const ImageList& list, const Places& order, double share, std::uint64_t seed) {
    std::vector<bool> is_test(order.size());
    const auto classes = static_cast<std::int64_t>(list.classes().size());
    std::int64_t begin = 0;
    for (std::int64_t label = 0; label < classes; ++label) {
      std::int64_t end = begin;  // the list is in the order of classes
      while (end < list.size() && list.whole_label(end) == label) ++end;
      const std::int64_t n = end - begin;
      const Permutation drawn(RandomStream(seed, stream_id("convert-folder test")),
                              static_cast<std::uint64_t>(label), n);
      const std::int64_t tested = std::llround(share * static_cast<double>(n));
      for (std::int64_t i = 0; i < tested; ++i) {
        is_test[static_cast<std::size_t>(begin + drawn[i])] = true;
      }
      begin = end;
    }
    for (const std::int64_t place : order) {
      (is_test[static_cast<std::size_t>(place)] ? test : train).push_back(place);
    }
  }
};

}  // namespace

ConvertImagesResult convert_images(const std::string& root, const std::string& list_path,
                                   const std::string& db, const ConvertImagesOptions& options,
                                   const ConvertImagesEvents& events) {
  check_options(options);
  StopOnSignal signals;  // before there is anything to clear away
  const auto writer = create_database(db, options.backend);  // fails at once if there is something
  const ImageList list(list_path, options.label_count);
  if (events.listed) events.listed(list.size());
  Conversion conversion(list, root, options, events, signals);
  ConvertImagesResult result = conversion.write(order_of(list.size(), options), writer.get());
  check_results({&result}, list.size(), options.skip_bad_records);
  writer->finish();
  return result;
}

ConvertFolderResult convert_folder(const std::string& folder, const std::string& db,
                                   const ConvertFolderOptions& options,
                                   const ConvertImagesEvents& events) {
  const ConvertImagesOptions& images = options.images;
  check_options(images);
  const bool divided = !options.test_db.empty();
  if (divided != (options.test_share != 0)) {
    throw UsageError("--test_fraction and --test_db: give both or neither");
  }
  if (divided && !(options.test_share > 0 && options.test_share < 1)) {
    throw UsageError(
        fmt::format("--test_fraction is {:g}; it lies between 0 and 1", options.test_share));
  }
  const auto place = [](const std::string& path) {
    return boost::filesystem::absolute(path).lexically_normal();
  };
  if (divided && place(db) == place(options.test_db)) {
    throw UsageError(fmt::format("--test_db is {}, as the other data base", options.test_db));
  }
  StopOnSignal signals;
  const auto writer = create_database(db, images.backend);
  const auto test_writer = divided ? create_database(options.test_db, images.backend) : nullptr;
  const ImageList list(folder);
  require(list.is_folder(), "{} is not a folder; convert-imageset takes a list", folder);
  if (events.listed) events.listed(list.size());
  const Division division(list, order_of(list.size(), images), options.test_share, images.seed);
  require(!divided || (!division.test.empty() && !division.train.empty()),
          "--test_fraction={} of {} images in {} classes leaves {} for tests, {} for training",
          options.test_share, list.size(), list.classes().size(), division.test.size(),
          division.train.size());

  ConvertFolderResult result;
  result.classes = static_cast<std::int64_t>(list.classes().size());
  Conversion conversion(list, "", images, events, signals);
  result.train = conversion.write(division.train, writer.get());
  std::vector<const ConvertImagesResult*> parts{&result.train};
  if (divided) {
    result.test = conversion.write(division.test, test_writer.get());
    parts.push_back(&result.test);
  }
  check_results(parts, list.size(), images.skip_bad_records);
  const std::string labels = fmt::format("{}\n", fmt::join(list.classes(), "\n"));
  writer->attach(kLabelsFile, labels);
  std::vector<DatabaseWriter*> writers{writer.get()};
  if (divided) {
    test_writer->attach(kLabelsFile, labels);
    writers.push_back(test_writer.get());
  }
  finish_all(writers);
  return result;
}

}  // namespace crema
