#pragma once

// All trees over a few words, one by one, for tests of searches and sums.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "dynet/structured.h"

namespace dynet::testing {

using Heads = std::vector<unsigned>;
using Spans = std::vector<LabelledSpan>;

/// Is each word below the root?
inline bool is_tree(const Heads& heads) {
  for (std::size_t d = 1; d <= heads.size(); ++d) {
    std::size_t node = d;
    for (std::size_t step = 0; step <= heads.size() && node != 0; ++step) {
      node = heads[node - 1];
    }
    if (node != 0) {
      return false;
    }
  }
  return true;
}

/// Does no arc cross another one? (With the root in front of the words.)
inline bool is_projective(const Heads& heads) {
  for (unsigned a = 1; a <= heads.size(); ++a) {
    for (unsigned b = 1; b <= heads.size(); ++b) {
      const auto [i, j] = std::minmax(a, heads[a - 1]);
      const auto [k, l] = std::minmax(b, heads[b - 1]);
      if (i < k && k < j && j < l) {
        return false;
      }
    }
  }
  return true;
}

/// All trees, or the projective ones alone.
inline std::vector<Heads> all_trees(unsigned words, bool single_root, bool projective) {
  std::vector<Heads> trees;
  Heads heads(words, 0);
  for (;;) {
    const auto roots = std::count(heads.begin(), heads.end(), 0U);
    if ((roots == 1 || !single_root) && is_tree(heads) && (!projective || is_projective(heads))) {
      trees.push_back(heads);
    }
    std::size_t d = 0;
    while (d < words && heads[d] == words) {
      heads[d++] = 0;
    }
    if (d == words) {
      return trees;
    }
    ++heads[d];
  }
}

/// All binary trees over the words from `begin` to before `end`, with each label at each span.
inline std::vector<Spans> all_bracketings(unsigned begin, unsigned end, unsigned labels) {
  std::vector<Spans> all;
  for (unsigned label = 0; label < labels; ++label) {
    const LabelledSpan top{label, begin, end};
    if (end == begin + 1) {
      all.push_back({top});
    }
    for (unsigned k = begin + 1; k < end; ++k) {
      for (const Spans& left : all_bracketings(begin, k, labels)) {
        for (const Spans& right : all_bracketings(k, end, labels)) {
          all.push_back({top});
          all.back().insert(all.back().end(), left.begin(), left.end());
          all.back().insert(all.back().end(), right.begin(), right.end());
        }
      }
    }
  }
  return all;
}

}  // namespace dynet::testing
