#include <algorithm>
#include <string>

#include "dynet/adaptive-softmax.h"
#include "dynet/except.h"

#include "builders/softmax_support.h"
#include "util/number_text.h"

namespace dynet {

using detail::Choice;

namespace {

constexpr const char* kAdaptive = "AdaptiveSoftmaxBuilder";

void check_cutoffs(const std::vector<unsigned>& cutoffs, unsigned num_classes) {
  for (std::size_t i = 0; i < cutoffs.size(); ++i) {
    const unsigned before = i == 0 ? 0 : cutoffs[i - 1];
    if (cutoffs[i] <= before || cutoffs[i] >= num_classes) {
      throw errors::ValueError(std::string(kAdaptive) + ": cutoff " + std::to_string(i) + " is " +
                               std::to_string(cutoffs[i]) + "; want more than " +
                               std::to_string(before) + (i == 0 ? "" : ", the one before it,") +
                               " and less than " + std::to_string(num_classes) +
                               ", the number of classes");
    }
  }
  if (cutoffs.empty()) {
    throw errors::ValueError(std::string(kAdaptive) + ": there are no cutoffs; want at least one");
  }
}

/// Size of the vector from which a cluster's words are chosen.
unsigned projected(unsigned rep_dim, float div_value, std::size_t cluster) {
  double size = rep_dim;
  for (std::size_t i = 0; i <= cluster; ++i) {
    size /= static_cast<double>(div_value);
  }
  return std::max(1U, static_cast<unsigned>(size));
}

}  // namespace

AdaptiveSoftmaxBuilder::AdaptiveSoftmaxBuilder(unsigned rep_dim, unsigned num_classes,
                                               const std::vector<unsigned>& cutoffs,
                                               ParameterCollection& pc, float div_value, bool bias)
    : num_classes_(num_classes) {
  check_cutoffs(cutoffs, num_classes);
  if (!(div_value >= 1.0F)) {
    throw errors::ValueError(std::string(kAdaptive) + ": div_value is " + util::text_of(div_value) +
                             "; want 1 or more");
  }
  shortlist_ = cutoffs[0];
  local_model = pc.add_subcollection("adaptive-softmax-builder");
  const auto make = [&](unsigned outcomes, unsigned size, bool has_bias) {
    return Choice(Choice::Kind::kSoftmax, outcomes, size, has_bias, local_model);
  };
  const auto clusters = static_cast<unsigned>(cutoffs.size());
  head_ = make(shortlist_ + clusters, rep_dim, bias);
  for (std::size_t i = 0; i < clusters; ++i) {
    const unsigned end = i + 1 < clusters ? cutoffs[i + 1] : num_classes;
    const unsigned size = projected(rep_dim, div_value, i);
    const Choice projection = make(size, rep_dim, false);
    tails_.push_back({cutoffs[i], projection, make(end - cutoffs[i], size, bias)});
  }
}

unsigned AdaptiveSoftmaxBuilder::end_of(std::size_t tail) const {
  return tail + 1 < tails_.size() ? tails_[tail + 1].begin : num_classes_;
}

void AdaptiveSoftmaxBuilder::check_made(const char* call) const {
  if (num_classes_ == 0) {
    throw errors::StateError(std::string(kAdaptive) + ": " + call + " without parameters");
  }
}

void AdaptiveSoftmaxBuilder::check_words(const std::vector<unsigned>& words) const {
  builders::check_word_ids(kAdaptive, words, num_classes_);
}

Expression AdaptiveSoftmaxBuilder::losses(const Expression& rep, const std::vector<unsigned>& words,
                                          Where where) {
  outcomes_ = words;
  for (std::size_t i = 0; i < tails_.size(); ++i) {
    const auto entry = static_cast<unsigned>(shortlist_ + i);
    for (std::size_t e = 0; e < words.size(); ++e) {
      outcomes_[e] = words[e] >= tails_[i].begin ? entry : outcomes_[e];
    }
  }
  sums_.clear();
  sums_.add(head_.loss(in_, rep, outcomes_, signs_, where));
  for (std::size_t i = 0; i < tails_.size(); ++i) {
    members_.clear();
    outcomes_.clear();
    for (std::size_t e = 0; e < words.size(); ++e) {
      if (words[e] >= tails_[i].begin && words[e] < end_of(i)) {
        members_.push_back(static_cast<unsigned>(e));
        outcomes_.push_back(words[e] - tails_[i].begin);
      }
    }
    if (members_.empty()) {
      continue;
    }
    const bool all = members_.size() == words.size();
    const Expression x = all ? rep : pick_batch_elems(rep, members_, where);
    const Expression narrow = tails_[i].projection.scores(in_, x, where);
    const Expression loss = tails_[i].words.loss(in_, narrow, outcomes_, signs_, where);
    sums_.add(loss, members_, words.size());
  }
  return sums_.add_up(in_, rep, where);
}

unsigned AdaptiveSoftmaxBuilder::draw(const Expression& rep, Where where) {
  const unsigned top = head_.draw(in_, rep, where);
  if (top < shortlist_) {
    return top;
  }
  const Tail& tail = tails_[top - shortlist_];
  return tail.begin + tail.words.draw(in_, tail.projection.scores(in_, rep, where), where);
}

Expression AdaptiveSoftmaxBuilder::scores_of_all(const Expression& rep, Where where) {
  const Expression top = head_.log_probabilities(in_, rep, where);
  std::vector<Expression> parts{pick_range(top, 0, shortlist_, 0, where)};
  for (std::size_t i = 0; i < tails_.size(); ++i) {
    const auto entry = static_cast<unsigned>(shortlist_ + i);
    const Expression narrow = tails_[i].projection.scores(in_, rep, where);
    parts.push_back(detail::Located(tails_[i].words.log_probabilities(in_, narrow, where), where) +
                    pick_range(top, entry, entry + 1, 0, where));
  }
  return concatenate(parts, 0, where);
}

}  // namespace dynet
