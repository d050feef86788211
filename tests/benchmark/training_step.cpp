// One training step of a benchmark net, timed: forward, backward, SGD update, on data that stays in
// memory.
//
//   training_step --net lenet --iterations 200 --threads 2
//   training_step --sgemm_peak --threads 2
//
// Prints one line of JSON, which training_step.py sets against the same step in PyTorch.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/philox.h"
#include "base/tool.h"
#include "kernels/blas.h"
#include "net/net.h"
#include "proto/io.h"
#include "solver/solver.h"

DEFINE_string(net, "", "lenet, cifar10_quick or caffenet: a net of tests/benchmark/nets");
DEFINE_string(nets, CREMA_SOURCE_DIR "/tests/benchmark/nets", "where the nets are");
DEFINE_int32(batch, 0, "batch; 0: the net's own");
DEFINE_int32(iterations, 100, "timed steps");
DEFINE_int32(warm_up, 5, "steps before them");
DEFINE_int32(threads, 0, "threads; 0: one a core");
DEFINE_bool(sgemm_peak, false, "measure the machine's matrix product instead");

namespace crema {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t peak_rss_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// Best rate over a second of products of several sizes.
int print_sgemm_peak() {
  const std::unique_ptr<Device> device = make_cpu_device(FLAGS_threads);
  double best = 0;
  for (const std::int64_t n : {768, 1024, 1536, 2048}) {
    const auto count = static_cast<std::size_t>(n * n);
    const std::vector<float> a(count, 0.5f), b(count, 0.25f);
    std::vector<float> c(count);
    for (const double end = now_seconds() + 0.5; now_seconds() < end;) {
      const double start = now_seconds();
      gemm(*device, Transpose::kNo, Transpose::kNo, n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f,
           c.data(), n);
      const double flops =
          2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
      best = std::max(best, flops / (now_seconds() - start) / 1e9);
    }
  }
  fmt::print("{}\n", nlohmann::json{{"gflops", best}}.dump());
  return 0;
}

caffe::SolverParameter solver_of(const std::string& net) {
  caffe::SolverParameter solver;
  *solver.mutable_net_param() = read_net(FLAGS_nets + "/" + net + ".prototxt");
  solver.set_base_lr(net == "cifar10_quick" ? 0.001f : 0.01f);
  solver.set_lr_policy("fixed");
  solver.set_momentum(0.9f);
  solver.set_weight_decay(net == "cifar10_quick" ? 0.004f : 0.0005f);
  solver.set_max_iter(1 << 30);
  solver.set_random_seed(1);
  solver.set_snapshot_after_train(false);
  return solver;
}

/// Standard-normal-like images, labels round robin.
void fill_inputs(Net& net) {
  const RandomStream random(1, stream_id("benchmark"));
  std::vector<float> images(static_cast<std::size_t>(net.shape("data").count()));
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i] = random.uniform(0, 2 * i) + random.uniform(0, 2 * i + 1) - 1;
  }
  net.write_blob("data", images);
  std::vector<float> labels(static_cast<std::size_t>(net.shape("label").count()));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(i % 10);
  net.write_blob("label", labels);
}

/// 2 (3M - M1): forward, both gradients, but none for the first layer's input.
double flops_per_image(const Graph& graph, std::int64_t batch) {
  std::int64_t all = 0, first = 0;
  for (const Node& node : graph.nodes) {
    if (node.params.empty()) continue;
    all += node.multiply_adds;
    if (first == 0) first = node.multiply_adds;
  }
  return 2.0 * static_cast<double>(3 * all - first) / static_cast<double>(batch);
}

int run(const std::vector<std::string>&) {
  if (FLAGS_sgemm_peak) return print_sgemm_peak();
  if (FLAGS_net.empty()) throw UsageError("--net is missing");
  FLAGS_minloglevel = 1;
  const std::int64_t baseline = peak_rss_bytes();
  const std::unique_ptr<Device> device = make_cpu_device(FLAGS_threads);
  Solver solver(solver_of(FLAGS_net), *device, {});
  Net& net = solver.net();
  if (FLAGS_batch > 0) {
    std::map<std::string, Shape> shapes;
    for (const std::string& input : net.inputs()) {
      shapes[input] = net.shape(input).with(0, FLAGS_batch);
    }
    net.reshape(shapes);
  }
  fill_inputs(net);
  solver.step(FLAGS_warm_up);
  const double start = now_seconds();
  solver.step(FLAGS_iterations);
  const double seconds = now_seconds() - start;
  const std::int64_t batch = net.shape("data")[0];
  const nlohmann::json result = {
      {"net", FLAGS_net},
      {"batch", batch},
      {"iterations", FLAGS_iterations},
      {"seconds", seconds},
      {"images_per_second", static_cast<double>(batch * FLAGS_iterations) / seconds},
      {"peak_rss_bytes", peak_rss_bytes()},
      {"baseline_rss_bytes", baseline},
      {"flops_per_image_step", flops_per_image(net.graph(), batch)}};
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace crema

int main(int argc, char** argv) {
  return crema::run_tool(
      argc, argv,
      {"training_step", "training_step --net NAME [--iterations N] | --sgemm_peak",
       "Times a training step.", "", ""},
      crema::run);
}
