// Dictionaries to disk and back.

#include "dynet/text/dict_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "dynet/except.h"
#include "dynet/text/lines.h"

#include "testing/temporary_folder.h"

namespace dynet::text {
namespace {

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(DictFile, ComesBackWithTheSameIds) {
  const dynet::testing::TemporaryFolder folder;
  const std::string file = folder.file("words");
  Dict dict;
  for (const char* word : {"b", "a", "New York", "\xE6\x97\xA5", "<unk>"}) {
    dict.convert(word);
  }
  dict.freeze();
  dict.set_unk("<unk>");
  save_dict(file, dict);
  EXPECT_EQ(content(file), "b\na\nNew York\n\xE6\x97\xA5\n<unk>\n");
  Dict again = load_dict(file);
  EXPECT_EQ(again.get_words(), dict.get_words());
  EXPECT_FALSE(again.is_frozen());
  EXPECT_EQ(again.get_unk_id(), -1);
  again.freeze();
  again.set_unk("<unk>");
  EXPECT_EQ(again.convert("other"), 4);
  EXPECT_EQ(again.size(), 5U);
  save_dict(file, Dict());
  EXPECT_EQ(load_dict(file).size(), 0U);
}

TEST(DictFile, ManyWords) {
  const dynet::testing::TemporaryFolder folder;
  Dict dict;
  for (int i = 0; i < 50000; ++i) {
    dict.convert("word" + std::to_string(i * 7919));
  }
  save_dict(folder.file("words"), dict);
  EXPECT_EQ(load_dict(folder.file("words")).get_words(), dict.get_words());
}

TEST(DictFile, WordsThatAreNoLineAreRefusedAndTheOldFileStays) {
  const dynet::testing::TemporaryFolder folder;
  const std::string file = folder.file("words");
  std::ofstream(file) << "old\n";
  for (const std::string& word :
       {std::string(), std::string(" a"), std::string("a\r"), std::string("a\nb"),
        std::string("a\0b", 3), std::string("\xC3"), std::string("\xEF\xBB\xBFx")}) {
    Dict dict;
    dict.convert(word);
    dict.convert("fine");
    EXPECT_THROW(save_dict(file, dict), errors::ValueError) << word;
    EXPECT_EQ(content(file), "old\n");
  }
  // The mark is a mark at the front of the file only.
  Dict dict;
  dict.convert("fine");
  dict.convert("\xEF\xBB\xBFx");
  save_dict(file, dict);
  EXPECT_EQ(load_dict(file).get_words(), dict.get_words());
  EXPECT_THROW(save_dict(folder.file("no/such/folder"), dict), errors::IoError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(DictFile, DamageIsAnErrorWithItsLine) {
  const dynet::testing::TemporaryFolder folder;
  const std::string file = folder.file("words");
  const auto mistake = [&](const std::string& text) -> std::string {
    std::ofstream(file, std::ios::binary) << text;
    try {
      static_cast<void>(load_dict(file));
    } catch (const TextError& e) {
      return std::string(e.what()).substr(file.size());
    }
    return "none";
  };
  EXPECT_EQ(mistake("a\nb\r\nc"), "none");
  EXPECT_EQ(mistake("a\nb\na\n"), ":3:1: 'a' stands in line 1 already");
  EXPECT_EQ(mistake("a\n\nb\n"), ":2:1: an empty word; want a word per line");
  EXPECT_EQ(mistake("a\n b\n"), ":2:1: a word with white space around it; want a word per line");
  EXPECT_EQ(mistake(std::string("a\0\n", 3)).substr(0, 16), ":1:2: a zero byt");
  EXPECT_THROW(static_cast<void>(load_dict(folder.file("none"))), errors::IoError);
}

}  // namespace
}  // namespace dynet::text
