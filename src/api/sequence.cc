#include "dynet/sequence.h"

#include <algorithm>
#include <string>

#include "dynet/except.h"
#include "dynet/ext/count.h"

#include "graph/graph.h"

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
                         Where where) {
  const Dim d = scores.dim();
  const unsigned columns = d.nd == 2 ? d.cols() : 1;
  const unsigned examples = to_extent(ext::Count(columns) * d.bd, "sequence_loss: the steps");
  if (labels.size() != examples) {
    throw errors::ValueError("sequence_loss: " + std::to_string(labels.size()) +
                             " labels for the scores of " + std::to_string(examples) +
                             " steps; want one each" + graph::built_at(where));
  }
  const unsigned classes = d.rows();
  for (const unsigned label : labels) {  // before there is a node
    if (label >= classes && label != kNoLabel) {
      throw errors::IndexError("sequence_loss: a label is " + std::to_string(label) +
                               " for scores of " + to_string(d) + "; want less than " +
                               std::to_string(classes) + graph::built_at(where));
    }
  }
  const Expression steps = d.nd == 2 ? reshape(scores, Dim({classes}, examples), where) : scores;
  if (std::find(labels.begin(), labels.end(), kNoLabel) == labels.end()) {
    return sum_batches(pickneglogsoftmax(steps, labels, where), where);
  }
  std::vector<unsigned> some = labels;
  std::replace(some.begin(), some.end(), kNoLabel, classes);  // the class that is ignored
  return sum_batches(cross_entropy(steps, some, 0.0F, classes, where), where);
}

}  // namespace dynet
