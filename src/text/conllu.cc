#include "dynet/text/conllu.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <sstream>
#include <tuple>
#include <utility>

#include "text/text_support.h"

namespace dynet::text {

namespace {

constexpr std::size_t kColumns = 10;

/// A whole number without a sign, in the whole text.
bool to_number(std::string_view text, int& number) {
  if (text.empty() || text[0] == '-') {
    return false;
  }
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc() && rest == end;
}

/// The two numbers beside a separator.
bool to_numbers(std::string_view text, char between, int& first, int& second) {
  const std::size_t at = text.find(between);
  return at != std::string_view::npos && to_number(text.substr(0, at), first) &&
         to_number(text.substr(at + 1), second);
}

auto as_tuple(const ConlluToken& t) {
  return std::tie(t.kind, t.id, t.last, t.form, t.lemma, t.upos, t.xpos, t.feats, t.head, t.deprel,
                  t.deps, t.misc);
}

/// Columns of text in their order, without id and head.
std::array<std::string ConlluToken::*, 8> text_columns() {
  return {&ConlluToken::form,  &ConlluToken::lemma,  &ConlluToken::upos, &ConlluToken::xpos,
          &ConlluToken::feats, &ConlluToken::deprel, &ConlluToken::deps, &ConlluToken::misc};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_blank(std::string_view line) { return std::all_of(line.begin(), line.end(), is_space); }

}  // namespace

bool operator==(const ConlluToken& a, const ConlluToken& b) { return as_tuple(a) == as_tuple(b); }

bool operator==(const ConlluSentence& a, const ConlluSentence& b) {
  return a.comments == b.comments && a.tokens == b.tokens;
}

std::vector<const ConlluToken*> ConlluSentence::words() const {
  std::vector<const ConlluToken*> words;
  words.reserve(tokens.size());
  for (const ConlluToken& token : tokens) {
    if (token.kind == ConlluToken::Kind::kWord) {
      words.push_back(&token);
    }
  }
  return words;
}

std::string_view ConlluSentence::comment(std::string_view name) const {
  for (const std::string& line : comments) {
    const std::string_view text = std::string_view(line).substr(1);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && trimmed(text.substr(0, equals)) == name) {
      return trimmed(text.substr(equals + 1));
    }
  }
  return {};
}

std::string_view feature(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find('|'), list.size());
    const std::string_view entry = list.substr(0, end);
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == name) {
      return entry.substr(equals + 1);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

bool ConlluReader::next(ConlluSentence& sentence) {
  if (in_sentence_) {
    skip_sentence();
  }
  std::string_view line;
  if (!lines_.next_with_words(line)) {
    return false;
  }
  read_sentence(line);
  std::swap(sentence, read_);
  return true;
}

/// The rest of a sentence with an error.
void ConlluReader::skip_sentence() {
  std::string_view line;
  while (lines_.next(line) && !is_blank(line)) {
  }
  in_sentence_ = false;
}

void ConlluReader::read_sentence(std::string_view line) {
  read_.comments.clear();
  read_.tokens.clear();
  references_.clear();
  words_ = range_end_ = empty_ = 0;
  in_sentence_ = true;
  do {
    if (line[0] != '#') {
      read_token(line);
    } else if (read_.tokens.empty()) {
      read_.comments.emplace_back(line);
    } else {
      lines_.fail(1, "a comment after a word; want a blank line before the next sentence");
    }
  } while (lines_.next(line) && !is_blank(line));
  in_sentence_ = false;
  if (words_ == 0) {
    lines_.fail(1, "the sentence ends without a word");
  }
  check_references();
}

void ConlluReader::check_references() const {
  for (const Reference& reference : references_) {
    if (reference.word > words_) {
      lines_.fail(
          reference.line, reference.column,
          "word " + std::to_string(reference.word) + " of a sentence of " + std::to_string(words_));
    }
  }
}

void ConlluReader::read_token(std::string_view line) {
  std::array<std::string_view, kColumns> fields;
  std::array<std::size_t, kColumns> columns{};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    if (begin == end) {
      lines_.fail(begin + 1, "column " + std::to_string(i + 1) + " is empty; want _ for nothing");
    }
    if ((end == line.size()) != (i + 1 == kColumns)) {
      lines_.fail(end + 1, end == line.size()
                               ? "the line ends after column " + std::to_string(i + 1) +
                                     "; want 10, separated by tabs"
                               : "more than 10 columns");
    }
    fields[i] = line.substr(begin, end - begin);
    columns[i] = begin + 1;
    begin = end + 1;
  }
  ConlluToken token;
  read_id(fields[0], token);
  std::size_t next = 1;
  for (const auto column : text_columns()) {
    next += next == 6 ? 1 : 0;
    (token.*column).assign(fields[next++]);
  }
  if (fields[6] != "_") {
    if (!to_number(fields[6], token.head)) {
      lines_.fail(columns[6], "the head is '" + std::string(fields[6]) + "'; want a number or _");
    }
    references_.push_back({token.head, lines_.number(), columns[6]});
  }
  read_.tokens.push_back(std::move(token));
}

void ConlluReader::read_id(std::string_view text, ConlluToken& token) {
  using Kind = ConlluToken::Kind;
  if (to_number(text, token.id)) {
    token.last = token.id;
    if (token.id != words_ + 1) {
      lines_.fail(1, "word " + std::to_string(token.id) + "; want " + std::to_string(words_ + 1));
    }
    ++words_;
    empty_ = 0;
  } else if (to_numbers(text, '-', token.id, token.last)) {
    token.kind = Kind::kRange;
    if (token.id != words_ + 1 || token.last < token.id || token.id <= range_end_) {
      lines_.fail(1, "the range " + std::string(text) +
                         "; want one that begins with the next word, " +
                         std::to_string(words_ + 1) + ", and is in no other");
    }
    range_end_ = token.last;
    references_.push_back({token.last, lines_.number(), 1});
  } else if (to_numbers(text, '.', token.id, token.last)) {
    token.kind = Kind::kEmpty;
    if (token.id != words_ || token.last != empty_ + 1) {
      lines_.fail(1, "the empty node " + std::string(text) + "; want " + std::to_string(words_) +
                         "." + std::to_string(empty_ + 1));
    }
    ++empty_;
  } else {
    lines_.fail(1, "'" + std::string(text) + "' is no number of a word; want 3, 3-4 or 3.1");
  }
}

namespace {

std::string to_text(const ConlluSentence& sentence) {
  std::ostringstream out;
  for (const std::string& comment : sentence.comments) {
    out << comment << '\n';
  }
  for (const ConlluToken& token : sentence.tokens) {
    using Kind = ConlluToken::Kind;
    out << token.id;
    if (token.kind != Kind::kWord) {
      out << (token.kind == Kind::kRange ? '-' : '.') << token.last;
    }
    std::size_t next = 1;
    for (const auto column : text_columns()) {
      if (next++ == 6) {
        out << '\t' << (token.head == ConlluToken::kNoHead ? "_" : std::to_string(token.head));
      }
      out << '\t' << token.*column;
    }
    out << '\n';
  }
  out << '\n';
  return out.str();
}

}  // namespace

void write(std::ostream& out, const ConlluSentence& sentence) {
  // The reader checks the sentence.
  const std::string text = to_text(sentence);
  std::istringstream in(text);
  ConlluReader reader(Lines(in, "sentence", {Encoding::kBytes}));
  ConlluSentence again;
  try {
    if (!reader.next(again) || !(again == sentence) || reader.next(again)) {
      throw errors::ValueError(
          "text::write: a comment or a column of the sentence has a line end, a tab, "
          "or nothing in it, or a comment does not begin with '#'");
    }
  } catch (const TextError& error) {
    throw errors::ValueError("text::write: " + std::string(error.what()));
  }
  out << text;
}

}  // namespace dynet::text
