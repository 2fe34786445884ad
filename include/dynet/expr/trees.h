#pragma once

// Sums over all trees of a sentence, as expressions. The loss of a tree is the logarithm of the
// partition function minus the score of the tree; gradients of the logarithm are marginals: how
// probable each arc or each span is.
//
// dynet/structured.h describes the scores, and finds the best trees. The functions add nodes to the
// graph: for n words about 10 n, which work on whole rows of the tables and merge with the nodes of
// other sentences that are as long. Sums are kept as logarithms, so that no score is too large or
// too small.

#include <vector>

#include "dynet/expr/arguments.h"
#include "dynet/labelled-span.h"

namespace dynet {

/// Logarithm of the sum over all dependency trees, with crossing arcs too (matrix-tree theorem). A
/// column of the scores is a word, a row a head: row 0 the root, row h word h - 1. An element for a
/// word as its own head does not count. Trees have one word at the root, or with single_root =
/// false any number. The gradients are the probabilities of the arcs. Words are eliminated one by
/// one, without a subtraction: the determinant of the theorem loses all digits if words prefer each
/// other as heads. `lengths` has, for each example of a padded batch, the number of words.
/// `y = ln(sum over all trees h of exp(sum_d scores[h_d, d]))`
/// Shapes: {words+1,words} -> {1}.
/// Errors: ShapeError for other shapes; ValueError for another number of lengths than examples,
///   IndexError for a length that is 0 or more than the words.
/// Source: Koo et al., 2007; the elimination: Grassmann et al., 1985.
template <int = 0>
Expression spanning_tree_log_partition(const Expression& scores,
                                       const std::vector<unsigned>& lengths = {},
                                       bool single_root = true, Where where = Where::here());

/// Logarithm of the sum over all projective dependency trees: without crossing arcs. Arguments and
/// gradients are the same as for spanning_tree_log_partition.
/// `y = ln(sum over all projective trees h of exp(sum_d scores[h_d, d]))`
/// Shapes: {words+1,words} -> {1}.
/// Errors: as for spanning_tree_log_partition.
/// Source: Eisner, 1996.
template <int = 0>
Expression eisner_log_partition(const Expression& scores, const std::vector<unsigned>& lengths = {},
                                bool single_root = true, Where where = Where::here());

/// Score of a dependency tree: heads[d] is the head of word d, 0 for the root, h for word h - 1.
/// One list is for all examples, or each example has its own, as long as its sentence. The
/// log-probability of the tree is its score minus the logarithm of the partition function.
/// `y = sum_d scores[heads[d], d]`
/// Shapes: {words+1,words} -> {1}. Several lists beside scores of one example make a batch.
/// Errors: ShapeError for other shapes; ValueError for an empty list, more heads than words, heads
///   that are no tree, or another number of lists than examples; IndexError for a head that does
///   not exist.
template <int = 0>
Expression tree_score(const Expression& scores, const std::vector<unsigned>& heads,
                      Where where = Where::here());
template <int = 0>
Expression tree_score(const Expression& scores, const std::vector<std::vector<unsigned>>& heads,
                      Where where = Where::here());

/// Logarithm of the sum over all binary trees of constituents, each span with each label. Element
/// (i, j, l) of the scores is for the words i to j with label l; elements with i > j do not count.
/// The gradients are the probabilities of the labelled spans. `lengths` has, for each example of a
/// padded batch, the number of words.
/// `y = ln(sum over all trees t of exp(sum over the spans (i, j, l) of t of scores[i, j, l]))`
/// Shapes: {words,words,labels} -> {1}.
/// Errors: as for spanning_tree_log_partition.
template <int = 0>
Expression cky_log_partition(const Expression& scores, const std::vector<unsigned>& lengths = {},
                             Where where = Where::here());

/// Sum of the scores of some spans, such as the spans of a tree: span (label, begin, end) has
/// element (begin, end - 1, label). One list is for all examples, or each example has its own.
/// `y = sum over the spans s of scores[s.begin, s.end - 1, s.label]`
/// Shapes: {words,words,labels} -> {1}. Several lists beside scores of one example make a batch.
/// Errors: ShapeError for other shapes; ValueError for an empty list or another number of lists
///   than examples; IndexError for a span that does not exist.
template <int = 0>
Expression spans_score(const Expression& scores, const std::vector<LabelledSpan>& spans,
                       Where where = Where::here());
template <int = 0>
Expression spans_score(const Expression& scores,
                       const std::vector<std::vector<LabelledSpan>>& spans,
                       Where where = Where::here());

}  // namespace dynet
