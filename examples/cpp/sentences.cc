#include "sentences.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace examples {

namespace {

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

RawSentence parse_words(std::string_view text) {
  RawSentence sentence;
  text::for_each_word(
      text, [&](std::string_view word, std::size_t) { sentence.words.emplace_back(word); });
  return sentence;
}

std::vector<RawSentence> read_tagged_file(const std::string& file) {
  std::vector<RawSentence> sentences = text::TaggedReader(file).read_all();
  check_not_blank(file, sentences.size());
  return sentences;
}

std::vector<RawSentence> read_text_file(const std::string& file) {
  std::vector<RawSentence> sentences;
  for (text::Words& words : text::PlainReader(file)) {
    sentences.push_back({std::move(words), {}});
  }
  check_not_blank(file, sentences.size());
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
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return counts[a].second != counts[b].second ? counts[a].second > counts[b].second : a < b;
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

SentenceNumbers::SentenceNumbers(const Settings& settings)
    : spells_(settings["characters"] > 0),
      words_(settings.dict("words")),
      characters_(settings.dict("characters")) {
  for (const std::string& tag : settings.list("tags")) {
    tags_.convert(tag);
  }
}

Sentence SentenceNumbers::of(const RawSentence& raw) {
  Sentence sentence;
  for (const std::string& text : raw.words) {
    Word word{static_cast<unsigned>(words_.convert(text))};
    if (spells_ && word.number == 0) {
      for (const std::string& character : characters_of(text)) {
        word.letters.push_back(static_cast<unsigned>(characters_.convert(character)));
      }
    }
    sentence.words.push_back(std::move(word));
  }
  for (const std::string& tag : raw.tags) {
    sentence.tags.push_back(tags_.contains(tag) ? static_cast<unsigned>(tags_.convert(tag))
                                                : kNoTag);
  }
  return sentence;
}

}  // namespace examples
