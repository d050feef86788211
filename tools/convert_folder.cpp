// convert-folder: a folder with a sub-folder of pictures for each class to a data base, or two.
#include <vector>

#include "base/tool.h"
#include "convert_flags.h"

DEFINE_double(test_fraction, 0,
              "share of the images of each class, drawn by --seed, that goes into --test_db "
              "instead of DB");
DEFINE_string(test_db, "", "with --test_fraction: the data base for tests");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-folder",
    .synopsis = "convert-folder [flags] FOLDER DB [--test_fraction X --test_db DB]",
    .summary = "Makes a data base of a folder that has a sub-folder of pictures for each class.",
    .details =
        "Labels are the places of the sub-folders in the order of their names, from 0; "
        "DB/labels.txt "
        "has the names.\n"
        "Records are as those of convert-imageset, with keys 00000000_CLASS/FILE, 00000001_…: "
        "class "
        "after class, which is\n"
        "no order to train in, unless --shuffle is given (or the net's data layer shuffles). DB is "
        "the folder to make,\n"
        "which must not exist. Images that cannot be read are an error that lists them, and "
        "nothing "
        "is made then.",
    .examples =
        "  convert-folder --shuffle --resize_height 64 --resize_width 64 pictures train_lmdb\n"
        "  convert-folder --shuffle --encoded --test_fraction 0.1 --test_db test_lmdb pictures "
        "train_lmdb",
    .min_arguments = 2,
    .max_arguments = 2,
};

int run(const std::vector<std::string>& arguments) {
  const crema::ConvertFolderOptions options{convert_flags(), FLAGS_test_fraction, FLAGS_test_db};
  const std::string& db = arguments[1];
  const crema::ConvertFolderResult result =
      crema::convert_folder(arguments[0], db, options, report_conversion(kInfo.name));
  print_conversion(db, result.train);
  if (!options.test_db.empty()) print_conversion(options.test_db, result.test);
  crema::print(fmt::format("{} classes\n", crema::with_thousands(result.classes)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
