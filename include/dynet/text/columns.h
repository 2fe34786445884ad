#pragma once

// Sentences with a word per line and its labels beside it, as in the shared task of CoNLL-2003:
//
//   -DOCSTART- -X- -X- O
//
//   EU NNP B-NP B-ORG
//   rejects VBZ B-VP O
//
// A blank line ends a sentence. Columns are separated by white space; CoNLL-2003 has four of them
// (word, part of speech, chunk, entity) in English and five in German, other tasks have two or
// more.

#include <iosfwd>
#include <string>
#include <vector>

#include "dynet/text/lines.h"

namespace dynet::text {

/// A sentence with a word per line and its labels beside it. All columns are equally long, and not
/// empty.
struct ColumnSentence {
  /// Whether the sentence stands first after -DOCSTART-.
  bool starts_document = false;
  /// The columns; the first one has the words.
  std::vector<std::vector<std::string>> columns;

  /// The first column.
  [[nodiscard]] const std::vector<std::string>& words() const { return columns.at(0); }
  [[nodiscard]] std::size_t size() const { return columns.empty() ? 0 : columns[0].size(); }
};
[[nodiscard]] bool operator==(const ColumnSentence& a, const ColumnSentence& b);

/// Sentences in columns, as in CoNLL-2003, with a word per line and its labels beside it. TextError
/// for a line with another number of columns, and for -DOCSTART- inside a sentence. After an error
/// reading goes on with the next line.
///
/// C++: Not thread-safe.
///
/// Python: An iterator over the sentences. With 0 there are as many `columns` as the first line
/// has.
class ColumnReader : public Stream<ColumnReader, ColumnSentence> {
 public:
  /// `columns`: their number; 0: the number in the first line.
  explicit ColumnReader(Lines lines, std::size_t columns = 4)
      : lines_(std::move(lines)), columns_(columns) {}
  /// False at the end. An error leaves `sentence` as it was.
  bool next(ColumnSentence& sentence);
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  void read_line(std::string_view line);

  Lines lines_;
  std::size_t columns_;
  ColumnSentence read_;
  std::size_t count_ = 0;  ///< lines of this sentence
  bool starts_document_ = false;
};

/// Writes a sentence and the blank line after it. ValueError for a sentence that the reader would
/// refuse.
void write(std::ostream& out, const ColumnSentence& sentence);

}  // namespace dynet::text
