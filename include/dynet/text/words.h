#pragma once

// Sentences in one line each, words separated by white space:
//
//   the luxury auto maker              plain text
//   The|I-ORG Beatles|I-ORG sang|O     with a tag after each word's last '|'
//   er schlief ||| he slept            pairs in one line, or line by line in two files
//
// Each reader has `next(sentence)`, which returns false at the end and uses the memory of the given
// sentence again; each reader is a range; `write` writes the reader's format. Errors of reading are
// TextErrors (lines.h), and leave the sentence as it was; ValueError for a sentence that would not
// be read as the same, such as a first word that begins with the mark of UTF-8 files, at the front
// of the stream or if the stream does not know its place. Not thread-safe.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/text/lines.h"

namespace dynet::text {

using Words = std::vector<std::string>;

/// The letters of a word: its code points, as `list(word)` has them in Python. "née" has three, or
/// four if the accent is a code point of its own. ValueError, with the byte, for a word that is not
/// UTF-8.
[[nodiscard]] Words letters(std::string_view word);

/// Plain text: the words of each line. Blank lines are passed over. TextError for damage.
///
/// Python: An iterator over lists of words; `line` is the number of the line that was read last.
class PlainReader : public Stream<PlainReader, Words> {
 public:
  explicit PlainReader(Lines lines) : lines_(std::move(lines)) {}
  bool next(Words& sentence);
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  Lines lines_;
  Words read_;
};
void write(std::ostream& out, const Words& sentence);

/// Invariant: each word has a tag.
struct TaggedSentence {
  Words words;
  Words tags;
};
[[nodiscard]] bool operator==(const TaggedSentence& a, const TaggedSentence& b);

/// Lines of `word|TAG`, a sentence per line. Blank lines are passed over. A word without a tag, and
/// a tag without a word, are errors.
///
/// Python: An iterator over pairs of a list of words and a list of tags; `line` is the number of
/// the line that was read last.
class TaggedReader : public Stream<TaggedReader, TaggedSentence> {
 public:
  explicit TaggedReader(Lines lines) : lines_(std::move(lines)) {}
  bool next(TaggedSentence& sentence);
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  Lines lines_;
  TaggedSentence read_;
};
void write(std::ostream& out, const TaggedSentence& sentence);

/// A sentence and its translation.
struct SentencePair {
  Words source;
  Words target;
};
[[nodiscard]] bool operator==(const SentencePair& a, const SentencePair& b);

/// Parallel text. Of two files, line n of one belongs to line n of the other: a blank line is an
/// empty sentence, and a file that ends before the other is an error. In one file, `|||` stands
/// between the two; a line without it or with two of them is an error, and blank lines are passed
/// over.
///
/// Python: An iterator over pairs of two lists of words; `line` is the number of the line that was
/// read last.
class ParallelReader : public Stream<ParallelReader, SentencePair> {
 public:
  explicit ParallelReader(Lines both) : first_(std::move(both)) {}
  ParallelReader(Lines source, Lines target)
      : first_(std::move(source)), second_(std::move(target)) {}
  bool next(SentencePair& pair);
  /// The file of the source, or of both.
  [[nodiscard]] const Lines& lines() const { return first_; }

 private:
  bool next_of_one();
  bool next_of_two(Lines& second);

  Lines first_;
  std::optional<Lines> second_;
  SentencePair read_;
};
/// One line with `|||`.
void write(std::ostream& out, const SentencePair& pair);
/// A line in each of two files.
void write(std::ostream& source, std::ostream& target, const SentencePair& pair);

}  // namespace dynet::text
