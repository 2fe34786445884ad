#include <algorithm>
#include <cmath>
#include <string>

#include "dynet/except.h"
#include "dynet/sampled-softmax.h"

#include "builders/softmax_support.h"
#include "util/number_text.h"

namespace dynet {

namespace {

constexpr const char* kSampled = "SampledSoftmaxBuilder";
constexpr const char* kNoise = "NoiseDistribution";
/// Added to the score of a draw that does not count, to make its exponential 0.
constexpr float kNoDraw = -1e30F;
/// The largest probability with a finite ln(1 - p) in float.
constexpr float kMostLikely = 1.0F - 0x1p-20F;

}  // namespace

// ---- noise

NoiseDistribution::NoiseDistribution(const std::vector<double>& counts, double alpha) {
  if (!(alpha >= 0.0 && alpha <= 1.0)) {
    throw errors::ValueError(std::string(kNoise) + ": alpha is " + util::text_of(alpha) +
                             "; want 0 to 1");
  }
  if (counts.empty()) {
    throw errors::ValueError(std::string(kNoise) + ": there are no counts; want one for each word");
  }
  double all = 0.0;
  for (std::size_t word = 0; word < counts.size(); ++word) {
    if (!(counts[word] > 0.0 && std::isfinite(counts[word]))) {
      throw errors::ValueError(std::string(kNoise) + ": the count of word " + std::to_string(word) +
                               " is " + std::to_string(counts[word]) +
                               "; want a number above 0 (1 for words that never occurred)");
    }
    all += std::pow(counts[word], alpha);
  }
  // Vose's method: columns above the average fill up columns below it.
  const std::size_t n = counts.size();
  std::vector<double> heights;
  std::vector<unsigned> low;
  std::vector<unsigned> high;
  for (std::size_t word = 0; word < n; ++word) {
    const double p = std::pow(counts[word], alpha) / all;
    log_p_.push_back(std::log(p));
    heights.push_back(p * static_cast<double>(n));
    (heights.back() < 1.0 ? low : high).push_back(static_cast<unsigned>(word));
  }
  columns_.resize(n);
  while (!low.empty() && !high.empty()) {
    const unsigned from = high.back();
    columns_[low.back()] = {heights[low.back()], from};
    heights[from] -= 1.0 - heights[low.back()];
    low.pop_back();
    if (heights[from] < 1.0) {
      high.pop_back();
      low.push_back(from);
    }
  }  // the remaining columns are full up to rounding
}

double NoiseDistribution::log_probability(unsigned word) const {
  if (word >= log_p_.size()) {
    throw errors::IndexError(std::string(kNoise) + ": word " + std::to_string(word) + " of " +
                             std::to_string(log_p_.size()));
  }
  return log_p_[word];
}

unsigned NoiseDistribution::sample() const {
  if (columns_.empty()) {
    throw errors::StateError(std::string(kNoise) + ": sample without words");
  }
  const auto at = static_cast<unsigned>(rand0n(static_cast<int>(columns_.size())));
  return static_cast<double>(rand01()) < columns_[at].own ? at : columns_[at].alias;
}

// ---- the builder

SampledSoftmaxBuilder::SampledSoftmaxBuilder(unsigned rep_dim, const NoiseDistribution& noise,
                                             unsigned samples, SampledLoss loss,
                                             ParameterCollection& pc, bool bias)
    : noise_(noise), loss_(loss), rep_dim_(rep_dim), samples_(samples) {
  if (samples == 0 || noise.size() == 0) {
    throw errors::ValueError(std::string(kSampled) + ": " + std::to_string(samples) +
                             " noise words of " + std::to_string(noise.size()) +
                             "; want at least one of one");
  }
  local_model = pc.add_subcollection("sampled-softmax-builder");
  p_w_ = local_model.add_lookup_parameters(noise.size(), {rep_dim});
  if (bias) {
    p_b_ = local_model.add_lookup_parameters(noise.size(), {1}, ParameterInitConst(0.0F));
  }
}

bool SampledSoftmaxBuilder::Nodes::fit(const detail::InGraph& in) const {
  return w.pg == in.graph && updated == in.update && !w.is_stale();
}

void SampledSoftmaxBuilder::check_made(const char* call) const {
  if (samples_ == 0) {
    throw errors::StateError(std::string(kSampled) + ": " + call + " without parameters");
  }
}

void SampledSoftmaxBuilder::check_words(const std::vector<unsigned>& words) const {
  builders::check_word_ids(kSampled, words, noise_.size());
}

Expression SampledSoftmaxBuilder::rows(const LookupParameter& table,
                                       const std::vector<unsigned>& words, Where where) const {
  const detail::LocatedGraph graph(*in_.graph, where);
  return in_.update ? lookup(graph, table, words) : const_lookup(graph, table, words);
}

/// `numbers_` as a constant of the graph.
Expression SampledSoftmaxBuilder::numbers(const Dim& shape, Where where) const {
  return input({*in_.graph, where}, shape, numbers_, p_w_.p->device);
}

// ---- exact

void SampledSoftmaxBuilder::enter_all(Where where) {
  if (all_.fit(in_)) {
    return;
  }
  const detail::LocatedGraph graph(*in_.graph, where);
  const auto whole = [&](const LookupParameter& p) {
    return in_.update ? parameter(graph, p) : const_parameter(graph, p);
  };
  Nodes made;
  made.updated = in_.update;
  if (p_b_) {
    made.b = reshape(whole(p_b_), Dim({noise_.size()}), where);
  }
  made.w = transpose(detail::Located(whole(p_w_), where));
  all_ = made;
}

Expression SampledSoftmaxBuilder::scores_of_all(const Expression& rep, Where where) {
  enter_all(where);
  return p_b_ ? affine_transform({all_.b, all_.w, rep}, where)
              : detail::Located(all_.w, where) * rep;
}

Expression SampledSoftmaxBuilder::losses(const Expression& rep, const std::vector<unsigned>& words,
                                         Where where) {
  return pickneglogsoftmax(scores_of_all(rep, where), words, where);
}

unsigned SampledSoftmaxBuilder::draw(const Expression& rep, Where where) {
  return builders::draw_index(as_double_vector(scores_of_all(rep, where).value()));
}

// ---- sampled

void SampledSoftmaxBuilder::resample() {
  noise_in_ = {};
  drawn_ = {};
}

void SampledSoftmaxBuilder::set_noise(const std::vector<unsigned>& words) {
  if (in_.graph == nullptr) {
    throw errors::StateError(std::string(kSampled) + ": set_noise before new_graph");
  }
  if (words.empty()) {
    throw errors::ValueError(std::string(kSampled) + ": set_noise without words");
  }
  check_words(words);
  detail::with_typed_allocation([&] { noise_words_ = words; });
  noise_in_ = in_;
  drawn_ = {};
}

void SampledSoftmaxBuilder::enter_noise(Where where) {
  if (drawn_.fit(in_)) {
    return;
  }
  if (noise_in_.graph != in_.graph || noise_in_.id != in_.id) {
    noise_words_.resize(samples_);
    for (unsigned& word : noise_words_) {
      word = noise_.sample();
    }
  }
  noise_in_ = in_;
  const auto k = static_cast<unsigned>(noise_words_.size());
  const double log_k = loss_ == SampledLoss::kBlackOut ? 0.0 : std::log(static_cast<double>(k));
  numbers_.clear();
  for (const unsigned word : noise_words_) {
    numbers_.push_back(static_cast<float>(-log_k - noise_.log_probability(word)));
  }
  Nodes made;
  made.updated = in_.update;
  made.b = numbers(Dim({k}), where);
  if (p_b_) {
    const Expression b = reshape(rows(p_b_, noise_words_, where), Dim({k}), where);
    made.b = detail::Located(b, where) + made.b;
  }
  const Expression columns = reshape(rows(p_w_, noise_words_, where), Dim({rep_dim_, k}), where);
  made.w = transpose(detail::Located(columns, where));
  drawn_ = made;
}

/// Scores of the noise words less ln(k q) for each example. Draws of the word itself do not count,
/// except with NCE, whose noise may be the word.
Expression SampledSoftmaxBuilder::noise_scores(const Expression& rep,
                                               const std::vector<unsigned>& words, Where where) {
  const Expression scores = affine_transform({drawn_.b, drawn_.w, rep}, where);
  if (loss_ == SampledLoss::kNce) {
    return scores;
  }
  numbers_.clear();
  bool has_hits = false;
  for (const unsigned word : words) {
    for (const unsigned drawn : noise_words_) {
      numbers_.push_back(drawn == word ? kNoDraw : 0.0F);
      has_hits = has_hits || drawn == word;
    }
  }
  if (!has_hits) {
    return scores;
  }
  const Dim shape({static_cast<unsigned>(noise_words_.size())},
                  static_cast<unsigned>(words.size()));
  return detail::Located(scores, where) + numbers(shape, where);
}

/// Scores of the words, less the same correction as for noise words; {1} for each example.
Expression SampledSoftmaxBuilder::word_scores(const Expression& rep,
                                              const std::vector<unsigned>& words, Where where) {
  Expression scores = dot_product(rows(p_w_, words, where), rep, where);
  if (p_b_) {
    scores = detail::Located(scores, where) + rows(p_b_, words, where);
  }
  if (loss_ == SampledLoss::kSampledSoftmax) {
    return scores;  // the word is in the sum for certain
  }
  const double log_k =
      loss_ == SampledLoss::kBlackOut ? 0.0 : std::log(static_cast<double>(noise_words_.size()));
  numbers_.clear();
  for (const unsigned word : words) {
    numbers_.push_back(static_cast<float>(-log_k - noise_.log_probability(word)));
  }
  const Dim shape({1}, static_cast<unsigned>(words.size()));
  return detail::Located(scores, where) + numbers(shape, where);
}

Expression SampledSoftmaxBuilder::sampled_loss(const Expression& rep, unsigned classidx,
                                               Where where) {
  detail::with_typed_allocation([&] { one_.assign(1, classidx); });
  return sampled_loss(rep, one_, where);
}

Expression SampledSoftmaxBuilder::sampled_loss(const Expression& rep,
                                               const std::vector<unsigned>& classidxs,
                                               Where where) {
  check_batch("sampled_loss", rep, classidxs, where);
  return detail::with_typed_allocation([&] { return loss_against_noise(rep, classidxs, where); });
}

Expression SampledSoftmaxBuilder::loss_against_noise(const Expression& rep,
                                                     const std::vector<unsigned>& classidxs,
                                                     Where where) {
  enter_noise(where);
  const Expression word = word_scores(rep, classidxs, where);
  const Expression noise = noise_scores(rep, classidxs, where);
  const auto at = [&](const Expression& e) { return detail::Located(e, where); };
  if (loss_ == SampledLoss::kNce) {
    const Expression ours = softplus(-at(word), 1.0F, where);
    return at(ours) + sum_elems(softplus(noise, 1.0F, where), where);
  }
  const Expression all = concatenate({word, noise}, 0, where);
  if (loss_ == SampledLoss::kSampledSoftmax) {
    first_.assign(classidxs.size(), 0U);
    return pickneglogsoftmax(all, first_, where);
  }
  const Expression logs = log_softmax(all, 0, where);
  const Expression p = exp(pick_range(logs, 1, all.dim().rows(), 0, where), where);
  const Expression others = log1p(-at(clip(p, 0.0F, kMostLikely, where)), where);
  return -at(at(pick_range(logs, 0, 1, 0, where)) + sum_elems(others, where));
}

}  // namespace dynet
