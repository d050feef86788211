// Every folder of models/: its nets build, fit together and learn from made-up data.
//
// A new folder is found by itself. What this test cannot guess is in two tables: blobs that are not
// simply images with a label each, and published numbers of parameters.
#include <gmock/gmock.h>

#include <boost/filesystem.hpp>
#include <cmath>
#include <map>

#include "net/compile.h"
#include "proto/io.h"
#include "support.h"

namespace crema {
namespace {

using testing::Scratch;

std::string path_of(const std::string& file) {
  return std::string(CREMA_SOURCE_DIR) + "/models/" + file;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : boost::filesystem::directory_iterator(path_of(""))) {
    if (boost::filesystem::is_directory(entry)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A blob that a data layer gives: its shape, and whole numbers below `classes` (0: any numbers).
struct Source {
  Shape shape;
  std::uint32_t classes = 0;
};
using Sources = std::map<std::string, Source>;

/// Batches of 2; images have the size of deploy.prototxt, or `size` x `size`. 5 classes are enough
/// for nets that have more.
Sources sources_of(const std::string& model, std::int64_t size) {
  if (model == "char_lstm") {
    return {{"input", {{6, 3}, 256}}, {"cont", {{6, 3}, 2}}, {"target", {{6, 3}, 256}}};
  }
  const caffe::NetParameter deploy = read_net(path_of(model + "/deploy.prototxt"));
  const auto& dims = deploy.layer(0).input_param().shape(0).dim();
  const Shape image{2, dims[1], size > 0 ? size : dims[2], size > 0 ? size : dims[3]};
  if (model == "siamese") return {{"pair_data", {image.with(1, 2), 0}}, {"sim", {{2}, 2}}};
  if (model == "fcn") return {{"data", {image, 0}}, {"label", {image.with(1, 1), 5}}};
  return {{"data", {image, 0}}, {"label", {{2}, 5}}};
}

/// Its data layers become Input layers.
caffe::NetParameter with_inputs(caffe::NetParameter net, const Sources& sources) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    if (layer.bottom_size() > 0 || layer.type() == "Input") continue;
    layer.set_type("Input");
    for (const std::string& top : layer.top()) {
      caffe::BlobShape* shape = layer.mutable_input_param()->add_shape();
      for (const std::int64_t dim : sources.at(top).shape.dims()) shape->add_dim(dim);
    }
  }
  return net;
}

caffe::NetState state_of(caffe::Phase phase) {
  caffe::NetState state;
  state.set_phase(phase);
  return state;
}

Graph inferred(const caffe::NetParameter& net, const caffe::NetState& state) {
  Graph graph = build_graph(net, state, 0, {});
  infer(graph);
  return graph;
}

std::vector<Shape> param_shapes(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (const int param : node.params) {
    shapes.push_back(graph.params[static_cast<std::size_t>(param)].shape);
  }
  return shapes;
}

std::string strings_of(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += shape.str() + " ";
  return text;
}

std::int64_t learned(const Graph& graph) {
  std::int64_t count = 0;
  for (const ParamNode& param : graph.params) {
    if (param.lr_mult != 0) count += param.shape.count();
  }
  return count;
}

/// Large pictures as a data layer gives them: about 50 around a mean, unless it scales them.
float strength_of(const caffe::NetParameter& net) {
  const caffe::TransformationParameter& transform = net.layer(0).transform_param();
  return transform.has_scale() || !transform.has_crop_size() ? 1 : 50;
}

void fill(Net& net, const Sources& sources, float strength) {
  std::uint64_t step = 0;
  const RandomStream random(1, 9);
  for (const auto& [blob, source] : sources) {
    ++step;
    if (!net.has_blob(blob)) continue;  // the autoencoder takes no labels
    std::vector<float> values(static_cast<std::size_t>(source.shape.count()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = source.classes > 0 ? static_cast<float>(random.below(step, i, source.classes))
                                     : strength * (2 * random.uniform(step, i) - 1);
    }
    net.write_blob(blob, values);
  }
}

class ModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string file(const std::string& name) const { return path_of(GetParam() + "/" + name); }
  caffe::NetParameter train_val(std::int64_t size = 0) const {
    return with_inputs(read_net(file("train_val.prototxt")), sources_of(GetParam(), size));
  }
  /// The smallest pictures that the net takes, for speed.
  std::int64_t smallest_size() const {
    const caffe::NetParameter deploy = read_net(file("deploy.prototxt"));
    const auto& dims = deploy.layer(0).input_param().shape(0).dim();
    for (const std::int64_t size : {64, 96, 128}) {
      if (dims.size() != 4 || dims[3] <= size) break;
      try {
        inferred(train_val(size), state_of(caffe::TRAIN));
        return size;
      } catch (const Error&) {
        // Too small for it.
      }
    }
    return 0;
  }
};

TEST_P(ModelTest, DeployFitsWhatIsTrained) {
  EXPECT_TRUE(boost::filesystem::exists(file("README.md")));
  const Graph deploy = inferred(read_net(file("deploy.prototxt")), state_of(caffe::TEST));
  const Graph train = inferred(train_val(), state_of(caffe::TRAIN));
  EXPECT_EQ(deploy.name, train.name);
  std::map<std::string, std::string> trained;
  for (const Node& node : train.nodes) trained[node.name()] = strings_of(param_shapes(train, node));
  for (const Node& node : deploy.nodes) {
    if (node.params.empty()) continue;
    ASSERT_TRUE(trained.contains(node.name())) << node.name();
    EXPECT_EQ(strings_of(param_shapes(deploy, node)), trained.at(node.name())) << node.name();
  }
}

TEST_P(ModelTest, SolversNameItAndItsTestNetsBuild) {
  int solvers = 0;
  for (const auto& entry : boost::filesystem::directory_iterator(path_of(GetParam()))) {
    if (entry.path().filename().string().rfind("solver", 0) != 0) continue;
    ++solvers;
    SCOPED_TRACE(entry.path().string());
    caffe::SolverParameter solver = read_solver(entry.path().string());
    EXPECT_EQ(solver.net(), "models/" + GetParam() + "/train_val.prototxt");
    EXPECT_EQ(solver.snapshot_prefix().rfind("out/" + GetParam(), 0), 0u);
    EXPECT_GT(solver.test_iter_size(), 0);
    solver.clear_net();
    *solver.mutable_net_param() = train_val();
    for (const SolverNet& test : solver_test_nets(solver)) {
      const Graph graph = inferred(test.net, test.state);
      EXPECT_FALSE(graph.outputs.empty());
    }
  }
  EXPECT_GT(solvers, 0);
}

TEST_P(ModelTest, Learns) {
  const Scratch scratch;
  const std::int64_t size = smallest_size();
  for (const auto& entry : boost::filesystem::directory_iterator(path_of(GetParam()))) {
    if (entry.path().filename().string().rfind("solver", 0) != 0) continue;
    SCOPED_TRACE(entry.path().string());
    caffe::SolverParameter param = read_solver(entry.path().string());
    param.clear_net();
    param.clear_test_iter();
    param.clear_test_state();
    param.clear_test_interval();
    param.set_iter_size(1);
    param.set_snapshot(0);
    param.set_snapshot_prefix(scratch.path("snapshot"));
    *param.mutable_net_param() = train_val(size);
    const auto device = make_cpu_device(2);
    Solver solver(param, *device, {});
    const caffe::NetParameter original = read_net(file("train_val.prototxt"));
    const float strength = strength_of(original);
    fill(solver.net(), sources_of(GetParam(), size), strength);
    const float first = solver.net().forward();
    // Nets that take no smaller pictures are slow.
    ASSERT_TRUE(solver.step(strength > 1 && size == 0 ? 1 : 2));
    const float last = solver.net().forward();
    EXPECT_TRUE(std::isfinite(first)) << first;
    EXPECT_TRUE(std::isfinite(last)) << last;
    EXPECT_NE(first, last);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelTest, ::testing::ValuesIn(model_names()),
                         [](const auto& param) { return param.param; });

/// Means and variances of BatchNorm layers.
std::int64_t statistics(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    if (node.type() != "BatchNorm") continue;
    const std::vector<Shape> shapes = param_shapes(graph, node);
    count += shapes[0].count() + shapes[1].count();
  }
  return count;
}

TEST(ModelsTest, HaveAsManyParametersAsTheirPapersAndPublishedWeights) {
  struct Published {
    const char* model;
    std::int64_t deploy, train, statistics;
  };
  for (const Published& published : {
           Published{"googlenet", 6998552, 13378280, 0},
           Published{"vgg16", 138357544, 138357544, 0},
           // 25,557,032 is without the biases of conv1, which the published model has.
           Published{"resnet50", 25557032 + 64, 25557032 + 64, 53120},
           Published{"squeezenet", 1235496, 1235496, 0},
           Published{"mobilenet", 4231976, 4231976, 21888},
       }) {
    SCOPED_TRACE(published.model);
    const std::string folder = path_of(published.model);
    const Graph deploy = inferred(read_net(folder + "/deploy.prototxt"), state_of(caffe::TEST));
    const Graph train = inferred(
        with_inputs(read_net(folder + "/train_val.prototxt"), sources_of(published.model, 0)),
        state_of(caffe::TRAIN));
    EXPECT_EQ(learned(deploy), published.deploy);
    EXPECT_EQ(learned(train), published.train);
    EXPECT_EQ(statistics(train), published.statistics);
    EXPECT_EQ(statistics(deploy), published.statistics);
  }
}

}  // namespace
}  // namespace crema
