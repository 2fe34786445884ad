#pragma once

// Sentences as numbers: what the readers of dynet/text read, with numbers for words and tags.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet/dict.h"
#include "dynet/text.h"

namespace example {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using Numbers = std::vector<unsigned>;

/// All that a reader of dynet/text finds in a file, which is something.
template <class Reader>
auto read_all(const std::string& file) {
  auto items = Reader(file).read_all();
  if (items.empty()) {
    throw text::TextError(file, 1, 1, "nothing but blank lines in this file");
  }
  return items;
}

constexpr unsigned kNone = ~0U;

/// Takes no new words: those count as "<unk>".
inline void freeze(Dict& dict) {
  dict.freeze();
  dict.set_unk("<unk>");
}

/// The numbers of words; a dictionary that is not frozen grows.
inline Numbers numbers_of(const text::Words& words, Dict& dict) {
  Numbers numbers;
  for (const std::string& word : words) {
    numbers.push_back(static_cast<unsigned>(dict.convert(word)));
  }
  return numbers;
}

/// The numbers of classes or tags. Those that only the examples for testing have are kNone, which
/// no answer is: the dictionary is frozen then.
inline Numbers labels_of(const text::Words& labels, Dict& dict) {
  Numbers numbers;
  for (const std::string& label : labels) {
    const bool is_new = dict.is_frozen() && !dict.contains(label);
    numbers.push_back(is_new ? kNone : static_cast<unsigned>(dict.convert(label)));
  }
  return numbers;
}

/// Numbers for "<unk>", for the marks of a program, and for the words that occur `least` times or
/// more in the order in which they were first seen, but for no more than the `most` frequent ones.
inline Dict numbered(const std::vector<text::Words>& sentences, unsigned least,
                     const text::Words& marks = {}, std::size_t most = kNone) {
  Dict seen;
  std::vector<unsigned> counts;
  for (const text::Words& sentence : sentences) {
    for (const std::string& word : sentence) {
      const auto number = static_cast<std::size_t>(seen.convert(word));
      counts.resize(seen.size());
      ++counts[number];
    }
  }
  std::vector<int> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count_of = [&](int number) { return counts[static_cast<std::size_t>(number)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return count_of(a) > count_of(b); });
  order.resize(std::min(most, order.size()));
  std::sort(order.begin(), order.end());
  Dict words;
  words.convert("<unk>");
  numbers_of(marks, words);
  for (const int number : order) {
    if (count_of(number) >= least && words.size() < most) {
      words.convert(seen.convert(number));
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

/// The characters of UTF-8 text. Stray bytes stay with what stands before them.
inline text::Words characters_of(const std::string& word) {
  text::Words characters;
  for (const char byte : word) {
    if (characters.empty() || (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) {
      characters.emplace_back();
    }
    characters.back().push_back(byte);
  }
  return characters;
}

// ---- corpora

/// A sentence in numbers. Tags that only the examples for testing have are kNone.
struct Tagged {
  Numbers words, tags;
};

/// The data of taggers whose words are numbers. Words that occur once count as "<unk>".
struct TaggedData {
  /// `first_tag`, where there is one, has the number 0.
  TaggedData(const std::string& train_file, const std::string& dev_file,
             const text::Words& first_tag = {}) {
    const auto read = read_all<text::TaggedReader>(train_file);
    std::vector<text::Words> texts;
    texts.reserve(read.size());
    for (const text::TaggedSentence& sentence : read) {
      texts.push_back(sentence.words);
    }
    words = numbered(texts, 2);
    numbers_of(first_tag, tags);
    train = in_numbers(read);
    tags.freeze();
    dev = in_numbers(read_all<text::TaggedReader>(dev_file));
  }
  std::vector<Tagged> in_numbers(const std::vector<text::TaggedSentence>& read) {
    std::vector<Tagged> sentences;
    sentences.reserve(read.size());
    for (const text::TaggedSentence& sentence : read) {
      sentences.push_back({numbers_of(sentence.words, words), labels_of(sentence.tags, tags)});
    }
    return sentences;
  }

  Dict words, tags;
  std::vector<Tagged> train, dev;
};

/// A sentence and its tree: `heads[w]` is the head of word w, counted from 1; word 0 is the root.
struct Parsed {
  Numbers words, heads;
};

/// What a file in CoNLL-U holds. `words` grows unless it is frozen.
inline std::vector<Parsed> read_parsed(const std::string& file, Dict& words) {
  std::vector<Parsed> trees;
  for (const text::ConlluSentence& sentence : read_all<text::ConlluReader>(file)) {
    Parsed tree{numbers_of({"<root>"}, words), {kNone}};
    for (const text::ConlluToken* word : sentence.words()) {
      tree.words.push_back(static_cast<unsigned>(words.convert(word->form)));
      tree.heads.push_back(static_cast<unsigned>(word->head));
    }
    trees.push_back(tree);
  }
  return trees;
}

}  // namespace example
