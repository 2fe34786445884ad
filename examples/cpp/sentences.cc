#include "sentences.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace examples {

namespace {

/// Calls `read(word, column)` for each word of a line.
template <class Read>
void for_each_word(std::string_view text, Read read) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && !is_space(text[at])) {
      ++at;
    }
    read(text.substr(start, at - start), start + 1);
  }
}

/// Words and how often they occur, in the order in which they are first seen.
std::vector<std::pair<std::string, std::size_t>> count_words(
    const std::vector<RawSentence>& sentences) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  std::unordered_map<std::string, std::size_t> place;
  for (const RawSentence& sentence : sentences) {
    for (const std::string& word : sentence.words) {
      const auto [entry, is_new] = place.emplace(word, counts.size());
      if (is_new) {
        counts.emplace_back(word, 0);
      }
      ++counts[entry->second].second;
    }
  }
  return counts;
}

}  // namespace

RawSentence parse_tagged(std::string_view text, const std::string& file, std::size_t line) {
  RawSentence sentence;
  for_each_word(text, [&](std::string_view word, std::size_t column) {
    const std::size_t bar = word.rfind('|');
    if (bar == std::string_view::npos) {
      throw DataError(file, line, column, "a word without a tag; want word|TAG");
    }
    if (bar == 0 || bar + 1 == word.size()) {
      throw DataError(file, line, column + bar,
                      bar == 0 ? "no word before the '|'; want word|TAG"
                               : "no tag after the '|'; want word|TAG");
    }
    sentence.words.emplace_back(word.substr(0, bar));
    sentence.tags.emplace_back(word.substr(bar + 1));
  });
  return sentence;
}

RawSentence parse_words(std::string_view text) {
  RawSentence sentence;
  for_each_word(text,
                [&](std::string_view word, std::size_t) { sentence.words.emplace_back(word); });
  return sentence;
}

std::vector<RawSentence> read_tagged_file(const std::string& file) {
  std::vector<RawSentence> sentences;
  for_each_line(file, [&](const std::string& text, std::size_t line) {
    sentences.push_back(parse_tagged(text, file, line));
  });
  return sentences;
}

std::vector<RawSentence> read_text_file(const std::string& file) {
  std::vector<RawSentence> sentences;
  for_each_line(
      file, [&](const std::string& text, std::size_t) { sentences.push_back(parse_words(text)); });
  return sentences;
}

std::vector<std::string> words_seen(const std::vector<RawSentence>& sentences, std::size_t count) {
  std::vector<std::string> words;
  for (auto& [word, occurrences] : count_words(sentences)) {
    if (occurrences >= count) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<std::string> most_frequent(const std::vector<RawSentence>& sentences,
                                       std::size_t limit) {
  const std::vector<std::pair<std::string, std::size_t>> counts = count_words(sentences);
  std::vector<std::size_t> order(counts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return counts[a].second > counts[b].second;
  });
  order.resize(std::min(limit, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<std::string> words;
  words.reserve(order.size());
  for (const std::size_t i : order) {
    words.push_back(counts[i].first);
  }
  return words;
}

std::vector<std::string> characters_of(std::string_view word) {
  std::vector<std::string> characters;
  for (const char byte : word) {
    // 10xxxxxx continues a character.
    if (characters.empty() || (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) {
      characters.emplace_back();
    }
    characters.back().push_back(byte);
  }
  return characters;
}

}  // namespace examples
