#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dynet/crf-builder.h"
#include "dynet/except.h"

#include "api/lengths.h"
#include "builders/columns.h"
#include "builders/sentence_scores.h"

namespace dynet {

namespace {
enum { kTransitions, kStart, kEnd };
constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<unsigned> lengths_of(const std::vector<std::vector<unsigned>>& lists) {
  std::vector<unsigned> lengths;
  lengths.reserve(lists.size());
  for (const auto& list : lists) {
    lengths.push_back(static_cast<unsigned>(list.size()));
  }
  return lengths;
}
}  // namespace

CRFBuilder::CRFBuilder(unsigned tags, ParameterCollection& model) : tags_(tags) {
  if (tags == 0) {
    throw errors::ValueError("CRFBuilder: 0 tags; want at least 1");
  }
  const ParameterInitConst zero(0.0F);
  parameters_ = detail::BuilderParameters("CRFBuilder", "crf-builder", model);
  parameters_.add({tags, tags}, "transitions", zero);
  parameters_.add({tags}, "start", zero);
  parameters_.add({tags}, "end", zero);
}

// ---- constraints

void CRFBuilder::check_tag(const char* call, unsigned tag) const {
  if (tag >= tags_) {
    throw errors::IndexError(std::string("CRFBuilder: ") + call + ": tag " + std::to_string(tag) +
                             " of " + std::to_string(tags_));
  }
}

void CRFBuilder::forbid(unsigned from, unsigned to) {
  check_tag("forbid", from);
  check_tag("forbid", to);
  masks_[kTransitions].resize(std::size_t{tags_} * tags_, 0.0F);
  masks_[kTransitions][(std::size_t{from} * tags_) + to] = kNever;
}

void CRFBuilder::forbid_start(unsigned tag) {
  check_tag("forbid_start", tag);
  masks_[kStart].resize(tags_, 0.0F);
  masks_[kStart][tag] = kNever;
}

void CRFBuilder::forbid_end(unsigned tag) {
  check_tag("forbid_end", tag);
  masks_[kEnd].resize(tags_, 0.0F);
  masks_[kEnd][tag] = kNever;
}

void CRFBuilder::check_allowed(const Expression& scores, const std::vector<unsigned>& tags) const {
  const auto fail = [&](const std::string& what) {
    throw errors::ValueError("CRFBuilder: neg_log_likelihood: scores are " +
                             to_string(scores.dim()) + ", and " + what + " is forbidden");
  };
  for (const unsigned tag : tags) {
    check_tag("neg_log_likelihood", tag);
  }
  if (is_forbidden(masks_in_graph_[kStart], tags.front())) {
    fail("to begin with tag " + std::to_string(tags.front()));
  }
  if (is_forbidden(masks_in_graph_[kEnd], tags.back())) {
    fail("to end with tag " + std::to_string(tags.back()));
  }
  for (std::size_t k = 1; k < tags.size(); ++k) {
    if (is_forbidden(masks_in_graph_[kTransitions], (std::size_t{tags[k - 1]} * tags_) + tags[k])) {
      fail("to go from tag " + std::to_string(tags[k - 1]) + " to tag " + std::to_string(tags[k]) +
           " (step " + std::to_string(k) + ")");
    }
  }
}

// ---- graphs

void CRFBuilder::new_graph(ComputationGraph& cg, bool update) {
  detail::with_typed_allocation([&] {
    std::array<std::vector<float>, 3> masks = masks_;
    parameters_.new_graph(cg, update);
    parameters_.graph = nullptr;  // until the scores are there too
    std::array<Expression, 3> scores;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = parameters_[i];
      if (!masks[i].empty()) {
        const Parameter& p = parameters_.params[i];
        scores[i] = detail::Located(scores[i], Where()) +
                    input({cg, Where()}, p.dim(), masks[i], p.p->device);
      }
    }
    masks_in_graph_ = std::move(masks);
    scores_ = scores;
    parameters_.graph = &cg;
  });
}

void CRFBuilder::check_scores(const char* call, const Expression& scores, Where where) const {
  parameters_.check(call, {scores}, where);
  const Dim& d = scores.dim();
  if (d.nd > 2 || d.rows() != tags_ || d.cols() == 0) {
    throw errors::ShapeError(parameters_.at(call) + "scores are " + to_string(d) + "; want {" +
                             std::to_string(tags_) + ",steps} with a step at least");
  }
}

Expression CRFBuilder::loss(const Expression& scores,
                            const std::vector<std::vector<unsigned>>& tags, Where where) {
  check_scores("neg_log_likelihood", scores, where);
  const Dim& d = scores.dim();
  if (tags.size() != d.bd) {
    throw errors::ValueError("CRFBuilder: neg_log_likelihood: scores are " + to_string(d) +
                             " and there are " + std::to_string(tags.size()) +
                             " lists of tags; want one for each example");
  }
  bool all_steps = true;
  for (const auto& list : tags) {
    if (list.empty() || list.size() > d.cols()) {
      throw errors::ValueError("CRFBuilder: neg_log_likelihood: scores are " + to_string(d) +
                               " and a list has " + std::to_string(list.size()) +
                               " tags; want 1 to " + std::to_string(d.cols()));
    }
    all_steps = all_steps && list.size() == d.cols();
    check_allowed(scores, list);
  }
  const std::vector<unsigned> lengths = all_steps ? std::vector<unsigned>() : lengths_of(tags);
  const Expression all = crf_log_partition(scores, scores_[kTransitions], scores_[kStart],
                                           scores_[kEnd], lengths, where);
  const Expression given =
      crf_score(scores, scores_[kTransitions], tags, scores_[kStart], scores_[kEnd], where);
  return detail::Located(all, where) - given;
}

Expression CRFBuilder::neg_log_likelihood(const Expression& scores,
                                          const std::vector<unsigned>& tags, Where where) {
  return detail::with_typed_allocation([&] { return loss(scores, {tags}, where); });
}

Expression CRFBuilder::neg_log_likelihood(const Expression& scores,
                                          const std::vector<std::vector<unsigned>>& tags,
                                          Where where) {
  return detail::with_typed_allocation([&] { return loss(scores, tags, where); });
}

std::array<Expression, 2> CRFBuilder::best_path(const Expression& scores,
                                                const std::vector<unsigned>& lengths, Where where) {
  return detail::with_typed_allocation([&] {
    check_scores("viterbi", scores, where);
    api::check_lengths(parameters_.at("viterbi"), scores.dim(), scores.dim().cols(), lengths);
    return crf_viterbi(scores, scores_[kTransitions], scores_[kStart], scores_[kEnd], lengths,
                       where);
  });
}

ScoredTags CRFBuilder::viterbi(const Expression& scores, Where where) {
  check_scores("viterbi", scores, where);
  return detail::with_typed_allocation([&] {
    builders::check_one_example("CRFBuilder: viterbi: ", scores.dim());
    return viterbi(scores, {scores.dim().cols()}, where)[0];
  });
}

std::vector<ScoredTags> CRFBuilder::viterbi(const Expression& scores,
                                            const std::vector<unsigned>& lengths, Where where) {
  return detail::with_typed_allocation(
      [&] { return computed(best_path(scores, lengths, where), scores, lengths); });
}

std::vector<ScoredTags> CRFBuilder::computed(const std::array<Expression, 2>& best_tags,
                                             const Expression& scores,
                                             const std::vector<unsigned>& lengths) {
  const auto& [tags, score] = best_tags;
  const Dim d = scores.dim();
  const std::vector<float> best = as_vector(score.value());
  const std::vector<float> numbers = as_vector(tags.value());
  std::vector<ScoredTags> all(d.bd);
  for (std::size_t e = 0; e < all.size(); ++e) {
    if (std::isnan(best[e]) || (std::isinf(best[e]) && best[e] < 0.0F)) {
      throw errors::NumericError("CRFBuilder: viterbi: scores are " + to_string(d) + ", and " +
                                 (std::isnan(best[e]) ? "the best sequence" : "each sequence") +
                                 " of example " + std::to_string(e) + " has a score of " +
                                 (std::isnan(best[e]) ? "NaN" : "-inf"));
    }
    all[e].score = best[e];
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(e * d.cols());
    all[e].tags.assign(begin, begin + (lengths.empty() ? d.cols() : lengths[e]));
  }
  return all;
}

void CRFBuilder::copy(const CRFBuilder& other) {
  parameters_.share(other.parameters_);
  masks_ = other.masks_;
}

}  // namespace dynet
