// docs/solver.md lists every field of a solver, with its default.
#include <google/protobuf/descriptor.h>

#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "support.h"

namespace crema {
namespace {

using google::protobuf::FieldDescriptor;

std::string default_of(const FieldDescriptor& field) {
  if (field.is_repeated()) return "";
  if (field.name().rfind("snapshot_prefix", 0) == 0) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fmt::format("{:g}", field.default_value_float());
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return field.default_value_string();
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    default:
      return "";
  }
}

TEST(SolverDocumentation, HasEveryFieldAndItsDefault) {
  std::ifstream file(std::string(CREMA_SOURCE_DIR) + "/docs/solver.md");
  std::map<std::string, std::string> rows;  // field to default
  std::string line;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() < 3 || line.rfind("| ", 0) != 0 || cells[0].find('`') == std::string::npos) {
      continue;
    }
    for (std::string name : split(cells[0], ',')) {
      const auto begin = name.find('`') + 1;
      rows.emplace(name.substr(begin, name.find('`', begin) - begin),
                   cells[1] == " " ? "" : cells[1].substr(1, cells[1].size() - 2));
    }
  }
  const auto* message = caffe::SolverParameter::descriptor();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor& field = *message->field(i);
    if (field.name() == "crema_source") continue;
    ASSERT_TRUE(rows.contains(field.name())) << field.name();
    const std::string& shown = rows.at(field.name());
    const bool needed = field.name() == "base_lr" || field.name() == "max_iter" ||
                        field.name() == "max_epochs" || field.name() == "test_epochs";
    EXPECT_EQ(shown, needed ? "" : default_of(field)) << field.name();
  }
}

}  // namespace
}  // namespace crema
