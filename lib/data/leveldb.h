// LevelDB, the other kind of data base that Caffe reads and its default. An optional dependency.
#pragma once

#include <memory>
#include <string>

#include "data/database.h"

namespace crema {

/// Fails when this build has no LevelDB, when there is something else at `path`, and when it is
/// open already: the library locks a data base, for readers as well.
std::unique_ptr<DatabaseReader> open_leveldb(const std::string& path);

std::unique_ptr<DatabaseWriter> create_leveldb(const std::string& path);

}  // namespace crema
