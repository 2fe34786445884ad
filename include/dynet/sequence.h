#pragma once

// Whole sequences at once. Everything here can be written step by step with expr.h and rnn.h, and
// with batching that costs about the same: these functions save writing, and the building of nodes.
//
//   xs = lookup_sequence(cg, words, indices);              one expression a step
//   hs = builder.transduce(xs);                            (rnn.h) likewise
//   scores = affine_transform({b, W, concatenate_to_batch(hs)});      one batch of all steps
//   loss = sequence_loss(scores, labels);
//
// A batch of sequences of equal length is a sequence of batches: step t of all of them.

#include <vector>

#include "dynet/expr.h"

namespace dynet {

/// In the place of a label: this one has no loss.
constexpr unsigned kNoLabel = ~0U;

/// Looks up a row for every step of a sequence; or a batch of rows for every step of a batch of
/// sequences, if `indices[t]` has one index per example.
/// `y[t] = lookup(g, p, indices[t])`
/// Shapes: -> a list with an entry for each step: the shape of a row, xb for b examples.
/// Errors: IndexError if an index is not below the number of rows.
std::vector<Expression> lookup_sequence(const detail::LocatedGraph& g, const LookupParameter& p,
                                        const std::vector<unsigned>& indices);
std::vector<Expression> lookup_sequence(const detail::LocatedGraph& g, const LookupParameter& p,
                                        const std::vector<std::vector<unsigned>>& indices);

/// The sum of the losses of all steps: for every example of the batch `scores`, or every column of
/// a matrix, the negative log likelihood of its label, nothing if there is no label. Labels lie as
/// concatenate_to_batch puts the steps: all examples of the first, then all of the second. A matrix
/// has a column for each step; in a batch of matrices the labels of all columns of the first
/// example come first.
/// `y = sum_e -ln softmax(scores[e])_labels[e]`
/// Shapes: {n}xb or {n,steps}xb -> {1}.
/// Errors: ValueError unless there is one label per example and column, IndexError if a label is
///   not below n.
/// C++: kNoLabel says that there is no label.
/// Python: None says that there is no label.
Expression sequence_loss(const Expression& scores, const std::vector<unsigned>& labels,
                         Where where = Where::here());

}  // namespace dynet
