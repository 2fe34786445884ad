// Readers of sentences, numbers for what they read, random orders.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sentences.h"
#include "trees.h"

namespace examples {
namespace {

using Words = std::vector<std::string>;

/// A file with this text, gone at the end of the test.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : name_(std::filesystem::temp_directory_path() /
              ("dynet_data_test_" + std::to_string(getpid()))) {
    std::ofstream(name_, std::ios::binary) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(name_); }
  [[nodiscard]] std::string name() const { return name_.string(); }

 private:
  std::filesystem::path name_;
};

/// Where and why a reader stops.
std::string mistake(const std::function<void()>& read) {
  try {
    read();
  } catch (const DataError& e) {
    const std::string text = e.what();
    return text.substr(text.rfind('/') == std::string::npos ? 0 : text.rfind('/') + 1);
  }
  return "none";
}

TEST(Sentences, ReadsTags) {
  const TextFile file("The|I-ORG Beatles|I-ORG sang|O\r\n\n  a|b|O \t x\xc2\xa0y|O");
  const std::vector<RawSentence> sentences = read_tagged_file(file.name());
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].words, (Words{"The", "Beatles", "sang"}));
  EXPECT_EQ(sentences[0].tags, (Words{"I-ORG", "I-ORG", "O"}));
  EXPECT_EQ(sentences[1].words, (Words{"a|b", "x\xc2\xa0y"}));
}

TEST(Sentences, ReadsText) {
  const TextFile file("the  luxury auto\tmaker\r\n\n\r\nin N|N\n");
  const std::vector<RawSentence> sentences = read_text_file(file.name());
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].words, (Words{"the", "luxury", "auto", "maker"}));
  EXPECT_EQ(sentences[1].words, (Words{"in", "N|N"}));
  EXPECT_TRUE(sentences[1].tags.empty());
}

TEST(Sentences, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::vector<std::string>> cases = {
      {"The|O cat", "7: a word without a tag"},
      {"|O", "1: no word before the '|'"},
      {"a|O b|", "6: no tag after the '|'"},
      {"a|O |", "5: no word before the '|'"},
  };
  for (const auto& one : cases) {
    const TextFile file("fine|O\n\n" + one[0] + "\nfine|O\n");
    const std::string found = mistake([&] { read_tagged_file(file.name()); });
    EXPECT_NE(found.find(":3:" + one[1]), std::string::npos) << one[0] << ": " << found;
  }
  const TextFile blank("\n \r\n\t\n");
  Dict vocabulary;
  const std::vector<std::function<void()>> readers = {
      [&] { read_tagged_file(blank.name()); }, [&] { read_text_file(blank.name()); },
      [&] { read_tree_file(blank.name(), vocabulary, 5); }};
  for (const auto& reader : readers) {
    EXPECT_NE(mistake(reader).find(":1:1: nothing but blank lines"), std::string::npos);
  }
  EXPECT_THROW(read_text_file("/no/such/file"), std::runtime_error);
  EXPECT_THROW(read_text_file("/"), std::runtime_error);
}

TEST(Sentences, FrequentWords) {
  const TextFile file("a b b c\nc c d e\n");
  const std::vector<RawSentence> sentences = read_text_file(file.name());
  EXPECT_EQ(words_seen(sentences, 1), (Words{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(words_seen(sentences, 2), (Words{"b", "c"}));
  EXPECT_EQ(words_seen(sentences, 4), Words());
  EXPECT_EQ(most_frequent(sentences, 1), (Words{"c"}));
  EXPECT_EQ(most_frequent(sentences, 3), (Words{"a", "b", "c"}));
  EXPECT_EQ(most_frequent(sentences, 9), (Words{"a", "b", "c", "d", "e"}));
}

TEST(Sentences, CharactersOfAWord) {
  EXPECT_EQ(characters_of("Zo\xc3\xab"), (Words{"Z", "o", "\xc3\xab"}));
  EXPECT_EQ(characters_of("\xe6\x97\xa5\xe6\x9c\xac"), (Words{"\xe6\x97\xa5", "\xe6\x9c\xac"}));
  EXPECT_EQ(characters_of("\xf0\x9f\x98\x80!"), (Words{"\xf0\x9f\x98\x80", "!"}));
  EXPECT_EQ(characters_of("\x80z\x80"), (Words{"\x80", "z\x80"}));
  EXPECT_TRUE(characters_of("").empty());
}

TEST(Settings, NumbersForWords) {
  const Settings settings{"x", {{"hidden", 3}}, {{"words", {"<unk>", "a", "b"}}, {"tags", {}}}};
  EXPECT_EQ(settings["hidden"], 3U);
  EXPECT_EQ(settings["words"], 3U);
  EXPECT_EQ(settings["tags"], 0U);
  Dict words = settings.dict("words");
  EXPECT_EQ(words.get_words(), settings.list("words"));
  EXPECT_EQ(words.convert("b"), 2);
  EXPECT_EQ(words.convert("new"), 0);
  EXPECT_EQ(settings.dict("tags").size(), 0U);
  EXPECT_THROW(static_cast<void>(settings["mlp"]), std::runtime_error);
  EXPECT_THROW(static_cast<void>(settings.dict("mlp")), std::runtime_error);
}

TEST(Random, OrderIsAPermutation) {
  Random random(3);
  std::vector<std::size_t> order = random_order(100, random);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], i);
  }
}

// The Python twin of this test expects the same.
TEST(Random, MinibatchesHaveEveryExampleOnceAPass) {
  Minibatches batches(1, 7, 3);
  EXPECT_EQ(batches.updates_an_epoch(), 3U);
  std::vector<std::vector<std::size_t>> passes(2);
  std::vector<std::size_t> sizes;
  for (int update = 0; update < 6; ++update) {
    const std::vector<std::size_t>& batch = batches.next();
    sizes.push_back(batch.size());
    passes[static_cast<std::size_t>(update / 3)].insert(
        passes[static_cast<std::size_t>(update / 3)].end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 1, 3, 3, 1}));
  EXPECT_EQ(passes[0], (std::vector<std::size_t>{1, 6, 0, 4, 3, 5, 2}));
  EXPECT_NE(passes[0], passes[1]);
  for (std::vector<std::size_t>& pass : passes) {
    std::sort(pass.begin(), pass.end());
    EXPECT_EQ(pass, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  }
}

}  // namespace
}  // namespace examples
