#include "dynet/expr/trees.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api/lengths.h"
#include "api/tree_nodes.h"

namespace dynet {
namespace {

using api::Building;
using api::masked;
using Lengths = std::vector<unsigned>;
constexpr float kLogOfZero = -std::numeric_limits<float>::infinity();
/// Below all logarithms of weights, and finite: -inf - kLowest is -inf, and no NaN.
constexpr float kLowest = -1e30F;

bool has(const Lengths& lengths, std::size_t words) {
  return std::find(lengths.begin(), lengths.end(), words) != lengths.end();
}

bool are_all(const Lengths& lengths, unsigned words) {
  return std::all_of(lengths.begin(), lengths.end(), [words](unsigned n) { return n == words; });
}

// ---- all dependency trees

/// The sum over all trees, by elimination of the words: takes the last word out of the table
/// {k+1,k} of arcs, so that each pair of an arc to it and an arc from it becomes an arc, weighted
/// with the share of the first arc among the arcs to the word. The sum of the latter is a factor of
/// all trees. Elements for a word as its own head are never read.
///
/// With a single root the arcs of row 0 count as infinitely small: shares are among the arcs
/// between words, and a tree has the fewest possible arcs of row 0, one. If no other word may be
/// the head of the last word, then this word is the root: the arcs from it take the place of row 0,
/// its own arc from the root is the factor, and from then on row 0 counts as any other row.
class Elimination {
 public:
  Elimination(const Building& b, const Expression& arcs, bool single_root)
      : b_(b), arcs_(arcs), single_root_(single_root) {
    if (single_root) {
      weight_of_roots_ = b.numbers({1}, {kLogOfZero});
    }
  }
  Expression log_sum(unsigned words) {
    Expression factors;
    for (unsigned k = words; k > 1; --k) {
      const Expression factor = eliminate(k);
      factors = k == words ? factor : b_.add(factors, factor);
    }
    const Expression root = b_.row(arcs_, 0);
    return words == 1 ? root : b_.add(factors, root);
  }

 private:
  /// Takes out word k; returns the factor.
  Expression eliminate(unsigned k) {
    const Expression into = b_.block(arcs_, 0, k, k - 1, k);        // {k,1}
    const Expression out_of = b_.block(arcs_, k, k + 1, 0, k - 1);  // {1,k-1}
    const Expression others = b_.block(arcs_, 0, k, 0, k - 1);      // {k,k-1}
    const Expression sum = b_.log_sum(single_root_ ? between_words(into, k) : into, 0);
    const Expression shares = b_.subtract(into, b_.clipped(sum, kLowest, -kLowest));
    arcs_ = b_.log_sum(others, b_.add(shares, out_of));
    if (!single_root_) {
      return sum;
    }
    const Expression has_head =
        b_.clipped(b_.subtract(sum, b_.numbers({1}, {kLowest})), 0.0F, 1.0F);
    const Expression roots = b_.chosen(has_head, b_.block(arcs_, 0, 1, 0, k - 1), out_of);
    arcs_ = b_.joined(roots, b_.block(arcs_, 1, k, 0, k - 1), 0);
    weight_of_roots_ = b_.chosen(has_head, weight_of_roots_, b_.nothing({1}));
    return b_.chosen(has_head, sum, b_.row(into, 0));
  }
  /// The arcs to a word; the one from the root only if a root was found.
  [[nodiscard]] Expression between_words(const Expression& into, unsigned k) const {
    return b_.joined(b_.add(b_.rows(into, 0, 1), weight_of_roots_), b_.rows(into, 1, k), 0);
  }

  const Building& b_;
  Expression arcs_;
  bool single_root_;
  Expression weight_of_roots_;  ///< {1}: -inf, and 0 once a root is found; unset for many roots
};

/// The arcs with -inf for a word as its own head. A word behind the end of its sentence hangs below
/// the first word, in one way.
Expression arcs_that_count(const Building& b, const Expression& scores, const Lengths& lengths) {
  Dim d = scores.dim();
  if (are_all(lengths, d.cols())) {
    d.bd = 1;
  }
  return masked(b, scores, d, [&](unsigned e, unsigned head, unsigned word) {
    const unsigned n = lengths[e];
    if (word < n && head <= n && head != word + 1) {
      return std::optional<float>();
    }
    return std::optional<float>(word >= n && head == 1 ? 0.0F : kLogOfZero);
  });
}

// ---- projective dependency trees

/// Tables of the sums over all parts of a sentence, as in Eisner's search (src/builders): a half is
/// a word and all words below it on one side, a link is two halves and an arc between their words.
/// Parts grow by a word at a time, all places of the sentence at once.
///
/// A table `by_begin` has a row for each first word, and columns for the widths 0, 1, ...; a table
/// `by_end` has a row for each last word, and columns for the widths ..., 1, 0. So the two parts of
/// each split lie at the same place of two tables. Example: of the words 2 to 5, width 3, the
/// splits are (2, 2) and (3, 5), (2, 3) and (4, 5), (2, 4) and (5, 5): columns 0, 1, 2 of row 2 by
/// begin have the first parts, columns of widths 2, 1, 0 of row 5 by end the second parts.
class ProjectiveSums {
 public:
  ProjectiveSums(const Building& b, const Expression& scores)
      : b_(b), words_(scores.dim().cols()), flat_(b.flat(scores)) {
    first_by_begin_ = first_by_end_ = last_by_begin_ = last_by_end_ = b.nothing({words_, 1});
  }
  /// All parts with one word more. Rows whose parts would leave the sentence go.
  void grow() {
    ++width_;
    const unsigned m = words_ - width_;
    for (Expression* const table : {&first_by_begin_, &last_by_begin_}) {
      *table = b_.rows(*table, 0, m);
    }
    for (Expression* const table : {&first_by_end_, &last_by_end_}) {
      *table = b_.rows(*table, 1, m + 1);
    }
    const Expression inner = b_.log_sum(b_.add(first_by_begin_, last_by_end_), 1);
    const Expression to_last = b_.column(b_.add(inner, arcs(true)));
    const Expression to_first = b_.column(b_.add(inner, arcs(false)));
    if (width_ == 1) {
      links_to_last_ = to_last;
      links_to_first_ = to_first;
    } else {
      links_to_last_ = b_.joined(b_.rows(links_to_last_, 0, m), to_last, 1);
      links_to_first_ = b_.joined(to_first, b_.rows(links_to_first_, 1, m + 1), 1);
    }
    const Expression first = b_.column(b_.log_sum(b_.add(links_to_last_, first_by_end_), 1));
    const Expression last = b_.column(b_.log_sum(b_.add(last_by_begin_, links_to_first_), 1));
    first_by_begin_ = b_.joined(first_by_begin_, first, 1);
    first_by_end_ = b_.joined(first, first_by_end_, 1);
    last_by_begin_ = b_.joined(last_by_begin_, last, 1);
    last_by_end_ = b_.joined(last, last_by_end_, 1);
  }
  /// The halves between word 0 and each word up to `width`, of the latter.
  [[nodiscard]] Expression last_from_begin() const { return b_.row(last_by_begin_, 0); }
  /// The halves between each word up to `width` and that one: of the former, and of the latter.
  [[nodiscard]] Expression first_to_end() const { return b_.row(first_by_end_, 0); }
  [[nodiscard]] Expression last_to_end() const { return b_.row(last_by_end_, 0); }

 private:
  /// The scores of all arcs between words i and i + width, from left to right or back.
  [[nodiscard]] Expression arcs(bool to_last) const {
    std::vector<unsigned> places;
    for (unsigned i = 0; i + width_ < words_; ++i) {
      const unsigned head = to_last ? i : i + width_;
      const unsigned word = to_last ? i + width_ : i;
      places.push_back((word * (words_ + 1)) + head + 1);
    }
    return b_.gathered(flat_, places);
  }

  const Building& b_;
  unsigned words_;
  unsigned width_ = 0;
  Expression flat_;
  Expression first_by_begin_, first_by_end_;  ///< halves of the first word
  Expression last_by_begin_, last_by_end_;    ///< halves of the last word
  Expression links_to_last_;                  ///< by begin
  Expression links_to_first_;                 ///< by end
};

/// Sums over the trees of the first 1, 2, ... words with any number of words at the root: those of
/// one more word have a last word at the root, and before it the trees of fewer words.
class ManyRoots {
 public:
  ManyRoots(const Building& b, const Expression& roots)
      : b_(b), roots_(roots), trees_(b.nothing({1})) {}
  /// The sum for all words that the tables have reached.
  Expression next(const ProjectiveSums& sums) {
    const Expression last =
        b_.add(b_.row(roots_, count_), b_.log_sum(b_.add(trees_, sums.last_to_end()), 0));
    links_ = count_ == 0 ? last : b_.joined(links_, last, 0);
    const Expression all = b_.log_sum(b_.add(links_, sums.first_to_end()), 0);
    trees_ = b_.joined(trees_, all, 0);
    ++count_;
    return all;
  }

 private:
  const Building& b_;
  Expression roots_;
  Expression trees_;  ///< of the first 0, 1, ... words
  Expression links_;  ///< the same where the last word at the root has nothing on its right
  unsigned count_ = 0;
};

/// Scores of padded sentences: numbers behind the end, which may be NaN, become 0.
Expression without_padding(const Building& b, const Expression& scores, const Lengths& lengths,
                           unsigned words, unsigned roots) {
  if (are_all(lengths, words)) {
    return scores;
  }
  return masked(b, scores, scores.dim(), [&](unsigned e, unsigned row, unsigned column) {
    const bool counts = row < lengths[e] + roots && column < lengths[e];
    return counts ? std::optional<float>() : std::optional<float>(0.0F);
  });
}

}  // namespace

template <int>
Expression spanning_tree_log_partition(const Expression& scores,
                                       const std::vector<unsigned>& lengths, bool single_root,
                                       Where where) {
  const char* const name = "spanning_tree_log_partition";
  const unsigned words = api::words_of_arcs(name, scores.dim(), where);
  const Lengths all =
      api::checked_lengths(std::string(name) + ": ", scores.dim(), words, lengths, where);
  const Building b(scores, where);
  return Elimination(b, arcs_that_count(b, scores, all), single_root).log_sum(words);
}
template Expression spanning_tree_log_partition<>(const Expression& scores,
                                                  const std::vector<unsigned>& lengths,
                                                  bool single_root, Where where);

template <int>
Expression eisner_log_partition(const Expression& scores, const std::vector<unsigned>& lengths,
                                bool single_root, Where where) {
  const char* const name = "eisner_log_partition";
  const unsigned words = api::words_of_arcs(name, scores.dim(), where);
  const Lengths all =
      api::checked_lengths(std::string(name) + ": ", scores.dim(), words, lengths, where);
  const Building b(scores, where);
  if (words == 1) {
    return b.row(scores, 0);
  }
  const Expression counted = without_padding(b, scores, all, words, 1);
  const Expression roots = b.row(counted, 0);
  ProjectiveSums sums(b, counted);
  ManyRoots many(b, roots);
  std::vector<Expression> results(words);
  for (unsigned n = 1; n <= words; ++n) {
    if (n > 1) {
      sums.grow();
    }
    const bool is_wanted = has(all, n);
    if (!single_root) {
      const Expression result = many.next(sums);
      results[n - 1] = is_wanted ? result : Expression();
    } else if (is_wanted) {
      const Expression halves = b.add(sums.last_from_begin(), sums.first_to_end());
      results[n - 1] = b.log_sum(b.add(b.rows(roots, 0, n), halves), 0);
    }
  }
  return b.by_length(results, all);
}
template Expression eisner_log_partition<>(const Expression& scores,
                                           const std::vector<unsigned>& lengths, bool single_root,
                                           Where where);

template <int>
Expression cky_log_partition(const Expression& scores, const std::vector<unsigned>& lengths,
                             Where where) {
  const char* const name = "cky_log_partition";
  const unsigned words = api::words_of_spans(name, scores.dim(), where);
  const Lengths all =
      api::checked_lengths(std::string(name) + ": ", scores.dim(), words, lengths, where);
  const Building b(scores, where);
  const Expression labelled = scores.dim().nd == 3 ? b.log_sum(scores, 2) : scores;
  const Expression flat = b.flat(without_padding(b, labelled, all, words, 0));
  Expression by_begin;  // the tables of ProjectiveSums, for spans
  Expression by_end;
  std::vector<Expression> results(words);
  for (unsigned width = 0; width < words; ++width) {
    const unsigned m = words - width;
    std::vector<unsigned> places;
    places.reserve(m);
    for (unsigned i = 0; i < m; ++i) {
      places.push_back(((i + width) * words) + i);
    }
    Expression spans = b.gathered(flat, places);
    if (width > 0) {
      by_begin = b.rows(by_begin, 0, m);
      by_end = b.rows(by_end, 1, m + 1);
      spans = b.add(spans, b.log_sum(b.add(by_begin, by_end), 1));
    }
    if (has(all, width + 1)) {
      results[width] = b.row(spans, 0);
    }
    spans = b.column(spans);
    by_begin = width == 0 ? spans : b.joined(by_begin, spans, 1);
    by_end = width == 0 ? spans : b.joined(spans, by_end, 1);
  }
  return b.by_length(results, all);
}
template Expression cky_log_partition<>(const Expression& scores,
                                        const std::vector<unsigned>& lengths, Where where);

}  // namespace dynet
