#pragma once

// The data of taggers.

#include <utility>
#include <vector>

#include "example.h"

namespace example {

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

/// A sentence in numbers. Tags that only the examples for testing have are kNone.
struct Tagged {
  Numbers words, tags;
};

/// The data of taggers whose words are numbers. Words that occur once count as "<unk>".
struct TaggedData {
  /// `first_tag`, where there is one, has the number 0.
  explicit TaggedData(const Options& options, const text::Words& first_tag = {}) {
    const auto read = read_all<text::TaggedReader>(options.train);
    std::vector<text::Words> texts;
    texts.reserve(read.size());
    for (const text::TaggedSentence& sentence : read) {
      texts.push_back(sentence.words);
    }
    words = numbered(texts, 2);
    numbers_of(first_tag, tags);
    train = in_numbers(read);
    tags.freeze();
    dev = in_numbers(read_all<text::TaggedReader>(options.dev));
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

/// Trains and tests a Model that is made of how many words and tags there are and answers with
/// `tag(words)`. `first_tag`: as in TaggedData.
template <class Model>
void train_on_tagged(const Options& options, const text::Words& first_tag = {}) {
  const TaggedData data(options, first_tag);
  Model model(data.words.size(), data.tags.size());
  train_and_test(options, model, data.train, data.dev, [&](const Tagged& sentence) {
    return std::pair(model.tag(sentence.words), sentence.tags);
  });
}

}  // namespace example
