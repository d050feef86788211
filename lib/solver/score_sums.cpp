#include "solver/score_sums.h"

#include <algorithm>

#include "base/error.h"

namespace crema {
namespace {

double quotient(double sum, double weight) { return weight == 0 ? 0 : sum / weight; }

}  // namespace

std::vector<OutputValue> outputs_of(const Net& net) {
  std::vector<OutputValue> values;
  for (const std::string& name : net.outputs()) {
    values.push_back({name, net.read_blob(name), net.loss_weight(name)});
  }
  return values;
}

void ScoreSums::add_batch(const Net& net, float loss) { add(outputs_of(net), {}, loss, 1); }

void ScoreSums::add_records(const Net& net, float loss, double records) {
  std::vector<std::vector<double>> over;
  for (const std::string& name : net.outputs()) over.push_back(net.mean_over(name));
  add(outputs_of(net), over, loss, records);
}

void ScoreSums::add(std::vector<OutputValue> outputs, const std::vector<std::vector<double>>& over,
                    double loss, double weight) {
  sums_.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<float>& values = outputs[i].values;
    Sum& sum = sums_[i];
    if (outputs_.empty()) {
      sum.values.resize(values.size());
      sum.weights.resize(values.size());
    }
    require(sum.values.size() == values.size(),
            "output \"{}\" has {} values for this batch and {} for others, so it has no mean; full "
            "batches (--iterations, test_iter) can score it",
            outputs[i].name, values.size(), sum.values.size());
    sum.counted = i < over.size() && !over[i].empty();
    CREMA_ASSERT(!sum.counted || over[i].size() == values.size());
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double counts = sum.counted ? over[i][j] : weight;
      if (counts == 0) continue;
      sum.values[j] += counts * values[j];
      sum.weights[j] += counts;
      if (sum.counted) loss -= outputs[i].loss_weight * values[j];
    }
  }
  outputs_ = std::move(outputs);
  loss_ += weight * loss;
  weight_ += weight;
}

std::vector<OutputValue> ScoreSums::mean() const {
  std::vector<OutputValue> means = outputs_;
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (std::size_t j = 0; j < means[i].values.size(); ++j) {
      means[i].values[j] = static_cast<float>(quotient(sums_[i].values[j], sums_[i].weights[j]));
    }
  }
  return means;
}

double ScoreSums::mean_loss() const {
  double loss = quotient(loss_, weight_);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (!sums_[i].counted) continue;
    for (std::size_t j = 0; j < sums_[i].values.size(); ++j) {
      loss += outputs_[i].loss_weight * quotient(sums_[i].values[j], sums_[i].weights[j]);
    }
  }
  return loss;
}

}  // namespace crema
