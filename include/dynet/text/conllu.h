#pragma once

// Treebanks in CoNLL-U (https://universaldependencies.org/format.html): a line per word with ten
// columns that tabs separate, a blank line after each sentence, comments before it.
//
//   # text = Vámonos al mar
//   1-2  Vámonos  _      _    _ _ _ _    _ _     words 1 and 2 are written as one
//   1    Vamos    ir     VERB _ _ 0 root _ _
//   2    nos      nosotr PRON _ _ 1 obj  _ _
//   2.1  fuimos   ir     VERB _ _ _ _    1:conj _   an empty node, of the enhanced graph only

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/text/lines.h"

namespace dynet::text {

/// A line of a sentence. Columns are as in the file: `_` for nothing.
struct ConlluToken {
  enum class Kind : std::uint8_t { kWord, kRange, kEmpty };
  static constexpr int kNoHead = -1;

  Kind kind = Kind::kWord;
  /// The word's number; the first word of a range; the word before an empty node (0: none).
  int id = 1;
  /// The last word of a range; which empty node after that word, from 1; else `id`.
  int last = 1;
  std::string form = "_";
  std::string lemma = "_";
  std::string upos = "_";
  std::string xpos = "_";
  std::string feats = "_";
  /// The number of a word, 0 for the root.
  ///
  /// C++: kNoHead for `_`.
  ///
  /// Python: None for `_`.
  int head = kNoHead;
  std::string deprel = "_";
  std::string deps = "_";
  std::string misc = "_";
};
[[nodiscard]] bool operator==(const ConlluToken& a, const ConlluToken& b);

/// A sentence in CoNLL-U. Words are numbered 1, 2, ... in order; a range stands before its first
/// word, does not overlap another and ends with a word that exists; empty nodes stand after their
/// word, numbered from 1; heads exist.
///
/// C++: Invariants of sentences that were read.
///
/// Python: `str` is its text.
struct ConlluSentence {
  /// The lines before the first token, with their '#'.
  std::vector<std::string> comments;
  /// All lines, in order.
  std::vector<ConlluToken> tokens;

  /// The tokens that are words, as a tagger or a parser sees them.
  ///
  /// C++: They live as long as the sentence.
  [[nodiscard]] std::vector<const ConlluToken*> words() const;
  /// The text after `# name =` in a comment, such as "text" or "sent_id"; empty if absent.
  [[nodiscard]] std::string_view comment(std::string_view name) const;
};
[[nodiscard]] bool operator==(const ConlluSentence& a, const ConlluSentence& b);

/// The value of a name in a list `Case=Nom|Number=Sing` (columns FEATS and MISC); empty if it is
/// absent.
[[nodiscard]] std::string_view feature(std::string_view list, std::string_view name);

/// The sentences of a treebank in CoNLL-U. TextError for a broken invariant, lines without ten
/// columns, empty columns, and comments that no sentence follows. After an error reading goes on
/// with the next sentence.
///
/// C++: Not thread-safe.
///
/// Python: An iterator over the sentences.
class ConlluReader : public Stream<ConlluReader, ConlluSentence> {
 public:
  explicit ConlluReader(Lines lines) : lines_(std::move(lines)) {}
  /// False at the end. An error leaves `sentence` as it was.
  bool next(ConlluSentence& sentence);
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  void read_token(std::string_view line);
  void read_id(std::string_view text, ConlluToken& token);
  void read_sentence(std::string_view line);
  void check_references() const;
  void skip_sentence();

  /// Where a number stands that can be checked at the end of the sentence only.
  struct Reference {
    int word;
    std::size_t line;
    std::size_t column;
  };

  Lines lines_;
  ConlluSentence read_;
  std::vector<Reference> references_;
  int words_ = 0;      ///< of this sentence so far
  int range_end_ = 0;  ///< last word of the last range
  int empty_ = 0;      ///< empty nodes since the last word
  bool in_sentence_ = false;
};

/// Writes a sentence and the blank line after it. ValueError for a sentence that the reader would
/// refuse.
void write(std::ostream& out, const ConlluSentence& sentence);

}  // namespace dynet::text
