#include "solver/score_sums.h"

#include "base/error.h"
#include "data/batch_reader.h"

namespace crema {

std::vector<OutputValue> outputs_of(const Net& net) {
  std::vector<OutputValue> values;
  for (const std::string& name : net.outputs()) {
    values.push_back({name, net.read_blob(name), net.loss_weight(name)});
  }
  return values;
}

void ScoreSums::add(const Net& net, float loss, double weight) {
  std::vector<OutputValue> outputs = outputs_of(net);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<float>& values = outputs[i].values;
    if (sums_.size() <= i) sums_.emplace_back(values.size(), 0.0);
    require(sums_[i].size() == values.size(),
            "output \"{}\" has {} values for this batch and {} for others, so it has no mean; full "
            "batches (--iterations, test_iter) can score it",
            outputs[i].name, values.size(), sums_[i].size());
    for (std::size_t j = 0; j < values.size(); ++j) sums_[i][j] += weight * values[j];
  }
  outputs_ = std::move(outputs);
  loss_ += weight * loss;
  weight_ += weight;
}

std::vector<OutputValue> ScoreSums::mean() const {
  std::vector<OutputValue> means = outputs_;
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (std::size_t j = 0; j < sums_[i].size(); ++j) {
      means[i].values[j] = static_cast<float>(sums_[i][j] / weight_);
    }
  }
  return means;
}

WholeSource whole_source(const Net& net, const std::string& who) {
  const auto readers = net.readers();
  require(!readers.empty(), "{} needs a net with a data layer; this one has none", who);
  const auto& [name, first] = readers.front();
  for (const auto& [layer, reader] : readers) {
    require(reader->records() == first->records() && reader->batch_size() == first->batch_size(),
            "{}: layers \"{}\" and \"{}\" read {} and {} records in batches of {} and {}; they "
            "must agree",
            who, name, layer, first->records(), reader->records(), first->batch_size(),
            reader->batch_size());
  }
  return {first->records(), first->batch_size()};
}

}  // namespace crema
