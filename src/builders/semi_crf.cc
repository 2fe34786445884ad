#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/except.h"
#include "dynet/semi-crf-builder.h"

#include "api/lengths.h"
#include "api/tree_nodes.h"
#include "builders/sentence_scores.h"
#include "graph/graph.h"

namespace dynet {

namespace {
using Segments = std::vector<LabelledSpan>;
enum { kSegmentTransitions, kSegmentStart, kSegmentEnd };
constexpr double kNoSegment = -std::numeric_limits<double>::infinity();
}  // namespace

SemiCRFBuilder::SemiCRFBuilder(unsigned labels, unsigned max_length, ParameterCollection& model)
    : labels_(labels), max_length_(max_length) {
  if (labels == 0 || max_length == 0) {
    throw errors::ValueError("SemiCRFBuilder: " + std::to_string(labels) +
                             " labels, and segments of at most " + std::to_string(max_length) +
                             " steps; want at least 1 of each");
  }
  const ParameterInitConst zero(0.0F);
  parameters_ = detail::BuilderParameters("SemiCRFBuilder", "semi-crf-builder", model);
  parameters_.add({labels, labels}, "transitions", zero);
  parameters_.add({labels}, "start", zero);
  parameters_.add({labels}, "end", zero);
}

void SemiCRFBuilder::new_graph(ComputationGraph& cg, bool update) {
  detail::with_typed_allocation([&] { parameters_.new_graph(cg, update); });
}

void SemiCRFBuilder::copy(const SemiCRFBuilder& other) {
  if (other.max_length_ != max_length_) {
    throw errors::ValueError("SemiCRFBuilder: copy: segments have at most " +
                             std::to_string(max_length_) + " steps, and the other builder's " +
                             std::to_string(other.max_length_));
  }
  parameters_.share(other.parameters_);
}

// ---- checks

void SemiCRFBuilder::check_scores(const char* call, const Expression& scores, Where where) const {
  parameters_.check(call, {scores}, where);
  const Dim& d = scores.dim();
  if (d.nd > 3 || d.rows() != labels_ || d.cols() == 0 || d[2] != max_length_) {
    throw errors::ShapeError(parameters_.at(call) + "scores are " + to_string(d) + "; want {" +
                             std::to_string(labels_) + ",steps," + std::to_string(max_length_) +
                             "} with a step at least");
  }
}

void SemiCRFBuilder::check_segments(const Dim& scores, const Segments& segments) const {
  const auto fail = [&](const std::string& text) {
    throw errors::ValueError("SemiCRFBuilder: neg_log_likelihood: scores are " + to_string(scores) +
                             ", and " + text);
  };
  if (segments.empty()) {
    fail("a list of segments is empty; want segments from step 0 on");
  }
  unsigned end = 0;
  for (const LabelledSpan& s : segments) {
    const std::string name = "segment (label " + std::to_string(s.label) + ", begin " +
                             std::to_string(s.begin) + ", end " + std::to_string(s.end) + ")";
    if (s.label >= labels_) {
      throw errors::IndexError("SemiCRFBuilder: neg_log_likelihood: label " +
                               std::to_string(s.label) + " of " + std::to_string(labels_));
    }
    if (s.begin != end) {
      fail(name + " does not begin at step " + std::to_string(end));
    }
    if (s.end <= s.begin || s.end - s.begin > max_length_ || s.end > scores.cols()) {
      fail(name + " is not 1 to " + std::to_string(max_length_) + " of the " +
           std::to_string(scores.cols()) + " steps");
    }
    end = s.end;
  }
}

// ---- scores and losses

Expression SemiCRFBuilder::segment_scores(const Expression& emissions, Where where) {
  return detail::with_typed_allocation([&] {
    parameters_.check("segment_scores", {emissions}, where);
    const Dim& d = emissions.dim();
    if (d.nd > 2 || d.rows() != labels_ || d.cols() == 0) {
      throw errors::ShapeError(parameters_.at("segment_scores") + "emissions are " + to_string(d) +
                               "; want {" + std::to_string(labels_) +
                               ",steps} with a step at least");
    }
    const unsigned steps = d.cols();
    const api::Building b(emissions, where);
    std::vector<Expression> all{reshape(emissions, Dim({labels_, steps, 1}, d.bd), where)};
    for (unsigned length = 1; length < max_length_; ++length) {
      // The segments with one step more; behind the end stay the sums of the steps that there are.
      if (length >= steps) {
        all.push_back(all.back());
        continue;
      }
      const Expression more =
          b.joined(pick_range(emissions, length, steps, 1, where),
                   constant({*emissions.pg, where}, Dim({labels_, length}, d.bd), 0.0F,
                            api::device_of(emissions)),
                   1);
      all.push_back(b.add(all.back(), reshape(more, Dim({labels_, steps, 1}, d.bd), where)));
    }
    return concatenate(all, 2, where);
  });
}

namespace {
/// The scores, with 0 for segments that end behind their sentence: such numbers may be NaN.
Expression segments_that_count(const api::Building& b, const Expression& scores,
                               const std::vector<unsigned>& lengths) {
  const Dim d = scores.dim();
  const unsigned steps = d.cols();
  if (std::all_of(lengths.begin(), lengths.end(), [&](unsigned n) { return n == steps; })) {
    return scores;
  }
  std::vector<float> stays;  // {1,steps,max_length}: the labels are alike
  for (const unsigned n : lengths) {
    for (unsigned length = 1; length <= d[2]; ++length) {
      for (unsigned begin = 0; begin < steps; ++begin) {
        stays.push_back(begin + length <= n ? 1.0F : 0.0F);
      }
    }
  }
  return b.chosen(b.numbers(Dim({1, steps, d[2]}, d.bd), stays), scores, b.nothing({1}));
}
}  // namespace

Expression SemiCRFBuilder::log_partition(const Expression& scores,
                                         const std::vector<unsigned>& lengths, Where where) const {
  const Dim d = scores.dim();
  const unsigned steps = d.cols();
  const api::Building b(scores, where);
  // A column for each begin and length, the begins of one length side by side.
  const Expression columns = reshape(segments_that_count(b, scores, lengths),
                                     Dim({labels_, steps * max_length_}, d.bd), where);
  // A column for each of the last places at which a segment may begin: sums over all that stands
  // before, for a segment of each label.
  Expression before = reshape(parameters_[kSegmentStart], {labels_, 1}, where);
  unsigned count = 1;
  std::vector<Expression> results(steps);
  for (unsigned end = 1; end <= steps; ++end) {
    std::vector<unsigned> segments;
    for (unsigned begin = end - count; begin < end; ++begin) {
      segments.push_back(begin + (steps * (end - 1 - begin)));
    }
    const Expression own = gather(columns, segments, count, 1, where);
    const Expression sums = b.log_sum(b.add(own, before), 1);
    if (std::find(lengths.begin(), lengths.end(), end) != lengths.end()) {
      results[end - 1] = b.log_sum(b.add(sums, parameters_[kSegmentEnd]), 0);
    }
    if (end == steps) {
      break;
    }
    const Expression from = reshape(sums, Dim({1, labels_}, sums.dim().bd), where);
    const Expression next = b.column(b.log_sum(b.add(parameters_[kSegmentTransitions], from), 1));
    if (max_length_ == 1) {
      before = next;
    } else {
      before = count < max_length_ ? before : pick_range(before, 1, count, 1, where);
      before = b.joined(before, next, 1);
      count = std::min(count + 1, max_length_);
    }
  }
  return b.by_length(results, lengths);
}

Expression SemiCRFBuilder::score(const Expression& scores, const std::vector<Segments>& segments,
                                 Where where) const {
  const api::Building b(scores, where);
  const unsigned steps = scores.dim().cols();
  std::vector<std::vector<unsigned>> own(segments.size());
  std::vector<std::vector<unsigned>> pairs(segments.size());
  std::vector<std::vector<unsigned>> firsts;
  std::vector<std::vector<unsigned>> lasts;
  for (std::size_t e = 0; e < segments.size(); ++e) {
    for (std::size_t k = 0; k < segments[e].size(); ++k) {
      const LabelledSpan& s = segments[e][k];
      own[e].push_back(s.label + (labels_ * (s.begin + (steps * (s.end - s.begin - 1)))));
      if (k > 0) {
        pairs[e].push_back(s.label + (labels_ * segments[e][k - 1].label));
      }
    }
    firsts.push_back({segments[e].front().label});
    lasts.push_back({segments[e].back().label});
  }
  const Expression ends = b.add(api::sum_of_places(parameters_[kSegmentStart], firsts, where),
                                api::sum_of_places(parameters_[kSegmentEnd], lasts, where));
  const Expression sum = b.add(api::sum_of_places(scores, own, where), ends);
  const bool has_pairs =
      std::any_of(pairs.begin(), pairs.end(), [](const auto& list) { return !list.empty(); });
  return has_pairs ? b.add(sum, api::sum_of_places(parameters_[kSegmentTransitions], pairs, where))
                   : sum;
}

Expression SemiCRFBuilder::loss(const Expression& scores, const std::vector<Segments>& segments,
                                Where where) {
  check_scores("neg_log_likelihood", scores, where);
  const Dim d = scores.dim();
  if (segments.size() != d.bd) {
    throw errors::ValueError("SemiCRFBuilder: neg_log_likelihood: scores are " + to_string(d) +
                             " and there are " + std::to_string(segments.size()) +
                             " lists of segments; want one for each example");
  }
  std::vector<unsigned> lengths;
  for (const Segments& list : segments) {
    check_segments(d, list);
    lengths.push_back(list.back().end);
  }
  return detail::Located(log_partition(scores, lengths, where), where) -
         score(scores, segments, where);
}

Expression SemiCRFBuilder::neg_log_likelihood(const Expression& scores, const Segments& segments,
                                              Where where) {
  return detail::with_typed_allocation([&] { return loss(scores, {segments}, where); });
}
Expression SemiCRFBuilder::neg_log_likelihood(const Expression& scores,
                                              const std::vector<Segments>& segments, Where where) {
  return detail::with_typed_allocation([&] { return loss(scores, segments, where); });
}

// ---- the best segments

namespace {
/// The scores of one sequence, and its best segments.
struct SegmentSearch {
  std::string at;
  Dim dim;
  std::size_t example, steps;
  const std::vector<double>&scores, &transitions, &start, &end;

  /// The best segments up to a step, of which the last one has some label.
  struct Best {
    double score = kNoSegment;
    std::size_t length = 0;
    std::size_t before = 0;  ///< the label of the segment before
  };

  [[nodiscard]] double own(std::size_t label, std::size_t begin, std::size_t length) const {
    const std::size_t labels = dim.rows();
    const double score =
        scores[label + (labels * (begin + (dim.cols() * (length - 1 + (example * dim[2])))))];
    builders::check_score(at, score, [&] {
      return "label " + std::to_string(label) + " for steps " + std::to_string(begin) + " to " +
             std::to_string(begin + length - 1) + " in " + builders::example_of(dim, example);
    });
    return score;
  }
  [[nodiscard]] ScoredSegments best() const {
    const std::size_t labels = dim.rows();
    std::vector<std::vector<Best>> table(steps + 1, std::vector<Best>(labels));
    std::vector<std::vector<Best>> begins(steps, std::vector<Best>(labels));
    for (std::size_t label = 0; label < labels; ++label) {
      begins[0][label].score = start[label];
    }
    for (std::size_t stop = 1; stop <= steps; ++stop) {
      for (std::size_t label = 0; label < labels; ++label) {
        Best& best = table[stop][label];
        for (std::size_t length = 1; length <= std::min<std::size_t>(stop, dim[2]); ++length) {
          const Best& before = begins[stop - length][label];
          const double sum = before.score + own(label, stop - length, length);
          if (sum > best.score) {
            best = {sum, length, before.before};
          }
        }
      }
      for (std::size_t next = 0; stop < steps && next < labels; ++next) {
        Best& best = begins[stop][next];
        for (std::size_t label = 0; label < labels; ++label) {
          const double sum = table[stop][label].score + transitions[(label * labels) + next];
          if (sum > best.score) {
            best = {sum, 0, label};
          }
        }
      }
    }
    return traced(table);
  }
  [[nodiscard]] ScoredSegments traced(const std::vector<std::vector<Best>>& table) const {
    double most = kNoSegment;
    std::size_t label = 0;
    for (std::size_t last = 0; last < dim.rows(); ++last) {
      const double sum = table[steps][last].score + end[last];
      if (sum > most) {
        most = sum;
        label = last;
      }
    }
    ScoredSegments found{{}, static_cast<float>(most)};
    for (std::size_t stop = steps; most != kNoSegment && stop > 0;) {
      const Best& best = table[stop][label];
      found.segments.push_back({static_cast<unsigned>(label),
                                static_cast<unsigned>(stop - best.length),
                                static_cast<unsigned>(stop)});
      stop -= best.length;
      label = best.before;
    }
    std::reverse(found.segments.begin(), found.segments.end());
    return found;
  }
};
}  // namespace

std::vector<ScoredSegments> SemiCRFBuilder::best_of_all(const Expression& scores,
                                                        const std::vector<unsigned>& lengths,
                                                        Where where) const {
  check_scores("viterbi", scores, where);
  const std::string at = parameters_.at("viterbi");
  const Dim d = scores.dim();
  const std::vector<unsigned> steps = api::checked_lengths(at, d, d.cols(), lengths);
  const std::vector<double> numbers = as_double_vector(scores.value());
  std::vector<double> parameters[3];
  for (std::size_t i = 0; i < 3; ++i) {
    parameters[i] = as_double_vector(parameters_[i].value());
    for (const double score : parameters[i]) {
      builders::check_score(at, score, [] { return std::string("a transition, start or end"); });
    }
  }
  std::vector<ScoredSegments> all;
  for (std::size_t e = 0; e < steps.size(); ++e) {
    all.push_back(SegmentSearch{at, d, e, steps[e], numbers, parameters[kSegmentTransitions],
                                parameters[kSegmentStart], parameters[kSegmentEnd]}
                      .best());
    if (all.back().segments.empty()) {
      throw errors::NumericError(at + "scores are " + builders::example_of(d, e) +
                                 ", and all segments have a score of -inf");
    }
  }
  return all;
}

std::vector<ScoredSegments> SemiCRFBuilder::viterbi(const Expression& scores,
                                                    const std::vector<unsigned>& lengths,
                                                    Where where) {
  return detail::with_typed_allocation([&] { return best_of_all(scores, lengths, where); });
}
ScoredSegments SemiCRFBuilder::viterbi(const Expression& scores, Where where) {
  return detail::with_typed_allocation([&] {
    check_scores("viterbi", scores, where);
    builders::check_one_example(parameters_.at("viterbi"), scores.dim());
    return best_of_all(scores, {}, where)[0];
  });
}

}  // namespace dynet
