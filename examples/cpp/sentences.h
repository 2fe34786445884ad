#pragma once

// Words and characters as the paper's programs take them.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dict.h"
#include "dynet/text.h"

#include "example.h"

namespace example {

/// Numbers for `marks`, and for the most frequent words up to `most` in all, in the order of their
/// first occurrence.
inline Dict most_frequent(const std::vector<text::Words>& sentences, const text::Words& marks,
                          std::size_t most) {
  const auto read = count_words(sentences);
  const text::Words& seen = read.first;
  const Numbers& counts = read.second;
  std::vector<std::size_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  order.resize(std::min(most, order.size()));
  std::sort(order.begin(), order.end());
  Dict words;
  numbers_of(marks, words);
  for (const std::size_t word : order) {
    if (words.size() < most) {
      words.convert(seen[word]);
    }
  }
  freeze(words);
  return words;
}

/// The words of a line, of which there is one or more.
inline text::Words words_of(const std::string& line) {
  text::Words words;
  text::for_each_word(line, [&](std::string_view word, std::size_t) { words.emplace_back(word); });
  if (words.empty()) {
    throw text::TextError("sentence", 1, 1, "no word");
  }
  return words;
}

}  // namespace example
