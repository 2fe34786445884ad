#include "dynet/sequence.h"

#include <algorithm>
#include <string>

#include "dynet/except.h"

namespace dynet {

namespace {

template <class Index>
std::vector<Expression> look_up(const detail::LocatedGraph& g, const LookupParameter& p,
                                const std::vector<Index>& indices) {
  std::vector<Expression> xs;
  xs.reserve(indices.size());
  for (const Index& index : indices) {
    xs.push_back(lookup(g, p, index));
  }
  return xs;
}

}  // namespace

std::vector<Expression> lookup_sequence(const detail::LocatedGraph& g, const LookupParameter& p,
                                        const std::vector<unsigned>& indices) {
  return look_up(g, p, indices);
}

std::vector<Expression> lookup_sequence(const detail::LocatedGraph& g, const LookupParameter& p,
                                        const std::vector<std::vector<unsigned>>& indices) {
  return look_up(g, p, indices);
}

Expression sequence_loss(const Expression& scores, const std::vector<unsigned>& labels,
                         const char* file, unsigned line) {
  const unsigned examples = scores.dim().bd;
  if (labels.size() != examples) {
    throw ValueError("sequence_loss: " + std::to_string(labels.size()) +
                     " labels for the scores of " + std::to_string(examples) +
                     " steps; want one each\n  built at " + std::string(file) + ":" +
                     std::to_string(line));
  }
  if (std::find(labels.begin(), labels.end(), kNoLabel) == labels.end()) {
    return sum_batches(pickneglogsoftmax(scores, labels, file, line), file, line);
  }
  std::vector<unsigned> classes = labels;
  std::vector<float> counts(labels.size(), 1.0F);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kNoLabel) {
      classes[i] = 0;
      counts[i] = 0.0F;
    }
  }
  const detail::LocatedGraph graph(*scores.pg, file, line);
  const Expression losses = pickneglogsoftmax(scores, classes, file, line);
  return sum_batches(cmult(losses, input(graph, Dim({1}, examples), counts), file, line), file,
                     line);
}

}  // namespace dynet
