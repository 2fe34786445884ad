#include "dynet/pretrain.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>

#include "dynet/expr.h"
#include "dynet/training.h"

#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using Vectors = std::unordered_map<int, Floats>;

class Pretrain : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  [[nodiscard]] std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] Vectors read(Dict& d) const {
    Vectors vectors;
    read_pretrained_embeddings(file, d, vectors);
    return vectors;
  }
  /// Reading throws, with the place (line:column) and `what` in the text, and adds nothing
  /// anywhere.
  void expect_damage(const std::string& text, const std::string& place,
                     const std::string& what) const {
    write(text);
    Dict d;
    Vectors vectors;
    try {
      read_pretrained_embeddings(file, d, vectors);
      ADD_FAILURE() << text;
    } catch (const errors::IoError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find(file + ':' + place + ": "), std::string::npos) << message;
      EXPECT_NE(message.find(what), std::string::npos) << message;
    }
    EXPECT_EQ(d.size(), 0U);
    EXPECT_TRUE(vectors.empty());
  }
  testing::TemporaryFolder folder_;
  std::string file = folder_.file("words.vec");
};

TEST_F(Pretrain, WhatIsWrittenComesBackToTheBit) {
  Dict d;
  for (const char* word : {"the", "3", "|||"}) {
    d.convert(word);
  }
  const Floats numbers{0.1F, -1.5F, 1e-30F, std::numeric_limits<float>::max(), 0, 1.0F / 3};
  ParameterCollection model;
  const LookupParameter lp = model.add_lookup_parameters(4, {2}, ParameterInitConst(7));
  const auto vector = [&numbers](std::size_t i) {
    return Floats{numbers[2 * i], numbers[2 * i + 1]};
  };
  for (unsigned i = 0; i < 3; ++i) {
    lp.initialize(i, vector(i));
  }
  save_pretrained_embeddings(file, d, lp);
  EXPECT_EQ(content().substr(0, 13), "the 0.1 -1.5\n");
  Dict other;
  const Vectors vectors = read(other);
  EXPECT_EQ(other.get_words(), d.get_words());
  ASSERT_EQ(vectors.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(vectors.at(i), vector(static_cast<std::size_t>(i)));
  }
}

TEST_F(Pretrain, EffectiveValuesAreWritten) {
  Dict d;
  d.convert("a");
  ParameterCollection model(0.5F);
  const LookupParameter lp = model.add_lookup_parameters(1, {1}, ParameterInitConst(8));
  SimpleSGDTrainer(model, 0.1F).update();
  ASSERT_LT(lp.current_weight_decay(), 1.0F) << "else this tests nothing";
  save_pretrained_embeddings(file, d, lp);
  EXPECT_EQ(content(), "a 4\n");
}

/// Rows given after updates have the given numbers, and the other rows keep theirs.
TEST_F(Pretrain, EffectiveValuesAreGiven) {
  ParameterCollection model(0.5F);
  const LookupParameter lp = model.add_lookup_parameters(3, {1}, ParameterInitConst(8));
  SimpleSGDTrainer(model, 0.1F).update();
  ASSERT_LT(lp.current_weight_decay(), 1.0F) << "else this tests nothing";
  lp.initialize(1, {3});
  ComputationGraph cg;
  EXPECT_EQ(as_vector(lookup(cg, lp, std::vector<unsigned>{0, 1, 2}).value()), (Floats{4, 3, 4}));
}

TEST_F(Pretrain, WhatCannotBeWrittenLeavesTheOldFile) {
  write("old");
  Dict d;
  d.convert("a");
  d.convert("b");
  ParameterCollection model;
  EXPECT_THROW(save_pretrained_embeddings(file, d, model.add_lookup_parameters(1, {2})),
               errors::SizeError);
  d.convert("b c");
  EXPECT_THROW(save_pretrained_embeddings(file, d, model.add_lookup_parameters(3, {2})),
               errors::ValueError);
  EXPECT_THROW(save_pretrained_embeddings(file, d, LookupParameter()), errors::StateError);
  EXPECT_EQ(content(), "old");
  Dict one;
  one.convert("a");
  const LookupParameter row = model.add_lookup_parameters(1, {2});
  const std::string nowhere = folder_.file("none/words.vec");
  EXPECT_NE(testing::text_of_error<std::invalid_argument>([&] {
              save_pretrained_embeddings(nowhere, one, row);
            }).find("none/words.vec"),
            std::string::npos);
}

TEST_F(Pretrain, FilesOfOtherPrograms) {
  Dict d;
  write("2 3\nthe 1 2 3e-60 \nof\t+0.5 -1e-3 2\r\n");  // word2vec, fastText
  EXPECT_EQ(read(d), (Vectors{{0, {1, 2, 0}}, {1, {0.5F, -1e-3F, 2}}}));
  Dict glove;
  write("the 1 2\n. . . 3 4\nthe 5 6");  // a word with spaces; one that is there twice
  EXPECT_EQ(read(glove), (Vectors{{0, {5, 6}}, {1, {3, 4}}}));
  EXPECT_EQ(glove.get_words(), (std::vector<std::string>{"the", ". . ."}));
  Dict one;
  write("2 1\na 1\nb 2\n");  // the number of lines in the first line
  EXPECT_EQ(read(one), (Vectors{{0, {1}}, {1, {2}}}));
  Dict none;
  write("0 300\n");
  EXPECT_TRUE(read(none).empty());
  Dict numbers;
  write("20 1\n30 2\n");  // no first line, but words that are numbers
  EXPECT_EQ(read(numbers), (Vectors{{0, {1}}, {1, {2}}}));
  EXPECT_EQ(numbers.get_words(), (std::vector<std::string>{"20", "30"}));
  Dict marked;
  write(
      "\xEF\xBB\xBF"
      "1 2\na 3 4\n");  // the mark of UTF-8 files before the first line
  EXPECT_EQ(read(marked), (Vectors{{0, {3, 4}}}));
}

TEST_F(Pretrain, FrozenDictionaries) {
  Dict d;
  d.convert("a");
  d.convert("b");
  d.freeze();
  write("b 1 2\nx 3 4\n");
  Vectors vectors;
  EXPECT_THROW(read_pretrained_embeddings(file, d, vectors), errors::UsageError);
  EXPECT_TRUE(vectors.empty());
  d.set_unk("UNK");
  EXPECT_EQ(read(d), (Vectors{{1, {1, 2}}}));
}

TEST_F(Pretrain, DamageIsFound) {
  Dict d;
  Vectors vectors;
  EXPECT_THROW(read_pretrained_embeddings(folder_.file("none"), d, vectors), std::invalid_argument);
  expect_damage("", "1:1", "no embeddings");
  expect_damage("\n\n", "2:1", "no embeddings");
  expect_damage("the\n", "1:1", "no numbers");
  expect_damage("the 1 2\nof 3\n", "2:4", "1 numbers; want 2");
  expect_damage("the 1 2\nof 3 4 5\n", "2:4", "more numbers than the 2");
  expect_damage("the 1 2\n\nof 3 x\n", "3:6", "'x'");
  expect_damage("the 1 nan\n", "1:7", "'nan'");
  expect_damage("the 1e39 2\n", "1:5", "'1e39'");
  expect_damage("3 2\nthe 1 2\nof 3 4\n", "3:1", "says 3 words; there are 2");
  expect_damage("2 300\n", "1:1", "says 2 words; there are 0");
  expect_damage("2 2\nthe 1\nof 3 4\n", "2:5", "1 numbers; want 2");
  expect_damage("\xEF\xBB\xBFthe x\n", "1:5", "'x'");  // the mark is no column
}

}  // namespace
}  // namespace dynet
