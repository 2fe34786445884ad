// The best tree of constituents: cky.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dynet/except.h"
#include "dynet/structured.h"

#include "api/lengths.h"
#include "api/tree_nodes.h"
#include "builders/sentence_scores.h"

namespace dynet {
namespace {

using Spans = std::vector<LabelledSpan>;
constexpr double kForbiddenSpan = -std::numeric_limits<double>::infinity();

/// The best labels and the best inner sums of all spans of one sentence.
class Chart {
 public:
  Chart(const std::string& at, const Dim& d, const std::vector<double>& all, std::size_t example,
        unsigned words)
      : words_(words), labels_(words_ * words_), sums_(words_ * words_), turned_(words_ * words_) {
    for (std::size_t width = 0; width < words_; ++width) {
      for (std::size_t i = 0; i + width < words_; ++i) {
        const std::size_t j = i + width;
        const std::size_t k = split(i, j);
        const double inner = width == 0 ? 0.0 : sum(i, k) + sum(k + 1, j);
        sums_[(i * words_) + j] = turned_[(j * words_) + i] =
            inner + best_label(at, d, all, example, i, j);
      }
    }
  }
  /// The spans of the best tree; empty if there is none.
  [[nodiscard]] Spans best() const {
    Spans spans;
    if (sum(0, words_ - 1) == kForbiddenSpan) {
      return spans;
    }
    std::vector<std::pair<std::size_t, std::size_t>> pending{{0, words_ - 1}};
    while (!pending.empty()) {
      const auto [i, j] = pending.back();
      pending.pop_back();
      spans.push_back(
          {labels_[(i * words_) + j], static_cast<unsigned>(i), static_cast<unsigned>(j + 1)});
      if (i < j) {
        const std::size_t k = split(i, j);
        pending.emplace_back(k + 1, j);
        pending.emplace_back(i, k);
      }
    }
    return spans;
  }

 private:
  [[nodiscard]] double sum(std::size_t i, std::size_t j) const { return sums_[(i * words_) + j]; }
  /// The last word of the left part. Of equally good splits the first wins.
  [[nodiscard]] std::size_t split(std::size_t i, std::size_t j) const {
    const double* const left = sums_.data() + (i * words_);
    const double* const right = turned_.data() + (j * words_) + 1;
    std::size_t best = i;
    for (std::size_t k = i + 1; k < j; ++k) {
      best = left[k] + right[k] > left[best] + right[best] ? k : best;
    }
    return best;
  }
  /// Notes the best label of a span, the first of equally good ones. Returns its score.
  double best_label(const std::string& at, const Dim& d, const std::vector<double>& all,
                    std::size_t example, std::size_t i, std::size_t j) {
    const std::size_t rows = d.rows();
    const std::size_t labels = d[2];
    double most = kForbiddenSpan;
    for (std::size_t l = 0; l < labels; ++l) {
      const double score = all[(((((example * labels) + l) * rows) + j) * rows) + i];
      builders::check_score(at, score, [&] {
        return "words " + std::to_string(i) + " to " + std::to_string(j) + " with label " +
               std::to_string(l) + " in " + builders::example_of(d, example);
      });
      if (score > most) {
        most = score;
        labels_[(i * words_) + j] = static_cast<unsigned>(l);
      }
    }
    return most;
  }

  std::size_t words_;
  std::vector<unsigned> labels_;
  std::vector<double> sums_, turned_;  ///< the latter with the spans of one end side by side
};

}  // namespace

template <int>
std::vector<std::vector<LabelledSpan>> cky(const Tensor& scores,
                                           const std::vector<unsigned>& lengths) {
  const std::string at = "cky: ";
  const Dim& d = scores.d;
  const unsigned most = api::words_of_spans("cky", d, Where());
  const std::vector<unsigned> words = api::checked_lengths(at, d, most, lengths);
  const std::vector<double> numbers = as_double_vector(scores);
  std::vector<Spans> trees(d.bd);
  for (std::size_t e = 0; e < trees.size(); ++e) {
    trees[e] = Chart(at, d, numbers, e, words[e]).best();
    if (trees[e].empty()) {
      throw errors::NumericError(at + "scores are " + builders::example_of(d, e) +
                                 ", and each tree has a score of -inf");
    }
  }
  return trees;
}
template <int>
std::vector<LabelledSpan> cky(const Tensor& scores) {
  builders::check_one_example("cky: ", scores.d);
  return cky(scores, std::vector<unsigned>())[0];
}

template std::vector<std::vector<LabelledSpan>> cky<>(const Tensor& scores,
                                                      const std::vector<unsigned>& lengths);
template std::vector<LabelledSpan> cky<>(const Tensor& scores);

}  // namespace dynet
