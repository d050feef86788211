#include "data/database.h"

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cctype>

#include "base/error.h"
#include "base/tool.h"
#include "data/leveldb.h"
#include "data/lmdb.h"

namespace crema {

std::string_view DatabaseReader::value() {
  locate(&stored_);
  return load(key(), stored_, &buffer_);
}

std::unique_ptr<DatabaseReader> open_database(const std::string& path,
                                              caffe::DataParameter::DB backend) {
  if (backend == caffe::DataParameter::LMDB) return std::make_unique<LmdbReader>(path);
  return open_leveldb(path);
}

std::unique_ptr<DatabaseWriter> create_database(const std::string& path,
                                                caffe::DataParameter::DB backend) {
  if (backend == caffe::DataParameter::LMDB) return std::make_unique<LmdbWriter>(path);
  return create_leveldb(path);
}

void finish_all(const std::vector<DatabaseWriter*>& writers) {
  std::vector<std::string> finished;
  try {
    for (DatabaseWriter* const writer : writers) {
      writer->finish();
      finished.push_back(writer->path());
    }
  } catch (...) {
    boost::system::error_code ignored;
    for (const std::string& path : finished) boost::filesystem::remove_all(path, ignored);
    throw;
  }
}

std::string database_kind(const std::string& path) {
  namespace fs = boost::filesystem;
  boost::system::error_code error;
  if (fs::exists(path + "/data.mdb", error)) return "LMDB";
  if (fs::exists(path + "/CURRENT", error)) return "LevelDB";
  return "";
}

caffe::DataParameter::DB backend_named(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  caffe::DataParameter::DB backend = caffe::DataParameter::LMDB;
  if (!caffe::DataParameter::DB_Parse(upper, &backend)) {
    throw UsageError(fmt::format("the backend is lmdb or leveldb, not \"{}\"", name));
  }
  return backend;
}

}  // namespace crema
