// make-shapes: a data set of textured figures, as pictures or as a data base.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/text.h"
#include "base/tool.h"
#include "data/database.h"
#include "data/make_shapes.h"
#include "threads_flag.h"

DEFINE_int64(count, 1000, "how many pictures");
DEFINE_int32(size, 64, "height and width of a picture, 24 to 4096");
DEFINE_int32(classes, 10, "how many figures, 1 to 10");
DEFINE_uint64(seed, 0, "another seed draws other pictures");
DEFINE_int32(distractors, 0, "up to so many short strokes beside the figure, 0 to 100");
DEFINE_bool(db, false, "make a data base");
DEFINE_string(backend, "lmdb", "with --db: lmdb or leveldb");
DEFINE_bool(encoded, false, "with --db: records hold PNG files instead of pixels");

namespace {

const crema::ToolInfo kInfo{
    .name = "make-shapes",
    .synopsis = "make-shapes [flags] OUT",
    .summary = "Draws a data set of textured figures on textured ground, with each one's place.",
    .details =
        "Figures (disc, square, triangle, ring, cross, star, diamond, half-disc, bar, stripes) "
        "have "
        "a random place, size,\n"
        "angle, colour and texture. A picture depends on --seed, its number and the other flags, "
        "so "
        "that a larger --count\n"
        "begins with the same pictures. OUT, which must not exist, becomes a folder of PNG files "
        "with list.txt (what\n"
        "ImageData and convert-imageset read), or with --db a data base. Either way it holds "
        "labels.txt, the figures' names,\n"
        "and boxes.csv: key,label,xmin,ymin,xmax,ymax for each picture, the first and last columns "
        "and rows of the figure.",
    .examples =
        "  make-shapes --count 100 pictures\n"
        "  make-shapes --db --count 5000 --seed 1 shapes_train_lmdb",
    .min_arguments = 1,
    .max_arguments = 1,
};

int run(const std::vector<std::string>& arguments) {
  crema::MakeShapesOptions options;
  options.count = FLAGS_count;
  options.threads = threads_flag();
  options.pictures = {FLAGS_size, FLAGS_classes, FLAGS_seed, FLAGS_distractors};
  const auto backend = crema::backend_named(FLAGS_backend);
  if (FLAGS_encoded && !FLAGS_db) throw crema::UsageError("--encoded has no effect without --db");
  const std::string& out = arguments[0];
  {
    crema::Progress progress("make-shapes", options.count);
    const auto report = [&](std::int64_t done, std::int64_t) { progress.update(done); };
    if (FLAGS_db) {
      crema::make_shapes_database(options, out, backend, FLAGS_encoded, report);
    } else {
      crema::make_shapes_folder(options, out, report);
    }
  }
  crema::print(fmt::format("{}: {} pictures\n", out, crema::with_thousands(options.count)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
