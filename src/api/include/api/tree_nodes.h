#pragma once

// Nodes of sums over structures: shared by trees.cc, tree_scores.cc, and builders of segments.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/elementary.h"
#include "dynet/expr/leaves.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/reduce.h"
#include "dynet/expr/select.h"
#include "dynet/expr/selections.h"
#include "dynet/expr/shape.h"

#include "api/functions.h"

namespace dynet::api {

/// Words of scores {words+1,words} of arcs, and {words,words,labels} of spans. ShapeError, with the
/// user's line, for another shape.
[[nodiscard]] unsigned words_of_arcs(const char* name, const Dim& d, Where where);
[[nodiscard]] unsigned words_of_spans(const char* name, const Dim& d, Where where);

/// Shorthands for the nodes of one call, which all have the user's line.
class Building {
 public:
  Building(const Expression& scores, Where where)
      : graph_(*scores.pg, where), device_(api::device_of(scores)), where_(where) {}

  [[nodiscard]] Expression add(const Expression& x, const Expression& y) const {
    return detail::Located(x, where_) + y;
  }
  [[nodiscard]] Expression subtract(const Expression& x, const Expression& y) const {
    return detail::Located(x, where_) - y;
  }
  /// Rows and columns of a matrix, up to and without the second numbers.
  [[nodiscard]] Expression block(const Expression& x, unsigned row, unsigned end_row,
                                 unsigned column, unsigned end_column) const {
    return strided_select(x, {}, {static_cast<int>(row), static_cast<int>(column)},
                          {static_cast<int>(end_row), static_cast<int>(end_column)}, where_);
  }
  [[nodiscard]] Expression rows(const Expression& x, unsigned from, unsigned end) const {
    return pick_range(x, from, end, 0, where_);
  }
  [[nodiscard]] Expression row(const Expression& x, unsigned i) const {
    return pick(x, i, 0, where_);
  }
  [[nodiscard]] Expression joined(const Expression& x, const Expression& y, unsigned d) const {
    return concatenate({x, y}, d, where_);
  }
  [[nodiscard]] Expression log_sum(const Expression& x, unsigned d) const {
    return logsumexp_dim(x, d, where_);
  }
  /// Adds the exponentials of two matrices, element by element: the logarithm of the sums.
  [[nodiscard]] Expression log_sum(const Expression& x, const Expression& y) const {
    return logsumexp_dim(joined(x, y, 2), 2, where_);
  }
  [[nodiscard]] Expression chosen(const Expression& condition, const Expression& x,
                                  const Expression& y) const {
    return dynet::where(condition, x, y, where_);
  }
  [[nodiscard]] Expression clipped(const Expression& x, float low, float high) const {
    return clip(x, low, high, where_);
  }
  /// All elements of each example in a row.
  [[nodiscard]] Expression flat(const Expression& x) const {
    const Dim& d = x.dim();
    return reshape(x, Dim({to_extent(d.single_batch().elements(), "scores")}, d.bd), where_);
  }
  [[nodiscard]] Expression gathered(const Expression& x,
                                    const std::vector<unsigned>& places) const {
    return gather(x, places, static_cast<unsigned>(places.size()), 0, where_);
  }
  [[nodiscard]] Expression column(const Expression& x) const {
    return reshape(x, Dim({x.dim().rows(), 1}, x.dim().bd), where_);
  }
  [[nodiscard]] Expression numbers(const Dim& d, const std::vector<float>& values) const {
    return input(graph_, d, values, device_);
  }
  [[nodiscard]] Expression nothing(const Dim& d) const { return zeros(graph_, d, device_); }

  /// The result of each example: by_words[k - 1] is the result of sentences of k words, or unset if
  /// no sentence has k words.
  [[nodiscard]] Expression by_length(const std::vector<Expression>& by_words,
                                     const std::vector<unsigned>& lengths) const {
    std::vector<Expression> some;
    std::vector<unsigned> places(by_words.size());
    for (std::size_t k = 0; k < by_words.size(); ++k) {
      if (by_words[k].pg != nullptr) {
        places[k] = static_cast<unsigned>(some.size());
        some.push_back(by_words[k]);
      }
    }
    if (some.size() == 1) {
      return some[0];
    }
    std::vector<unsigned> chosen_places;
    chosen_places.reserve(lengths.size());
    for (const unsigned n : lengths) {
      chosen_places.push_back(places[n - 1]);
    }
    return pick(concatenate(some, 0, where_), chosen_places, 0, where_);
  }

 private:
  detail::LocatedGraph graph_;
  Device* device_;
  Where where_;
};

/// The sum of some elements of each example of x, in memory order: a list of places for all
/// examples, or one for each, of which some may be empty, but not all.
[[nodiscard]] Expression sum_of_places(const Expression& x,
                                       const std::vector<std::vector<unsigned>>& places,
                                       Where where);

/// x with other numbers at some places: `other(example, row, column)` is empty if the element of x
/// stays. d has the examples and the shape of x, or one example.
template <class F>
Expression masked(const Building& b, const Expression& x, const Dim& d, F&& other) {
  std::vector<float> stays;
  std::vector<float> others;
  for (unsigned e = 0; e < d.bd; ++e) {
    for (unsigned column = 0; column < d.cols(); ++column) {
      for (unsigned row = 0; row < d.rows(); ++row) {
        const std::optional<float> number = other(e, row, column);
        stays.push_back(number.has_value() ? 0.0F : 1.0F);
        others.push_back(number.value_or(0.0F));
      }
    }
  }
  return b.chosen(b.numbers(d, stays), x, b.numbers(d, others));
}

}  // namespace dynet::api
