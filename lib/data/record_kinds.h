// The streams behind open_records(), one a family of sources.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/record_stream.h"

namespace crema {

std::unique_ptr<RecordStream> open_database_records(const std::string& path,
                                                    caffe::DataParameter::DB backend,
                                                    const std::string& recognised_by);
/// A list or a folder.
std::unique_ptr<RecordStream> open_image_records(const std::string& path,
                                                 const RecordStreamOptions& options,
                                                 const std::string& recognised_by);
std::unique_ptr<RecordStream> open_hdf5_records(RecordStream::Kind kind, const std::string& path,
                                                const std::vector<std::string>& files,
                                                const RecordStreamOptions& options,
                                                const std::string& recognised_by);

}  // namespace crema
