// docs/transformation.md lists every field of transform_param, with its default.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/text.h"
#include "fixtures.h"

namespace crema {
namespace {

using google::protobuf::FieldDescriptor;

std::string default_of(const FieldDescriptor& field) {
  if (field.is_repeated()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fmt::format("{:g}", field.default_value_float());
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "false";
    default:
      return "";
  }
}

TEST(TransformationDocumentation, HasEveryFieldAndItsDefault) {
  std::ifstream file(std::string(CREMA_SOURCE_DIR) + "/docs/transformation.md");
  std::map<std::string, std::string> rows;  // field to default
  bool fields = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) fields = line == "## All fields";
    const std::vector<std::string> cells = split(line, '|');
    if (!fields || cells.size() < 3 || cells[0].find('`') == std::string::npos) continue;
    for (const std::string& name : split(cells[0], ',')) {
      const auto begin = name.find('`') + 1;
      rows.emplace(name.substr(begin, name.find('`', begin) - begin),
                   cells[1] == " " ? "" : cells[1].substr(1, cells[1].size() - 2));
    }
  }
  const auto* message = caffe::TransformationParameter::descriptor();
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor& field = *message->field(i);
    ASSERT_TRUE(rows.contains(field.name())) << field.name();
    EXPECT_EQ(rows.at(field.name()), default_of(field)) << field.name();
  }
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(message->field_count()));
}

}  // namespace
}  // namespace crema
