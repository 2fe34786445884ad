// Real corpora are read completely. They are not part of the project: the environment variable
// DYNET_TEST_CORPORA names the folder, whose README has the sources; without it the tests are
// skipped. Other programs counted the expected numbers.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "dynet/text/conllu.h"
#include "dynet/text/trees.h"
#include "dynet/text/words.h"

namespace dynet::text {
namespace {

class Corpora : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("DYNET_TEST_CORPORA");
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "DYNET_TEST_CORPORA names no folder of corpora";
    }
    folder_ = std::string(folder) + "/";
  }
  std::string folder_;  // NOLINT(readability-identifier-naming): tests see it
};

struct Count {
  const char* file;
  std::size_t sentences;
  std::size_t words;
  std::size_t other = 0;
};

TEST_F(Corpora, PlainText) {
  for (const Count& wanted :
       {Count{"text/train.txt", 10000, 212113}, Count{"text/valid.txt", 3370, 70390},
        Count{"text/test.txt", 3761, 78669}}) {
    std::size_t sentences = 0;
    std::size_t words = 0;
    for (const Words& sentence : PlainReader(folder_ + wanted.file)) {
      ++sentences;
      words += sentence.size();
    }
    EXPECT_EQ(sentences, wanted.sentences) << wanted.file;
    EXPECT_EQ(words, wanted.words) << wanted.file;
  }
}

TEST_F(Corpora, Tags) {
  // other: words with another tag than O
  for (const Count& wanted :
       {Count{"tags/train.txt", 10000, 248038, 34089}, Count{"tags/dev.txt", 1696, 39007, 6431}}) {
    std::size_t sentences = 0;
    std::size_t words = 0;
    std::size_t entities = 0;
    for (const TaggedSentence& sentence : TaggedReader(folder_ + wanted.file)) {
      ++sentences;
      words += sentence.words.size();
      for (const std::string& tag : sentence.tags) {
        entities += tag == "O" ? 0 : 1;
      }
    }
    EXPECT_EQ(sentences, wanted.sentences) << wanted.file;
    EXPECT_EQ(words, wanted.words) << wanted.file;
    EXPECT_EQ(entities, wanted.other) << wanted.file;
  }
}

TEST_F(Corpora, Trees) {
  // other: nodes with a label
  for (const Count& wanted :
       {Count{"trees/train.txt", 8544, 163563, 318582}, Count{"trees/dev.txt", 1101, 21274, 41447},
        Count{"trees/test.txt", 2210, 42405, 82600}}) {
    std::size_t trees = 0;
    std::size_t words = 0;
    std::size_t labels = 0;
    TreeReader reader(folder_ + wanted.file, TreeReader::Layout::kOnePerLine);
    for (const Tree& tree : reader) {
      ++trees;
      words += tree.words().size();
      labels += tree.nodes.size() - tree.words().size();
    }
    EXPECT_EQ(trees, wanted.sentences) << wanted.file;
    EXPECT_EQ(words, wanted.words) << wanted.file;
    EXPECT_EQ(labels, wanted.other) << wanted.file;
  }
}

TEST_F(Corpora, Treebank) {
  struct Treebank {
    const char* file;
    std::size_t sentences, words, ranges, comments, heads;
  };
  for (const Treebank& wanted : {Treebank{"train", 3457, 64684, 690, 6923, 832972},
                                 Treebank{"dev", 1118, 21637, 250, 2245, 295751},
                                 Treebank{"test", 1121, 19984, 228, 2251, 244073}}) {
    Treebank found{wanted.file, 0, 0, 0, 0, 0};
    for (const ConlluSentence& s :
         ConlluReader(folder_ + "ud/en_lines-ud-" + wanted.file + ".conllu")) {
      ++found.sentences;
      found.comments += s.comments.size();
      found.ranges += s.tokens.size() - s.words().size();
      for (const ConlluToken* word : s.words()) {
        ++found.words;
        found.heads += static_cast<std::size_t>(word->head);
      }
    }
    EXPECT_EQ(found.sentences, wanted.sentences) << wanted.file;
    EXPECT_EQ(found.words, wanted.words) << wanted.file;
    EXPECT_EQ(found.ranges, wanted.ranges) << wanted.file;
    EXPECT_EQ(found.comments, wanted.comments) << wanted.file;
    EXPECT_EQ(found.heads, wanted.heads) << wanted.file;
  }
}

TEST_F(Corpora, ParallelText) {
  struct Parallel {
    const char* file;
    std::size_t pairs, source, target;
  };
  for (const Parallel& wanted :
       {Parallel{"train", 10000, 136900, 93086}, Parallel{"dev", 500, 6681, 4557}}) {
    Parallel found{wanted.file, 0, 0, 0};
    const std::string file = folder_ + "parallel/" + wanted.file;
    for (const SentencePair& pair : ParallelReader(file + ".ja", file + ".en")) {
      ++found.pairs;
      found.source += pair.source.size();
      found.target += pair.target.size();
    }
    EXPECT_EQ(found.pairs, wanted.pairs) << wanted.file;
    EXPECT_EQ(found.source, wanted.source) << wanted.file;
    EXPECT_EQ(found.target, wanted.target) << wanted.file;
  }
}

}  // namespace
}  // namespace dynet::text
