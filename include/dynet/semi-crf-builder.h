#pragma once

// A semi-Markov conditional random field (Sarawagi and Cohen, 2004) as a builder: it divides a
// sequence into segments with labels, such as names and the words between them.
//
//   builder.new_graph(cg);                                     once for each graph
//   scores = builder.segment_scores(emissions);                or scores of the program's own
//   loss = builder.neg_log_likelihood(scores, segments);       of the right segments
//   best = builder.viterbi(scores);                            best.segments, best.score
//
// `scores` {labels,steps,max_length}: element (y, i, d) is for the segment of d + 1 steps that
// begins at step i and has label y; segments that would leave the sequence do not count. The
// builder adds scores for the labels of neighbouring segments, for the first and for the last one.
// Segments are a list of LabelledSpan that covers the sequence from left to right. Example: over 4
// steps the segments (0, 0, 1), (2, 1, 4) have label 0 at step 0 and label 2 at steps 1 to 3. In a
// batch {labels,steps,max_length}xb of padded sequences each list ends with its sequence. A score
// of -inf forbids a segment. Errors: StateError before new_graph, GraphError if `scores` is a node
// of another graph, ShapeError for another shape, IndexError for a label that does not exist and
// for a length of 0 or of too many steps, ValueError for lists of segments that do not fit and for
// another number of lengths than examples.
//
// A loss adds about 8 nodes for each step. Sequences of one length merge.

#include <array>
#include <vector>

#include "dynet/builder-parameters.h"
#include "dynet/labelled-span.h"

namespace dynet {

/// The best segments of a sequence, and the sum of their scores.
struct ScoredSegments {
  std::vector<LabelledSpan> segments;
  float score = 0.0F;
};

/// A semi-Markov conditional random field (Sarawagi and Cohen, 2004): it divides a sequence into
/// segments (label, begin, end) of at most `max_length` steps. Scores {labels,steps,max_length}:
/// element (y, i, d) is for the segment of d + 1 steps that begins at step i and has label y; a
/// score of -inf forbids the segment.
///
/// Parameters, in the collection `semi-crf-builder`, all 0: transitions {labels,labels}, element
/// (i, j) for a segment of label i behind one of label j, start {labels}, end {labels}.
///
/// C++: Copies of a builder share the parameters. Thread rule: one thread at a time, like its
/// graph.
class SemiCRFBuilder {
 public:
  SemiCRFBuilder() = default;
  /// Segments have 1 to `max_length` steps. ValueError if there is no label or no length.
  explicit SemiCRFBuilder(unsigned labels, unsigned max_length, ParameterCollection& model);

  /// Uses the parameters in a graph: once for each. Without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first use in a graph does it.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Scores of segments as sums of scores of their steps.
  /// Shapes: {labels,steps} -> {labels,steps,max_length}.
  Expression segment_scores(const Expression& emissions, Where where = Where::here());
  /// -ln p(segments | scores). A list that ends before the last step has a shorter sequence.
  /// Shapes: {labels,steps,max_length} -> {1}.
  Expression neg_log_likelihood(const Expression& scores, const std::vector<LabelledSpan>& segments,
                                Where where = Where::here());
  /// The losses of a batch: list e belongs to example e.
  /// Shapes: {labels,steps,max_length}xb -> {1}xb.
  Expression neg_log_likelihood(const Expression& scores,
                                const std::vector<std::vector<LabelledSpan>>& segments,
                                Where where = Where::here());
  /// The best segments, computed at once in double on the host. Of equally good ones the result has
  /// the shortest last segment, then the lowest label, and so on to the front. NumericError for
  /// scores of NaN or inf, and if no segments are allowed.
  /// Shapes: {labels,steps,max_length}, no batch.
  ScoredSegments viterbi(const Expression& scores, Where where = Where::here());
  /// The best segments of a batch, whose sequences have these lengths.
  std::vector<ScoredSegments> viterbi(const Expression& scores,
                                      const std::vector<unsigned>& lengths,
                                      Where where = Where::here());

  /// Uses the parameters of `other` from the next graph on. ValueError for other sizes.
  void copy(const SemiCRFBuilder& other);
  /// The collection of the builder's parameters.
  ParameterCollection& get_parameter_collection() { return parameters_.collection; }
  [[nodiscard]] unsigned labels() const { return labels_; }
  [[nodiscard]] unsigned max_length() const { return max_length_; }
  [[nodiscard]] const std::vector<Parameter>& params() const { return parameters_.params; }

 private:
  void check_scores(const char* call, const Expression& scores, Where where) const;
  void check_segments(const Dim& scores, const std::vector<LabelledSpan>& segments) const;
  Expression loss(const Expression& scores, const std::vector<std::vector<LabelledSpan>>& segments,
                  Where where);
  [[nodiscard]] Expression log_partition(const Expression& scores,
                                         const std::vector<unsigned>& lengths, Where where) const;
  [[nodiscard]] Expression score(const Expression& scores,
                                 const std::vector<std::vector<LabelledSpan>>& segments,
                                 Where where) const;
  [[nodiscard]] std::vector<ScoredSegments> best_of_all(const Expression& scores,
                                                        const std::vector<unsigned>& lengths,
                                                        Where where) const;

  unsigned labels_ = 0;
  unsigned max_length_ = 0;
  detail::BuilderParameters parameters_;
};

}  // namespace dynet
