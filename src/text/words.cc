#include "dynet/text/words.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <utility>

#include "text/text_support.h"

namespace dynet::text {

namespace {

constexpr std::string_view kBar = "|||";

void read_words(std::string_view line, Words& words) {
  Refill refill(words);
  for_each_word(line, [&](std::string_view word, std::size_t) { refill.add(word); });
  refill.end();
}

void check_no_bar(const Words& words) {
  if (std::find(words.begin(), words.end(), kBar) != words.end()) {
    throw errors::ValueError(
        "text::write: a pair of sentences with the word '|||', which separates them");
  }
}

void check_words(const Words& words) {
  for (const std::string& word : words) {
    check_word("word", word);
  }
}

void write_words(std::ostream& out, const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    out << (i == 0 ? "" : " ") << words[i];
  }
}

void check_not_empty(const Words& words) {
  if (words.empty()) {
    throw errors::ValueError("text::write: a sentence without words");
  }
}

}  // namespace

Words letters(std::string_view word) {
  const std::size_t bad = find_no_utf8(word);
  if (bad != std::string_view::npos) {
    throw errors::ValueError("text::letters: byte " + std::to_string(bad) + " of a word of " +
                             std::to_string(word.size()) + " bytes is none of UTF-8");
  }
  Words letters;
  for (const char byte : word) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) {  // the first byte of a letter
      letters.emplace_back();
    }
    letters.back().push_back(byte);
  }
  return letters;
}

bool operator==(const TaggedSentence& a, const TaggedSentence& b) {
  return a.words == b.words && a.tags == b.tags;
}

bool operator==(const SentencePair& a, const SentencePair& b) {
  return a.source == b.source && a.target == b.target;
}

bool PlainReader::next(Words& sentence) {
  std::string_view line;
  if (!lines_.next_with_words(line)) {
    return false;
  }
  read_words(line, read_);
  sentence.swap(read_);
  return true;
}

bool TaggedReader::next(TaggedSentence& sentence) {
  std::string_view line;
  if (!lines_.next_with_words(line)) {
    return false;
  }
  Refill words(read_.words);
  Refill tags(read_.tags);
  for_each_word(line, [&](std::string_view token, std::size_t column) {
    const std::size_t bar = token.rfind('|');
    if (bar == std::string_view::npos) {
      lines_.fail(column, "a word without a tag; want word|TAG");
    }
    if (bar == 0 || bar + 1 == token.size()) {
      lines_.fail(column + bar, bar == 0 ? "no word before the '|'; want word|TAG"
                                         : "no tag after the '|'; want word|TAG");
    }
    words.add(token.substr(0, bar));
    tags.add(token.substr(bar + 1));
  });
  words.end();
  tags.end();
  std::swap(sentence, read_);
  return true;
}

bool ParallelReader::next(SentencePair& pair) {
  if (!(second_ ? next_of_two(*second_) : next_of_one())) {
    return false;
  }
  std::swap(pair, read_);
  return true;
}

bool ParallelReader::next_of_one() {
  Lines& lines = first_;
  std::string_view line;
  if (!lines.next_with_words(line)) {
    return false;
  }
  Refill source(read_.source);
  Refill target(read_.target);
  bool is_target = false;
  for_each_word(line, [&](std::string_view word, std::size_t column) {
    if (word != kBar) {
      (is_target ? target : source).add(word);
    } else if (is_target) {
      lines.fail(column, "a second '|||'; want source ||| target");
    } else {
      is_target = true;
    }
  });
  if (!is_target) {
    lines.fail(line.size() + 1, "the line ends without '|||'; want source ||| target");
  }
  source.end();
  target.end();
  return true;
}

bool ParallelReader::next_of_two(Lines& second) {
  std::string_view line;
  while (second.number() < first_.number() && second.next(line)) {
  }  // behind an error in the source, the target's line is passed over too
  const bool has_source = first_.next(line);
  if (has_source) {
    read_words(line, read_.source);
  }
  const bool has_target = second.next(line);
  if (has_target) {
    read_words(line, read_.target);
  }
  if (has_source != has_target) {
    const Lines& ended = has_source ? second : first_;
    const Lines& other = has_source ? first_ : second;
    ended.fail(ended.number() + 1, 1, "the file ends here, and '" + other.file() + "' goes on");
  }
  return has_source;
}

void write(std::ostream& out, const Words& sentence) {
  check_not_empty(sentence);
  check_words(sentence);
  check_no_mark(out, sentence[0]);
  write_words(out, sentence);
  out << '\n';
}

void write(std::ostream& out, const TaggedSentence& sentence) {
  check_not_empty(sentence.words);
  if (sentence.words.size() != sentence.tags.size()) {
    throw errors::ValueError("text::write: " + std::to_string(sentence.words.size()) +
                             " words and " + std::to_string(sentence.tags.size()) +
                             " tags; want one for each word");
  }
  check_words(sentence.words);
  for (const std::string& tag : sentence.tags) {
    check_word("tag", tag, "|");
  }
  check_no_mark(out, sentence.words[0]);
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    out << (i == 0 ? "" : " ") << sentence.words[i] << '|' << sentence.tags[i];
  }
  out << '\n';
}

void write(std::ostream& out, const SentencePair& pair) {
  for (const Words* words : {&pair.source, &pair.target}) {
    check_words(*words);
    check_no_bar(*words);
  }
  if (!pair.source.empty()) {
    check_no_mark(out, pair.source[0]);
  }
  write_words(out, pair.source);
  out << " ||| ";
  write_words(out, pair.target);
  out << '\n';
}

void write(std::ostream& source, std::ostream& target, const SentencePair& pair) {
  for (const auto& [out, words] :
       {std::pair(&source, &pair.source), std::pair(&target, &pair.target)}) {
    check_words(*words);
    if (!words->empty()) {
      check_no_mark(*out, (*words)[0]);
    }
  }
  write_words(source, pair.source);
  source << '\n';
  write_words(target, pair.target);
  target << '\n';
}

}  // namespace dynet::text
