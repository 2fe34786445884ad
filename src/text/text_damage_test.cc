// Random sentences are read back as written, and damaged text is read as another text or refused
// with a place that exists: no crash, no endless loop.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "dynet/text/columns.h"
#include "dynet/text/conllu.h"
#include "dynet/text/trees.h"
#include "dynet/text/words.h"

#include "testing/random.h"

namespace dynet::text {
namespace {

using dynet::testing::Random;

constexpr int kRounds = 300;

/// A word with anything in it that a format might take for something else.
std::string random_word(Random& random, bool may_have_brackets = true) {
  static const std::vector<std::string> kParts = {"a",
                                                  "Bc",
                                                  "|",
                                                  "||",
                                                  "#",
                                                  "-",
                                                  "_",
                                                  "1",
                                                  "=",
                                                  ".",
                                                  "\\",
                                                  "\"",
                                                  "\xC3\xA9",
                                                  "\xE6\x97\xA5",
                                                  "\xF0\x9F\x98\x80",
                                                  "\xC2\xA0",
                                                  "(",
                                                  ")",
                                                  "[x]"};
  std::string word = "w";
  const unsigned parts = random.below(5);
  for (unsigned i = 0; i < parts; ++i) {
    const std::string& part = kParts[random.below(static_cast<unsigned>(kParts.size()))];
    word += may_have_brackets || (part != "(" && part != ")") ? part : "";
  }
  return random.chance(0.1) ? word.substr(1) + "1" : word;
}

Words random_words(Random& random, unsigned least) {
  Words words(least + random.below(6));
  for (std::string& word : words) {
    word = random_word(random);
  }
  return words;
}

struct Plain {
  using Reader = PlainReader;
  static constexpr bool kBeginsWithAWord = true;
  static Words make(Random& random) { return random_words(random, 1); }
};
struct Tagged {
  using Reader = TaggedReader;
  static constexpr bool kBeginsWithAWord = true;
  static TaggedSentence make(Random& random) {
    TaggedSentence sentence{random_words(random, 1), {}};
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      sentence.tags.push_back("T" + std::to_string(random.below(4)));
    }
    return sentence;
  }
};
struct Parallel {
  using Reader = ParallelReader;
  static constexpr bool kBeginsWithAWord = true;
  static SentencePair make(Random& random) {
    return {random_words(random, 0), random_words(random, 0)};
  }
};
struct Columns {
  using Reader = ColumnReader;
  static constexpr bool kBeginsWithAWord = true;
  static ColumnSentence make(Random& random) {
    ColumnSentence sentence{random.chance(0.2), {random_words(random, 1)}};
    for (int column = 1; column < 4; ++column) {
      sentence.columns.emplace_back();
      for (std::size_t i = 0; i < sentence.size(); ++i) {
        sentence.columns.back().push_back(random_word(random));
      }
    }
    return sentence;
  }
};
struct Conllu {
  using Reader = ConlluReader;
  static constexpr bool kBeginsWithAWord = false;
  static void add_empty(Random& random, ConlluSentence& sentence, int after) {
    const int count = static_cast<int>(random.below(3));
    for (int i = 1; i <= count; ++i) {
      ConlluToken token;
      token.kind = ConlluToken::Kind::kEmpty;
      token.id = after;
      token.last = i;
      token.deps = random_word(random);
      sentence.tokens.push_back(token);
    }
  }
  static ConlluSentence make(Random& random) {
    ConlluSentence sentence;
    for (unsigned i = random.below(3); i > 0; --i) {
      sentence.comments.push_back("# " + random_word(random) + " =\t" + random_word(random));
    }
    const unsigned count = 1 + random.below(7);
    int range_end = 0;
    if (random.chance(0.1)) {
      add_empty(random, sentence, 0);
    }
    for (int id = 1; id <= static_cast<int>(count); ++id) {
      ConlluToken token;
      token.id = id;
      if (id > range_end && random.chance(0.2)) {
        token.kind = ConlluToken::Kind::kRange;
        range_end = token.last =
            id + static_cast<int>(random.below(count - static_cast<unsigned>(id) + 1));
        token.form = random_word(random);
        sentence.tokens.push_back(token);
        token.kind = ConlluToken::Kind::kWord;
      }
      token.last = id;
      token.form = random_word(random) + (random.chance(0.1) ? " b" : "");
      token.lemma = random_word(random);
      token.feats = random.chance(0.5) ? "_" : "Case=Nom|Number=" + random_word(random);
      token.head =
          random.chance(0.1) ? ConlluToken::kNoHead : static_cast<int>(random.below(count + 1));
      token.deprel = random_word(random);
      token.misc = random_word(random);
      sentence.tokens.push_back(token);
      if (random.chance(0.1)) {
        add_empty(random, sentence, id);
      }
    }
    return sentence;
  }
};
struct Trees {
  using Reader = TreeReader;
  static constexpr bool kBeginsWithAWord = false;
  /// From words upwards: neighbours get a parent until one node is left.
  static Tree make(Random& random) {
    Tree tree;
    struct Part {
      unsigned node;
      bool is_word;
    };
    std::vector<Part> parts;
    for (unsigned i = 1 + random.below(6); i > 0; --i) {
      const unsigned word = tree.add(random_word(random, false));
      parts.push_back(random.chance(0.9) ? Part{tree.add(random_word(random, false), {word}), false}
                                         : Part{word, true});
    }
    // Children stand in order beside each other, so each group is taken from the right end.
    while (parts.size() > 1 || parts[0].is_word) {
      const auto most = static_cast<unsigned>(parts.size());
      const unsigned count = 1 + random.below(most);
      std::vector<unsigned> children;
      bool has_word = false;
      for (std::size_t i = parts.size() - count; i < parts.size(); ++i) {
        children.push_back(parts[i].node);
        has_word = has_word || parts[i].is_word;
      }
      parts.resize(parts.size() - count);
      const bool has_no_label = parts.empty() && count > 1 && !has_word && random.chance(0.3);
      parts.push_back({tree.add(has_no_label ? "" : random_word(random, false), children), false});
    }
    return tree;
  }
};

template <class Format>
class FormatTest : public ::testing::Test {};
using Formats = ::testing::Types<Plain, Tagged, Parallel, Columns, Conllu, Trees>;
TYPED_TEST_SUITE(FormatTest, Formats);

/// Lines end as on other systems, blank lines, a mark, no end of the last line.
std::string disguised(Random& random, std::string text) {
  if (random.chance(0.3)) {
    std::string other;
    for (const char c : text) {
      other += c == '\n' ? "\r\n" : std::string(1, c);
    }
    text = other;
  }
  if (random.chance(0.3)) {
    text = "\xEF\xBB\xBF" + text;
  }
  if (random.chance(0.3)) {
    text += random.chance(0.5) ? "\n \n" : "\r\n\r\n";
  } else if (random.chance(0.5)) {
    while (!text.empty() && is_space(text.back())) {
      text.pop_back();
    }
  }
  return text;
}

TYPED_TEST(FormatTest, WhatWasWrittenIsReadBack) {
  Random random(1);
  for (int round = 0; round < kRounds; ++round) {
    std::ostringstream out;
    std::vector<decltype(TypeParam::make(random))> written;
    for (unsigned i = random.below(6); i > 0; --i) {
      written.push_back(TypeParam::make(random));
      write(out, written.back());
    }
    std::istringstream in(disguised(random, out.str()));
    const auto read = typename TypeParam::Reader(Lines(in, "f")).read_all();
    ASSERT_EQ(read.size(), written.size()) << out.str();
    for (std::size_t i = 0; i < read.size(); ++i) {
      ASSERT_TRUE(read[i] == written[i]) << out.str();
    }
  }
}

const std::string kMark = "\xEF\xBB\xBF";

void begin_with_mark(Words& words) {
  if (!words.empty()) {
    words[0] = kMark + words[0];
  }
}
void begin_with_mark(TaggedSentence& sentence) { begin_with_mark(sentence.words); }
void begin_with_mark(SentencePair& pair) {
  begin_with_mark(pair.source);
  begin_with_mark(pair.target);
}
void begin_with_mark(ColumnSentence& sentence) { begin_with_mark(sentence.columns[0]); }
void begin_with_mark(ConlluSentence& sentence) {
  sentence.tokens[0].form = kMark + sentence.tokens[0].form;
}
void begin_with_mark(Tree& tree) { tree.nodes[0].label = kMark + tree.nodes[0].label; }

/// The mark of UTF-8 is a part of words, except at the front of a file.
TYPED_TEST(FormatTest, WordsThatBeginWithTheMarkAreReadBackOrRefused) {
  Random random(3);
  unsigned refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::ostringstream out;
    std::vector<decltype(TypeParam::make(random))> written;
    for (unsigned i = 1 + random.below(4); i > 0; --i) {
      auto item = TypeParam::make(random);
      if (random.chance(0.5)) {
        begin_with_mark(item);
      }
      try {
        write(out, item);
        written.push_back(item);
      } catch (const errors::ValueError&) {
        ASSERT_EQ(out.str(), "");  // behind the front there is nothing to refuse
        ++refused;
      }
    }
    std::istringstream in(out.str());
    const auto read = typename TypeParam::Reader(Lines(in, "f")).read_all();
    ASSERT_EQ(read.size(), written.size()) << out.str();
    for (std::size_t i = 0; i < read.size(); ++i) {
      ASSERT_TRUE(read[i] == written[i]) << out.str();
    }
  }
  EXPECT_EQ(refused > 0, TypeParam::kBeginsWithAWord);
}

/// A byte changed, lost, added or repeated; a piece cut out; the end cut off.
void damage(Random& random, std::string& text) {
  static const std::string kBytes(
      "\0\n\r\t |()#-.\xFF\xC3"
      "0x",
      16);
  const auto at = [&] { return random.below(static_cast<unsigned>(text.size())); };
  if (text.empty()) {
    return;
  }
  const char byte = kBytes[random.below(static_cast<unsigned>(kBytes.size()))];
  const unsigned place = at();
  switch (random.below(5)) {
    case 0:
      text[place] = byte;
      break;
    case 1:
      text.insert(place, 1, byte);
      break;
    case 2:
      text.erase(place, 1 + random.below(8));
      break;
    case 3:
      text.resize(place);
      break;
    default:
      text.insert(at(), text.substr(place, random.below(30)));
      break;
  }
}

TYPED_TEST(FormatTest, DamageIsReadOrHasItsPlace) {
  Random random(2);
  int errors = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::ostringstream out;
    for (unsigned i = 1 + random.below(4); i > 0; --i) {
      write(out, TypeParam::make(random));
    }
    std::string text = out.str();
    for (unsigned i = 1 + random.below(3); i > 0; --i) {
      damage(random, text);
    }
    const std::vector<std::string> lines = [&] {
      std::vector<std::string> all(1);
      for (const char c : text) {
        if (c == '\n') {
          all.emplace_back();
        } else {
          all.back() += c;
        }
      }
      return all;
    }();
    std::istringstream in(text);
    typename TypeParam::Reader reader(Lines(in, "f"));
    decltype(TypeParam::make(random)) sentence;
    // Each call takes a byte at least.
    bool is_at_end = false;
    for (std::size_t call = 0; call <= text.size() && !is_at_end; ++call) {
      try {
        is_at_end = !reader.next(sentence);
        if (!is_at_end && text.find('\0') == std::string::npos) {
          std::ostringstream again;
          write(again, sentence);  // a sentence that was read can be written
        }
      } catch (const TextError& e) {
        ++errors;
        ASSERT_GE(e.line(), 1U);
        ASSERT_LE(e.line(), lines.size());
        ASSERT_GE(e.column(), 1U);
        ASSERT_LE(e.column(), lines[e.line() - 1].size() + 1) << e.what() << "\n" << text;
      }
    }
    ASSERT_TRUE(is_at_end) << text;
  }
  EXPECT_GT(errors, 10);
}

}  // namespace
}  // namespace dynet::text
