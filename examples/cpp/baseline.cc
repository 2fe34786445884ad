#include "baseline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace examples {

namespace {

/// scores[c] = bias[c] + sum of weight[c] over the words. Each word's weights lie together.
class BagOfSymbols {
 public:
  BagOfSymbols(unsigned symbols, unsigned classes)
      : classes_(classes),
        weights_(std::size_t{symbols + 1} * classes, 0.0),
        squares_(weights_.size(), 1e-6),
        scores_(classes) {}

  unsigned answer(const Tree& tree) {
    score(tree);
    return static_cast<unsigned>(std::max_element(scores_.begin(), scores_.end()) -
                                 scores_.begin());
  }

  void learn(const Tree& tree) {
    score(tree);
    const double highest = *std::max_element(scores_.begin(), scores_.end());
    double total = 0;
    for (double& s : scores_) {
      s = std::exp(s - highest);
      total += s;
    }
    for (unsigned c = 0; c < classes_; ++c) {
      const bool is_label = c == tree.root().label;
      scores_[c] = scores_[c] / total - (is_label ? 1.0 : 0.0);
    }
    for (const TreeNode& node : tree.nodes) {
      if (node.is_word()) {
        step(row(node.symbol + 1));
      }
    }
    step(row(0));
  }

 private:
  static constexpr double kRate = 0.05;

  [[nodiscard]] std::size_t row(unsigned symbol) const { return std::size_t{symbol} * classes_; }

  void score(const Tree& tree) {
    std::copy_n(weights_.begin(), classes_, scores_.begin());
    for (const TreeNode& node : tree.nodes) {
      if (node.is_word()) {
        const double* weight = &weights_[row(node.symbol + 1)];
        for (unsigned c = 0; c < classes_; ++c) {
          scores_[c] += weight[c];
        }
      }
    }
  }

  void step(std::size_t at) {
    for (unsigned c = 0; c < classes_; ++c) {
      squares_[at + c] += scores_[c] * scores_[c];
      weights_[at + c] -= kRate * scores_[c] / std::sqrt(squares_[at + c]);
    }
  }

  unsigned classes_;
  std::vector<double> weights_;  // row 0: the bias
  std::vector<double> squares_;
  std::vector<double> scores_;
};

}  // namespace

Baselines measure_baselines(const std::vector<Tree>& train, const std::vector<Tree>& test,
                            unsigned symbols, unsigned classes, unsigned passes) {
  std::vector<std::size_t> count(classes, 0);
  for (const Tree& tree : train) {
    ++count[tree.root().label];
  }
  const auto frequent =
      static_cast<unsigned>(std::max_element(count.begin(), count.end()) - count.begin());
  BagOfSymbols bag(symbols, classes);
  for (unsigned pass = 0; pass < passes; ++pass) {
    for (const Tree& tree : train) {
      bag.learn(tree);
    }
  }
  std::size_t right_frequent = 0;
  std::size_t right_bag = 0;
  for (const Tree& tree : test) {
    const unsigned label = tree.root().label;
    right_frequent += frequent == label ? 1 : 0;
    right_bag += bag.answer(tree) == label ? 1 : 0;
  }
  const double n = static_cast<double>(std::max<std::size_t>(test.size(), 1));
  return {static_cast<double>(right_frequent) / n, static_cast<double>(right_bag) / n};
}

}  // namespace examples
