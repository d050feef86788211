// The schema is Caffe's, field by field: tests/data/caffe-proto.tsv lists the facts, and
// caffe-proto-ssd.tsv those of the layers for SSD that only forks have.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "caffe.pb.h"

namespace crema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

constexpr int kFirstOwnField = 10000;
const std::set<std::string> kOwnMessages = {"SourcePositions", "FieldPosition",
                                            "CremaTrainingState", "DataPosition"};
const std::set<std::string> kOwnEnumerations = {"SnapshotBestMode"};

/// What forks added with numbers that Caffe leaves free, where files have to be read by them.
const std::set<std::string> kOfForks = {"Phase.MULTI_VIEW", "BlobProto.raw_data_type",
                                        "BlobProto.raw_diff_type", "BlobProto.raw_data",
                                        "BlobProto.raw_diff"};
/// Optional in Caffe, repeated in Minerva; one value is written in the same bytes.
const std::set<std::string> kRepeatedInMinerva = {"Datum.label"};

std::string without_package(const std::string& name) { return name.substr(name.find('.') + 1); }

std::string type_of(const FieldDescriptor& field) {
  if (field.message_type()) return without_package(field.message_type()->full_name());
  if (field.enum_type()) return without_package(field.enum_type()->full_name());
  return field.type_name();
}

std::string default_of(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  std::ostringstream text;
  text << "default=";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      text << (field.default_value_bool() ? "true" : "false");
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      text << field.default_value_enum()->name();
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      text << field.default_value_float();
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      text << field.default_value_int32();
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      text << field.default_value_int64();
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      text << field.default_value_uint32();
      break;
    default:
      text << field.default_value_string();
  }
  return text.str();
}

void add(const EnumDescriptor& enumeration, std::set<std::string>* rows) {
  for (int i = 0; i < enumeration.value_count(); ++i) {
    const auto& value = *enumeration.value(i);
    if (kOfForks.contains(enumeration.name() + "." + value.name())) continue;
    rows->insert(without_package(enumeration.full_name()) + "\t" + value.name() + "\t" +
                 std::to_string(value.number()) + "\tenum\t\t");
  }
}

void add(const Descriptor& message, std::set<std::string>* rows) {
  static const char* const kLabels[] = {"", "optional", "required", "repeated"};
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.number() >= kFirstOwnField) continue;
    if (kOfForks.contains(message.name() + "." + field.name())) continue;
    const bool repeated_here = kRepeatedInMinerva.contains(message.name() + "." + field.name());
    const auto label = repeated_here ? FieldDescriptor::LABEL_OPTIONAL : field.label();
    rows->insert(message.name() + "\t" + field.name() + "\t" + std::to_string(field.number()) +
                 "\t" + kLabels[label] + "\t" + type_of(field) + "\t" +
                 (field.is_packed() ? "packed" : default_of(field)));
  }
  for (int i = 0; i < message.enum_type_count(); ++i) {
    if (!kOwnEnumerations.contains(message.enum_type(i)->name())) add(*message.enum_type(i), rows);
  }
}

void read_rows(const std::string& file, std::set<std::string>* rows) {
  std::ifstream in(file);
  ASSERT_TRUE(in.good()) << file;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    // Trailing empty cells may be missing.
    while (std::count(line.begin(), line.end(), '\t') < 5) line += '\t';
    rows->insert(line);
  }
}

TEST(Schema, IsThatOfCaffe) {
  std::set<std::string> expected;
  read_rows(CREMA_TEST_DATA "/caffe-proto.tsv", &expected);
  ASSERT_GT(expected.size(), 500u);
  read_rows(CREMA_TEST_DATA "/caffe-proto-ssd.tsv", &expected);

  std::set<std::string> actual;
  const FileDescriptor& file = *caffe::NetParameter::descriptor()->file();
  EXPECT_EQ(file.package(), "caffe");
  for (int i = 0; i < file.enum_type_count(); ++i) add(*file.enum_type(i), &actual);
  for (int i = 0; i < file.message_type_count(); ++i) {
    if (!kOwnMessages.contains(file.message_type(i)->name())) add(*file.message_type(i), &actual);
  }
  for (const std::string& row : expected) EXPECT_TRUE(actual.contains(row)) << "missing: " << row;
  for (const std::string& row : actual) EXPECT_TRUE(expected.contains(row)) << "unknown: " << row;
}

TEST(Schema, OwnFieldsDoNotDisturbCaffe) {
  // Caffe keeps what it does not know; the numbers must stay out of the way of forks, too.
  caffe::SolverState state;
  state.mutable_crema_training()->set_seed(7);
  EXPECT_EQ(state.GetDescriptor()->FindFieldByName("crema_training")->number(), 10000);
  for (const Descriptor* message :
       {caffe::NetParameter::descriptor(), caffe::SolverParameter::descriptor(),
        caffe::LayerParameter::descriptor(), caffe::V1LayerParameter::descriptor()}) {
    EXPECT_EQ(message->FindFieldByName("crema_source")->number(), 10000) << message->name();
  }
}

}  // namespace
}  // namespace crema
