#pragma once

// Sentences of words, with or without tags, and their reader.
//
//   the luxury auto maker              one sentence a line, words separated by spaces
//   The|I-ORG Beatles|I-ORG sang|O     the same with a tag after each word's last '|'

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data.h"

namespace examples {

/// Text as read, before words have numbers. Invariant: `tags` is empty or as long as `words`.
struct RawSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;
};

/// Throws DataError: for a word without a tag, or without letters before it.
RawSentence parse_tagged(std::string_view text, const std::string& file = "sentence",
                         std::size_t line = 1);
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

/// The characters of UTF-8 text. A byte that is none of UTF-8 is taken with the character before.
std::vector<std::string> characters_of(std::string_view word);

}  // namespace examples
