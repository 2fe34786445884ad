#include "dynet/text/columns.h"

#include <algorithm>
#include <ostream>

#include "text/text_support.h"

namespace dynet::text {

namespace {
constexpr std::string_view kDocument = "-DOCSTART-";
}  // namespace

bool operator==(const ColumnSentence& a, const ColumnSentence& b) {
  return a.starts_document == b.starts_document && a.columns == b.columns;
}

bool ColumnReader::next(ColumnSentence& sentence) {
  count_ = 0;
  std::string_view line;
  while (lines_.next(line)) {
    if (!std::all_of(line.begin(), line.end(), is_space)) {
      read_line(line);
    } else if (count_ > 0) {
      break;
    }
  }
  if (count_ == 0) {
    return false;
  }
  for (std::vector<std::string>& column : read_.columns) {
    column.resize(count_);
  }
  read_.starts_document = starts_document_;
  starts_document_ = false;
  std::swap(sentence, read_);
  return true;
}

void ColumnReader::read_line(std::string_view line) {
  std::size_t begin = 0;  // of the first word
  while (is_space(line[begin])) {
    ++begin;
  }
  const std::string_view rest = line.substr(begin);
  if (rest.substr(0, kDocument.size()) == kDocument &&
      (rest.size() == kDocument.size() || is_space(rest[kDocument.size()]))) {
    if (count_ > 0) {
      lines_.fail(begin + 1, "-DOCSTART- in a sentence; want a blank line before it");
    }
    starts_document_ = true;
    return;
  }
  std::size_t found = 0;
  read_.columns.resize(std::max(columns_, read_.columns.size()));
  for_each_word(line, [&](std::string_view field, std::size_t column) {
    if (columns_ > 0 && found == columns_) {
      lines_.fail(column,
                  "column " + std::to_string(found + 1) + "; want " + std::to_string(columns_));
    }
    if (found == read_.columns.size()) {
      read_.columns.emplace_back();
    }
    std::vector<std::string>& list = read_.columns[found++];
    if (list.size() == count_) {
      list.emplace_back(field);
    } else {
      list[count_].assign(field);
    }
  });
  if (columns_ == 0) {
    columns_ = found;
  }
  read_.columns.resize(columns_);
  if (found < columns_) {
    lines_.fail(line.size() + 1, "the line ends after column " + std::to_string(found) + "; want " +
                                     std::to_string(columns_));
  }
  ++count_;
}

void write(std::ostream& out, const ColumnSentence& sentence) {
  if (sentence.size() == 0) {
    throw errors::ValueError("text::write: a sentence without words");
  }
  for (const std::vector<std::string>& column : sentence.columns) {
    if (column.size() != sentence.size()) {
      throw errors::ValueError("text::write: columns of " + std::to_string(sentence.size()) +
                               " and " + std::to_string(column.size()) +
                               " fields; want as many in each");
    }
    for (const std::string& field : column) {
      check_word("field", field);
    }
  }
  const auto& words = sentence.columns[0];
  if (std::find(words.begin(), words.end(), kDocument) != words.end()) {
    throw errors::ValueError("text::write: the word '-DOCSTART-', which begins a document");
  }
  if (!sentence.starts_document) {
    check_no_mark(out, words[0]);
  }
  if (sentence.starts_document) {
    out << kDocument;
    for (std::size_t column = 1; column < sentence.columns.size(); ++column) {
      out << (column + 1 == sentence.columns.size() ? " O" : " -X-");
    }
    out << "\n\n";
  }
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    for (std::size_t column = 0; column < sentence.columns.size(); ++column) {
      out << (column == 0 ? "" : " ") << sentence.columns[column][i];
    }
    out << '\n';
  }
  out << '\n';
}

}  // namespace dynet::text
