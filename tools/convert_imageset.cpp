// convert-imageset: a list of picture files to a data base.
#include <vector>

#include "base/tool.h"
#include "convert_flags.h"

DEFINE_int32(label_count, 1, "how many labels a line of the list ends with");
DEFINE_bool(float_labels, false,
            "labels are numbers of any kind and stored as float_label, which Caffe passes over; "
            "without it each has to be a whole number");

namespace {

const crema::ToolInfo kInfo{
    .name = "convert-imageset",
    .synopsis = "convert-imageset [flags] ROOT LIST DB",
    .summary = "Makes a data base of the picture files that a list names.",
    .details =
        "LIST is a text file of lines NAME LABEL, where NAME may hold blanks. ROOT is put in front "
        "of every name as it is,\n"
        "so it should end in a slash. It can also be a tar archive that holds the files; those of "
        "an inner NAME.tar are\n"
        "called NAME/FILE. DB is the folder to make, which must not exist. Records are those of "
        "Caffe's convert_imageset:\n"
        "keys 00000000_NAME, 00000001_NAME, and so on, in the order of the list; colours are blue, "
        "green, red.\n"
        "Images that cannot be read are an error that lists them, and nothing is made then.",
    .examples =
        "  convert-imageset --resize_height 256 --resize_width 256 images/ train.txt "
        "train_lmdb\n"
        "  convert-imageset --encoded --shuffle images/ train.txt train_lmdb\n"
        "  convert-imageset --label_count 2 --float_labels images/ angles.txt train_lmdb",
    .min_arguments = 3,
    .max_arguments = 3,
};

int run(const std::vector<std::string>& arguments) {
  crema::ConvertImagesOptions options = convert_flags();
  options.label_count = FLAGS_label_count;
  options.float_labels = FLAGS_float_labels;
  const std::string& db = arguments[2];
  print_conversion(db, crema::convert_images(arguments[0], arguments[1], db, options,
                                             report_conversion(kInfo.name)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return crema::run_tool(argc, argv, kInfo, run); }
