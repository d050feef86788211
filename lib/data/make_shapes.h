// The data set of shapes: pictures with labels, and where the figure is in each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "caffe.pb.h"
#include "data/shapes.h"

namespace crema {

struct MakeShapesOptions {
  ShapesOptions pictures;
  std::int64_t count = 1000;
  int threads = 0;  ///< 0: one a core
};

/// The file that says where the figures are: a line `key,label,xmin,ymin,xmax,ymax` of names, then
/// one a picture. Corners are pixels from 0, the last ones included.
inline constexpr const char* kBoxesFile = "boxes.csv";

/// Told: pictures done, of how many.
using MakeShapesProgress = std::function<void(std::int64_t, std::int64_t)>;

/// Makes `folder`, which must not exist: PNG files 00000000.png, 00000001.png, …; list.txt, which
/// names them with their labels (see ImageList); kBoxesFile, whose keys are the files' names;
/// kLabelsFile.
void make_shapes_folder(const MakeShapesOptions& options, const std::string& folder,
                        const MakeShapesProgress& progress = {});

/// Makes a data base with keys 00000000, 00000001, …, its Datums those that convert-imageset makes
/// of these pictures, `encoded` (PNG) or not. kBoxesFile and kLabelsFile lie in it.
void make_shapes_database(const MakeShapesOptions& options, const std::string& db,
                          caffe::DataParameter::DB backend, bool encoded,
                          const MakeShapesProgress& progress = {});

}  // namespace crema
