#pragma once

// Losses of a softmax over many words, estimated from a few words drawn from a noise distribution
// (cfsm-builder.h has the interface of softmaxes).
//
//   NoiseDistribution noise(counts, 0.75F);                     how often each word occurs
//   SampledSoftmaxBuilder softmax(rep_dim, noise, 100, SampledLoss::kSampledSoftmax, pc);
//   softmax.new_graph(cg);
//   loss = softmax.sampled_loss(rep, word);                     to train with
//   exact = softmax.neg_log_softmax(rep, word);                 to measure with
//
// The noise words are drawn once per graph and shared by its losses, so that the losses merge into
// one product, also if new_graph is called again for the graph with another `update`. Example: 20
// losses with 100 noise words multiply the same 100 rows of w, in one product. Errors are as in
// other softmax builders.

#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// p(word) proportional to count(word)^alpha. Draws in constant time (Walker's alias method). A
/// value: copies are independent. Thread rule: drawing uses the global engine of rand01().
class NoiseDistribution {
 public:
  NoiseDistribution() = default;
  /// ValueError unless there are counts, all of them above 0 and finite, and alpha is from 0 to 1.
  explicit NoiseDistribution(const std::vector<double>& counts, double alpha = 1.0);

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(log_p_.size()); }
  /// ln p of a word. IndexError if there is none.
  [[nodiscard]] double log_probability(unsigned word) const;
  /// A word drawn with rand0n() and rand01(). StateError without words.
  [[nodiscard]] unsigned sample() const;

 private:
  /// The share of a column that is its own word's; the rest is its alias's.
  struct Column {
    double own = 1.0;
    unsigned alias = 0;
  };
  std::vector<double> log_p_;
  std::vector<Column> columns_;
};

/// The loss, computed from the word's score s = w_word rep + b_word, and from the scores s_n of k
/// noise words n with probabilities q:
///
///   kNce             -ln logistic(s - ln(k q(word))) - sum_n ln(1 - logistic(s_n - ln(k q(n)))):
///                    telling words from noise (Gutmann and Hyvaerinen, 2010)
///   kSampledSoftmax  ln(e^s + sum_n e^s_n / (k q(n))) - s: the softmax with its sum over the other
///                    words estimated, without bias, from the draws that are not the word itself
///                    (Bengio and Senecal, 2003; Jean et al., 2015)
///   kBlackOut        -ln p - sum_n ln(1 - p_n), where p is the softmax of s - ln q over the word
///                    and the draws that are not the word itself (Ji et al., 2016); p_n counts as
///                    at most 1 - 2^-20
enum class SampledLoss { kNce, kSampledSoftmax, kBlackOut };

/// A plain softmax whose losses for training are sampled. neg_log_softmax and the distribution are
/// exact and cost as much as StandardSoftmaxBuilder's.
///
/// Parameters, in the collection `sampled-softmax-builder`: tables w, a row {rep_dim} per word, and
/// b, a row {1} (0) per word unless `bias` is false: a sampled loss changes only the rows that it
/// read.
///
/// Python: The noise words are `samples` words, drawn once per graph with probabilities
/// proportional to count ** alpha. `loss` is 'sampled_softmax' (Jean et al., 2015), 'nce' (Gutmann
/// and Hyvaerinen, 2010) or 'blackout' (Ji et al., 2016).
class SampledSoftmaxBuilder final : public detail::CheckedSoftmaxBuilder {
 public:
  SampledSoftmaxBuilder() = default;
  /// ValueError if there are no noise words to draw (`samples` is 0).
  explicit SampledSoftmaxBuilder(unsigned rep_dim, const NoiseDistribution& noise, unsigned samples,
                                 SampledLoss loss, ParameterCollection& pc, bool bias = true);

  /// The sampled loss of a word.
  /// Shapes: {rep_dim} -> {1}.
  Expression sampled_loss(const Expression& rep, unsigned classidx, Where where = Where::here());
  /// The sampled losses of a batch: word e belongs to example e.
  /// Shapes: {rep_dim}xb -> {1}xb for b words.
  Expression sampled_loss(const Expression& rep, const std::vector<unsigned>& classidxs,
                          Where where = Where::here());

  /// Draws other noise words for later losses of this graph.
  void resample();
  /// Uses these noise words, in place of drawn ones, for later losses of this graph. StateError
  /// before new_graph, ValueError if there are none, IndexError.
  void set_noise(const std::vector<unsigned>& words);
  /// The noise words that were used last.
  [[nodiscard]] const std::vector<unsigned>& noise() const { return noise_words_; }

 protected:
  [[nodiscard]] const char* name() const override { return "SampledSoftmaxBuilder"; }
  void check_made(const char* call) const override;
  void check_words(const std::vector<unsigned>& words) const override;
  Expression losses(const Expression& rep, const std::vector<unsigned>& words,
                    Where where) override;
  unsigned draw(const Expression& rep, Where where) override;
  Expression scores_of_all(const Expression& rep, Where where) override;

 private:
  /// Nodes of this graph that several calls use.
  struct Nodes {
    Expression w;
    Expression b;
    bool updated = true;
    [[nodiscard]] bool fit(const detail::InGraph& in) const;
  };
  [[nodiscard]] Expression rows(const LookupParameter& table, const std::vector<unsigned>& words,
                                Where where) const;
  Expression numbers(const Dim& shape, Where where) const;
  void enter_all(Where where);
  void enter_noise(Where where);
  Expression loss_against_noise(const Expression& rep, const std::vector<unsigned>& words,
                                Where where);
  Expression noise_scores(const Expression& rep, const std::vector<unsigned>& words, Where where);
  Expression word_scores(const Expression& rep, const std::vector<unsigned>& words, Where where);

  NoiseDistribution noise_;
  SampledLoss loss_ = SampledLoss::kNce;
  unsigned rep_dim_ = 0;
  unsigned samples_ = 0;
  LookupParameter p_w_;
  LookupParameter p_b_;  ///< unset: there is no bias
  Nodes all_;            ///< w {words,rep_dim}, b {words}
  Nodes drawn_;          ///< of the noise words; b less ln(k q), the loss's own way
  std::vector<unsigned> noise_words_;
  detail::InGraph noise_in_;  ///< the graph that has these; unset if others are to be drawn
  // Memory that the next call uses again.
  std::vector<unsigned> one_, first_;
  std::vector<float> numbers_;
};

}  // namespace dynet
