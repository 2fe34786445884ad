#pragma once

// Sequences as chains: the linear-chain conditional random field, and the loss of connectionist
// temporal classification.
//
// Sequences of one length merge, and so do padded ones: a batch of n examples with `lengths` says
// how many steps of each example count, from 1 to all of them. Without `lengths` all steps do.
//
// The arguments of a CRF: emissions {tags,steps}; transitions {tags,tags}, element (i, j) for the
// step from tag j to tag i; start and end {tags}, the scores of the first and of the last tag, both
// or none.

#include <array>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// Logarithm of the partition function of a linear-chain CRF. The gradients are the marginals: how
/// probable each tag is at each step, and each pair of tags. The result is -inf, without a
/// gradient, if all sequences have a score of -inf. Element (i, j) of transitions is for the step
/// from tag j to tag i; start and end are both given or both absent; `lengths` has, for each
/// example of a padded batch, the number of steps that count.
/// `y = ln(sum over all sequences t of exp(start[t_0] + sum_k emissions[t_k,k] + sum_k
///   transitions[t_k,t_(k-1)] + end[t_last]))`
/// Shapes: {tags,steps}, {tags,tags}, {tags}, {tags} -> {1}.
/// Errors: ShapeError for other shapes, for no tag or no step, and for lengths beside more than
///   2^24 steps; ValueError for another number of lengths than examples, IndexError for a length
///   that is 0 or more than the steps.
/// Source: Lafferty et al., 2001.
template <int = 0>
Expression crf_log_partition(const Expression& emissions, const Expression& transitions,
                             const Expression& start = {}, const Expression& end = {},
                             const std::vector<unsigned>& lengths = {},
                             Where where = Where::here());

/// Score of a sequence of tags t in a linear-chain CRF: one for all examples, or a list for each.
/// A list with fewer tags than steps scores the first steps. The log-likelihood of the sequence is
/// its score minus crf_log_partition.
/// `y = start[t_0] + sum_k emissions[t_k,k] + sum_k transitions[t_k,t_(k-1)] + end[t_last]`
/// Shapes: {tags,steps}, {tags,tags}, {tags}, {tags} -> {1}. Several lists beside emissions of one
///   example make a batch.
/// Errors: ShapeError for other shapes, for no tag or no step, and for more tags than steps;
///   ValueError for an empty list or another number of lists than examples, IndexError for a tag
///   that does not exist.
/// Source: Lafferty et al., 2001.
template <int = 0>
Expression crf_score(const Expression& emissions, const Expression& transitions,
                     const std::vector<unsigned>& tags, const Expression& start = {},
                     const Expression& end = {}, Where where = Where::here());
template <int = 0>
Expression crf_score(const Expression& emissions, const Expression& transitions,
                     const std::vector<std::vector<unsigned>>& tags, const Expression& start = {},
                     const Expression& end = {}, Where where = Where::here());

/// The best sequence of tags of a linear-chain CRF, as numbers through which no gradient flows, and
/// its score, with the gradient of crf_score. Of equally good sequences the result has the first
/// tag at the last step, then at the step before, and so on; NaN counts as the largest. At steps
/// after the end of a sequence the tag is 0.
/// `t = the tags with the largest y = start[t_0] + sum_k emissions[t_k,k] + sum_k
///   transitions[t_k,t_(k-1)] + end[t_last]`
/// Shapes: {tags,steps}, {tags,tags}, {tags}, {tags} -> {steps}, {1}.
/// Results: t and y.
/// Errors: ShapeError for other shapes, for no tag or no step, for more than 2^24 tags, and for
///   lengths beside more than 2^24 steps; ValueError for another number of lengths than examples,
///   IndexError for a length that is 0 or more than the steps.
/// Source: Viterbi, 1967.
template <int = 0>
std::array<Expression, 2> crf_viterbi(const Expression& emissions, const Expression& transitions,
                                      const Expression& start = {}, const Expression& end = {},
                                      const std::vector<unsigned>& lengths = {},
                                      Where where = Where::here());

/// Loss of connectionist temporal classification: -ln of the probability that a sequence of classes
/// says these labels, once neighbours that are equal became one and blanks were left out. Takes
/// log-probabilities: `ctc_loss(log_softmax(x), labels)` for plain scores x {classes,steps}. One
/// list of labels is for all examples, or each example has its own; an empty list means blanks at
/// all steps. The loss is infinite, without a gradient, if there are too few steps for the labels:
/// each label needs a step, and equal neighbours a blank between them.
/// `y = -ln(sum of exp(sum_k log_probs[c_k,k]) over all classes c_k that say the labels)`
/// Shapes: {classes,steps} -> {1}. Several lists beside log_probs of one example make a batch.
/// Errors: ShapeError for other shapes, for no class or no step, if blank is no class, and for
///   lengths beside more than 2^24 steps; ValueError if a label is the blank, or for another number
///   of lists or lengths than examples; IndexError for a label that is no class, or a length that
///   is 0 or more than the steps.
/// Source: Graves et al., 2006.
template <int = 0>
Expression ctc_loss(const Expression& log_probs, const std::vector<unsigned>& labels,
                    const std::vector<unsigned>& lengths = {}, unsigned blank = 0,
                    Where where = Where::here());
template <int = 0>
Expression ctc_loss(const Expression& log_probs, const std::vector<std::vector<unsigned>>& labels,
                    const std::vector<unsigned>& lengths = {}, unsigned blank = 0,
                    Where where = Where::here());

}  // namespace dynet
