#pragma once

// Sentences of words, with or without tags, as dynet/text/words.h reads them.
//
//   the luxury auto maker              one sentence a line, words separated by spaces
//   The|I-ORG Beatles|I-ORG sang|O     the same with a tag after each word's last '|'

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/text/words.h"

#include "program.h"

namespace examples {

/// Text as read, before words have numbers. Invariant: `tags` is empty or as long as `words`.
using RawSentence = dynet::text::TaggedSentence;

RawSentence parse_words(std::string_view text);

/// All sentences of a file that are not blank. Throws DataError, also where there are none.
std::vector<RawSentence> read_tagged_file(const std::string& file);
std::vector<RawSentence> read_text_file(const std::string& file);

/// The words that occur at least `count` times, in the order in which they are first seen.
std::vector<std::string> words_seen(const std::vector<RawSentence>& sentences, std::size_t count);
/// The `limit` most frequent words (of equally frequent ones those seen first), in the order in
/// which they are first seen.
std::vector<std::string> most_frequent(const std::vector<RawSentence>& sentences,
                                       std::size_t limit);

/// A word by its number or, where it is spelled, by those of its characters.
struct Word {
  unsigned number = 0;
  Numbers letters = {};
};
struct Sentence {
  std::vector<Word> words;
  Numbers tags;  ///< none, or one per word; kNoTag for one that no training has
};
constexpr unsigned kNoTag = ~0U;
/// The number of the end mark, which language models read before a sentence and predict after it.
constexpr unsigned kEndMark = 1;
/// Sentences for a language model, each with the end mark, from the longest to the shortest.
using Batch = std::vector<Numbers>;

/// Puts numbers in the place of words, tags and characters, by the lists in a tagger's settings.
class SentenceNumbers {
 public:
  explicit SentenceNumbers(const Settings& settings);
  Sentence of(const RawSentence& raw);

 private:
  bool spells_;
  Dict words_, characters_, tags_;
};

/// The characters of UTF-8 text. A byte that is none of UTF-8 is taken with the character before.
std::vector<std::string> characters_of(std::string_view word);

}  // namespace examples
