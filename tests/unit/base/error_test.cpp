#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace crema {
namespace {

TEST(ErrorTest, PrintsContextsOutermostFirst) {
  Error error(ErrorKind::kUser, "it is wrong");
  EXPECT_STREQ(error.what(), "it is wrong");
  error.add_context("layer \"a\"");
  error.add_context("net.prototxt:4");
  EXPECT_STREQ(error.what(), "net.prototxt:4: layer \"a\": it is wrong");
  EXPECT_EQ(error.message(), "it is wrong");
  EXPECT_EQ(error.contexts(), (std::vector<std::string>{"layer \"a\"", "net.prototxt:4"}));
}

TEST(ErrorTest, AnEmptyContextLeavesNoMark) {
  Error error(ErrorKind::kUser, "no");
  error.add_context("");
  EXPECT_STREQ(error.what(), "no");
  EXPECT_TRUE(error.contexts().empty());
}

TEST(ErrorTest, FailFormatsAUserError) {
  try {
    fail("{} is {}", "x", 3);
    FAIL() << "it did not throw";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x is 3");
    EXPECT_EQ(error.kind(), ErrorKind::kUser);
  }
}

TEST(ErrorTest, RequireThrowsOnlyWhenFalse) {
  EXPECT_NO_THROW(require(true, "unseen {}", 1));
  EXPECT_THROW(require(false, "seen {}", 1), Error);
}

TEST(ErrorTest, AssertionsAreInternalAndSayWhere) {
  EXPECT_NO_THROW(CREMA_ASSERT(1 + 1 == 2));
  try {
    CREMA_ASSERT(1 + 1 == 3);
    FAIL() << "it did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    const std::string text = error.what();
    EXPECT_NE(text.find("please report"), std::string::npos) << text;
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("error_test.cpp:"), std::string::npos) << text;
  }
}

TEST(ErrorTest, WithContextNestsAndKeepsTheKind) {
  try {
    with_context("outer", [] {
      with_context([] { return std::string("inner"); }, [] { CREMA_ASSERT(false); });
    });
    FAIL() << "it did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_EQ(std::string(error.what()).rfind("outer: inner: internal error", 0), 0u);
  }
}

TEST(ErrorTest, WithContextPassesTheResultAndMakesNoContextWithoutAnError) {
  int made = 0;
  const auto context = [&] {
    ++made;
    return std::string("context");
  };
  EXPECT_EQ(with_context(context, [] { return 7; }), 7);
  EXPECT_EQ(made, 0);
  int value = 1;
  int& same = with_context(context, [&]() -> int& { return value; });
  EXPECT_EQ(&same, &value);
}

TEST(ErrorTest, OtherExceptionsPassUntouched) {
  EXPECT_THROW(with_context("context", [] { throw std::runtime_error("other"); }),
               std::runtime_error);
}

TEST(ErrorTest, IsOneLineWhateverANameHolds) {
  Error error(ErrorKind::kUser, "a\nb\x1b[2J\x7f");
  error.add_context("c\td");
  EXPECT_STREQ(error.what(), "c\\x09d: a\\nb\\x1b[2J\\x7f");
}

TEST(ErrorTest, SystemErrorsEndWithTheReason) {
  const auto text = [](int number) {
    try {
      errno = number;
      require_system(false, "cannot open {}", "x");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text(ENOENT), "cannot open x: No such file or directory");
  EXPECT_EQ(text(0), "cannot open x");
  EXPECT_NO_THROW(require_system(true, "unseen"));
}

}  // namespace
}  // namespace crema
