#pragma once

// The data of the taggers whose words are numbers: crf_tagger and segmental.

#include <vector>

#include "example.h"

namespace example {

/// Tagged sentences in numbers, for taggers that have `tag(words)`. Words that occur once count as
/// "<unk>".
struct Tagged {
  Numbers words, tags;
};
struct TaggedData {
  /// `first_tag`, where there is one, has the number 0.
  explicit TaggedData(const Options& options, const text::Words& first_tag = {}) {
    const auto read = read_all<text::TaggedReader>(options.train);
    std::vector<text::Words> texts;
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
    for (const text::TaggedSentence& sentence : read) {
      sentences.push_back({numbers_of(sentence.words, words), numbers_of(sentence.tags, tags)});
    }
    return sentences;
  }

  Dict words, tags;
  std::vector<Tagged> train, dev;
};

}  // namespace example
