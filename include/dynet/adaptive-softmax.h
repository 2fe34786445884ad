#pragma once

// The softmax whose frequent words are cheap (cfsm-builder.h has the interface).

#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// The adaptive softmax (Grave et al., 2017), for words that are numbered from the most frequent
/// one on. The words before the first cutoff and one entry for each cluster are chosen among at the
/// top; cluster i has the words from cutoff i to the next one, chosen among after a projection to
/// d_i = rep_dim / div_value^(i+1) numbers (at least one), so that rare words cost little:
///
///   p(word) = softmax(w rep + b)_word,                                    before the first cutoff
///   p(word) = softmax(w rep + b)_entry softmax(w_i (P_i rep) + b_i)_word  in cluster i
///
/// Parameters, in the collection `adaptive-softmax-builder`: w {words + clusters,rep_dim}, b (0),
/// then for each cluster of n words P {d,rep_dim}, w {n,d}, b {n} (0); no biases if `bias` is
/// false. A batch makes each choice once for all examples that come to it.
class AdaptiveSoftmaxBuilder final : public detail::CheckedSoftmaxBuilder {
 public:
  AdaptiveSoftmaxBuilder() = default;
  /// `cutoffs`: where clusters begin. ValueError unless they are at least one, above 0, rising and
  /// below num_classes; and unless div_value is 1 or more.
  explicit AdaptiveSoftmaxBuilder(unsigned rep_dim, unsigned num_classes,
                                  const std::vector<unsigned>& cutoffs, ParameterCollection& pc,
                                  float div_value = 4.0F, bool bias = true);

 protected:
  [[nodiscard]] const char* name() const override { return "AdaptiveSoftmaxBuilder"; }
  [[nodiscard]] bool is_normalised() const override { return true; }
  void check_made(const char* call) const override;
  void check_words(const std::vector<unsigned>& words) const override;
  Expression losses(const Expression& rep, const std::vector<unsigned>& words,
                    Where where) override;
  unsigned draw(const Expression& rep, Where where) override;
  Expression scores_of_all(const Expression& rep, Where where) override;

 private:
  struct Tail {
    unsigned begin;  ///< its first word
    detail::Choice projection;
    detail::Choice words;
  };
  [[nodiscard]] unsigned end_of(std::size_t tail) const;

  unsigned shortlist_ = 0;
  unsigned num_classes_ = 0;
  detail::Choice head_;
  std::vector<Tail> tails_;
  // Memory that the next call uses again.
  detail::LossesByExample sums_;
  std::vector<unsigned> outcomes_;
  std::vector<unsigned> members_;
  std::vector<float> signs_;
};

}  // namespace dynet
