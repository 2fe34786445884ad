#pragma once

// A conditional random field over the tags of a sequence (Lafferty et al., 2001) as a builder:
//
//   builder.new_graph(cg);                                once for each graph
//   loss = builder.neg_log_likelihood(scores, tags);      of the right tags
//   best = builder.viterbi(scores);                       best.tags, best.score
//   more = builder.n_best(scores, 5);                     the five best
//   how_sure = builder.marginals(scores);                 of each tag at each step
//
// `scores` {tags,steps} has a score for each tag at each step; the builder adds scores for each
// pair of neighbouring tags, for the first and for the last tag. Example: with 3 tags and 4 steps
// the tags 0, 0, 2, 1 add the transitions (0, 0), (2, 0), (1, 2). In a batch {tags,steps}xb of
// padded sequences a list of tags is as long as its sequence. Errors: StateError before new_graph,
// GraphError if `scores` is a node of another graph, ShapeError for another shape, IndexError for a
// tag that does not exist and for a length of 0 or of too many steps, ValueError for lists of tags
// that do not fit and for another number of lengths than examples.
//
// Sequences of one length merge, also if they are nodes of their own (dynet/expr/chains.h); the
// nodes of the scores merge as always.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "dynet/builder-parameters.h"

namespace dynet {

/// The best tags of a sequence, and the sum of their scores.
struct ScoredTags {
  std::vector<unsigned> tags;
  float score = 0.0F;
};

/// A conditional random field over the tags of a sequence (Lafferty et al., 2001). Scores
/// {tags,steps} say how well each tag fits each step; the parameters, how well each tag follows
/// another, and stands first and last.
///
/// Parameters, in the collection `crf-builder`, all 0: transitions {tags,tags}, element (i, j) for
/// the step from tag j to tag i, start {tags}, end {tags}.
///
/// C++: Copies of a builder share the parameters. Thread rule: one thread at a time, like its
/// graph.
class CRFBuilder {
 public:
  CRFBuilder() = default;
  /// ValueError if there is no tag.
  explicit CRFBuilder(unsigned tags, ParameterCollection& model);

  /// No sequence may go from tag `from` to tag `to`: its score is -inf, and the loss of such tags
  /// is a ValueError. It holds from the next graph on, and is not part of model files. IndexError
  /// for a tag that does not exist.
  void forbid(unsigned from, unsigned to);
  /// No sequence may begin with this tag; as forbid().
  void forbid_start(unsigned tag);
  /// No sequence may end with this tag; as forbid().
  void forbid_end(unsigned tag);
  /// Forbids all that names of tags in BIO or BIOES exclude: tags[i] is the name of tag i, "O", or
  /// B, I, E or S with '-' and a type, such as "B-PER". I and E go on with a span of their type
  /// that B or I began, and no other tag does; if there are E and S, each span ends with one of
  /// them. ValueError for another number of names, other names, and a name that stands twice; then
  /// nothing is forbidden.
  void forbid_bio(const std::vector<std::string>& tags);

  /// Uses the parameters in a graph: once for each. Without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first use in a graph does it.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// -ln p(tags | scores). A list shorter than the steps has the tags of the first steps.
  /// Shapes: {tags,steps} -> {1}.
  Expression neg_log_likelihood(const Expression& scores, const std::vector<unsigned>& tags,
                                Where where = Where::here());
  /// The losses of a batch: list e belongs to example e, and is as long as its sequence.
  /// Shapes: {tags,steps}xb -> {1}xb.
  Expression neg_log_likelihood(const Expression& scores,
                                const std::vector<std::vector<unsigned>>& tags,
                                Where where = Where::here());
  /// The best tags, computed at once. NumericError if no sequence is allowed, and if the best score
  /// is NaN.
  /// Shapes: {tags,steps}, no batch.
  ScoredTags viterbi(const Expression& scores, Where where = Where::here());
  /// The best tags of a batch, whose sequences have these lengths.
  std::vector<ScoredTags> viterbi(const Expression& scores, const std::vector<unsigned>& lengths,
                                  Where where = Where::here());
  /// The n best sequences of tags, best first, computed at once in double on the host; fewer if
  /// fewer are allowed. Of equally good sequences the first is first, as for crf_viterbi.
  /// ValueError if n is 0, NumericError for scores of NaN or inf, and if no sequence is allowed.
  /// Shapes: {tags,steps}, no batch.
  std::vector<ScoredTags> n_best(const Expression& scores, unsigned n, Where where = Where::here());
  /// The n best sequences of each example of a batch, whose sequences have these lengths.
  std::vector<std::vector<ScoredTags>> n_best(const Expression& scores, unsigned n,
                                              const std::vector<unsigned>& lengths,
                                              Where where = Where::here());
  /// The probability of each tag at each step, {tags,steps}xb in memory order, computed at once in
  /// double on the host; 0 after the end of a sequence. Errors as for n_best.
  std::vector<float> marginals(const Expression& scores, const std::vector<unsigned>& lengths = {},
                               Where where = Where::here());
  /// Nodes of the best tags, as numbers, and of their score: for programs that ask for several
  /// sequences together. After the end of a sequence tags are 0.
  /// Shapes: {tags,steps}xb -> {steps}xb, {1}xb.
  std::array<Expression, 2> best_path(const Expression& scores,
                                      const std::vector<unsigned>& lengths = {},
                                      Where where = Where::here());

  /// Uses the parameters and the constraints of `other` from the next graph on. ValueError for
  /// another number of tags.
  void copy(const CRFBuilder& other);
  /// The collection of the builder's parameters.
  ParameterCollection& get_parameter_collection() { return parameters_.collection; }
  [[nodiscard]] unsigned tags() const { return tags_; }
  [[nodiscard]] const std::vector<Parameter>& params() const { return parameters_.params; }

 private:
  /// The numbers that a search on the host reads.
  struct Numbers;
  [[nodiscard]] Numbers numbers_of(const char* call, const Expression& scores,
                                   const std::vector<unsigned>& lengths, Where where) const;
  void check_tag(const char* call, unsigned tag) const;
  void check_scores(const char* call, const Expression& scores, Where where) const;
  void check_allowed(const Expression& scores, const std::vector<unsigned>& tags) const;
  Expression loss(const Expression& scores, const std::vector<std::vector<unsigned>>& tags,
                  Where where);
  static std::vector<ScoredTags> computed(const std::array<Expression, 2>& best_tags,
                                          const Expression& scores,
                                          const std::vector<unsigned>& lengths);
  [[nodiscard]] bool is_forbidden(const std::vector<float>& mask, std::size_t i) const {
    return !mask.empty() && mask[i] != 0.0F;
  }

  unsigned tags_ = 0;
  detail::BuilderParameters parameters_;
  /// Numbers added to transitions, start and end: -inf if forbidden. Empty: none is forbidden.
  std::array<std::vector<float>, 3> masks_;
  std::array<std::vector<float>, 3> masks_in_graph_;  ///< the masks at the last new_graph
  std::array<Expression, 3> scores_;                  ///< the parameters' nodes with their masks
};

}  // namespace dynet
