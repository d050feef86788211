#include "support.h"

namespace crema {
namespace {

using namespace testing;

std::string train_error(const std::string& text) {
  return solver_error([&] { solver_train_net(solver_of(text)); });
}
std::string test_error(const std::string& text) {
  return solver_error([&] { solver_test_nets(solver_of(text)); });
}
std::vector<std::string> test_names(const std::string& text) {
  std::vector<std::string> names;
  for (const SolverNet& net : solver_test_nets(solver_of(text))) names.push_back(net.net.name());
  return names;
}
using Names = std::vector<std::string>;

TEST(SolverNetsTest, ExactlyOneFieldNamesTheTrainNet) {
  const std::string start =
      "a solver names its train net by exactly one of net, net_param, train_net, train_net_param, "
      "not by ";
  EXPECT_EQ(train_error(""), start + "0");
  EXPECT_EQ(train_error("net_param { } train_net_param { }"), start + "2");
  EXPECT_EQ(train_error("net: \"a\" train_net: \"b\" net_param { }"), start + "3");
  EXPECT_EQ(solver_train_net(solver_of("net_param { name: \"a\" }")).net.name(), "a");
  EXPECT_EQ(solver_train_net(solver_of("train_net_param { name: \"b\" }")).net.name(), "b");
}

TEST(SolverNetsTest, NetsComeFromFilesToo) {
  const Scratch scratch;
  const std::string a = scratch.write("a.prototxt", "name: \"a\"");
  EXPECT_EQ(solver_train_net(solver_of("net: \"" + a + "\"")).net.name(), "a");
  EXPECT_EQ(solver_train_net(solver_of("train_net: \"" + a + "\"")).net.name(), "a");
  EXPECT_EQ(test_names("test_net: \"" + a + "\" test_iter: 1 test_interval: 1"), Names{"a"});
  EXPECT_NE(train_error("net: \"" + scratch.path("none") + "\""), "");
}

TEST(SolverNetsTest, TestNetsComeInCaffesOrder) {
  const Scratch scratch;
  const std::string file = scratch.write("f.prototxt", "name: \"file\"");
  EXPECT_EQ(test_names("net_param { name: \"n\" } test_net: \"" + file +
                       "\" test_net_param { name: \"p\" } test_net_param { name: \"q\" } "
                       "test_iter: [1, 1, 1, 1, 1] test_interval: 1"),
            (Names{"p", "q", "file", "n", "n"}));
}

TEST(SolverNetsTest, NoTestIterNoTestNet) {
  EXPECT_EQ(test_names("net_param { name: \"n\" }"), Names{});
  EXPECT_EQ(test_names("train_net_param { }"), Names{});
}

TEST(SolverNetsTest, NumbersMustAgree) {
  EXPECT_EQ(test_error("train_net_param { } test_net_param { }"),
            "test_iter must be given once for each of the 1 test nets, not 0 times");
  EXPECT_EQ(test_error("net_param { } test_net_param { } test_net_param { } test_iter: 1"),
            "test_iter must be given for each of the 2 test nets, not 1 times");
  EXPECT_EQ(test_error("net_param { } test_iter: 1 test_iter: 1 test_state { } test_interval: 1"),
            "test_state must be given once for each of the 2 test nets or never, not 1 times");
  EXPECT_EQ(test_error("net_param { } test_iter: 1"),
            "there are test nets, but test_interval is 0; it must be > 0");
  EXPECT_EQ(test_error("net_param { } test_iter: 0 test_interval: 1"),
            "test_iter is 0; it must be > 0");
}

TEST(SolverNetsTest, TestAllNeedsNoTestIter) {
  EXPECT_EQ(test_names("net_param { name: \"n\" } test_all: true test_interval: 1"), Names{"n"});
  EXPECT_EQ(test_names("net_param { name: \"n\" } test_net_param { name: \"t\" } test_all: true "
                       "test_state { } test_state { } test_interval: 1"),
            (Names{"t", "n"}));
  // With it, there are as many test nets as ever.
  EXPECT_EQ(test_names("net_param { name: \"n\" } test_iter: 1 test_iter: 1 test_all: true "
                       "test_interval: 1"),
            (Names{"n", "n"}));
  EXPECT_EQ(test_error("net_param { } test_all: true"),
            "there are test nets, but test_interval is 0; it must be > 0");
  EXPECT_EQ(test_error("train_net_param { } test_all: true test_interval: 1"),
            "test_all is given, but there is no test net");
}

TEST(SolverNetsTest, StatesMergeInThreeLayers) {
  const auto solver = solver_of(
      "net_param { state { level: 3 stage: \"net\" } } train_state { stage: \"own\" } "
      "test_state { level: 5 } test_iter: 1 test_interval: 1");
  const caffe::NetState train = solver_train_net(solver).state;
  EXPECT_EQ(train.phase(), caffe::TRAIN);
  EXPECT_EQ(train.level(), 3);
  ASSERT_EQ(train.stage_size(), 2);
  EXPECT_EQ(train.stage(0), "net");
  EXPECT_EQ(train.stage(1), "own");
  const caffe::NetState test = solver_test_nets(solver)[0].state;
  EXPECT_EQ(test.phase(), caffe::TEST);
  EXPECT_EQ(test.level(), 5);
  ASSERT_EQ(test.stage_size(), 1);
}

TEST(SolverNetsTest, TheNetsOwnPhaseOutweighsTheDefault) {
  const auto solver = solver_of("net_param { state { phase: TEST } }");
  EXPECT_EQ(solver_train_net(solver).state.phase(), caffe::TEST);
}

}  // namespace
}  // namespace crema
