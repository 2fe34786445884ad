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
  if (columns > 1) {
    for (const unsigned label : labels) {  // before there is a node
      if (label >= d.rows() && label != kNoLabel) {
        throw errors::IndexError("sequence_loss: a label is " + std::to_string(label) +
                                 " for scores of " + to_string(d) + "; want less than " +
                                 std::to_string(d.rows()) + graph::built_at(where));
      }
    }
    return sequence_loss(reshape(scores, Dim({d.rows()}, examples), where), labels, where);
  }
  if (std::find(labels.begin(), labels.end(), kNoLabel) == labels.end()) {
    return sum_batches(pickneglogsoftmax(scores, labels, where), where);
  }
  std::vector<unsigned> classes = labels;
  std::vector<float> counts(labels.size(), 1.0F);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kNoLabel) {
      classes[i] = 0;
      counts[i] = 0.0F;
    }
  }
  const detail::LocatedGraph graph(*scores.pg, where);
  const Expression losses = pickneglogsoftmax(scores, classes, where);
  return sum_batches(cmult(losses, input(graph, Dim({1}, examples), counts), where), where);
}

}  // namespace dynet
