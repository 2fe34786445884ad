// Readers of text: the sentences of each format, and the places of errors.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <streambuf>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/text/columns.h"
#include "dynet/text/conllu.h"
#include "dynet/text/trees.h"
#include "dynet/text/words.h"

#include "testing/temporary_folder.h"

namespace dynet::text {
namespace {

/// All that a reader of `text` gives.
template <class Reader, class... Rest>
auto read(const std::string& text, Rest... rest) {
  std::istringstream in(text);
  return Reader(Lines(in, "f"), rest...).read_all();
}

/// "line:column: reason" of the first error, or "none".
std::string mistake(const std::function<void()>& run) {
  try {
    run();
  } catch (const TextError& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find("f:" + std::to_string(e.line()) + ":" + std::to_string(e.column()) + ": "),
              0U)
        << text;
    EXPECT_EQ(e.file(), "f");
    return text.substr(2);
  }
  return "none";
}

/// One text per line of a table: the error that reading it gives begins so.
using Mistakes = std::vector<std::pair<std::string, std::string>>;
template <class Reader, class... Rest>
void expect_mistakes(const Mistakes& cases, Rest... rest) {
  for (const auto& [text, wanted] : cases) {
    const std::string found = mistake([&] { read<Reader>(text, rest...); });
    EXPECT_EQ(found.substr(0, wanted.size()), wanted) << "text: " << text;
  }
}

TEST(Lines, EndsMarksAndNumbers) {
  std::istringstream in(
      "\xEF\xBB\xBF"
      "a\r\n\nb \rc\n\xEF\xBB\xBF\r");
  Lines lines(in, "f");
  std::vector<std::string> found;
  std::string_view line;
  EXPECT_EQ(lines.number(), 0U);
  while (lines.next(line)) {
    found.emplace_back(line);
    EXPECT_EQ(lines.number(), found.size());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"a", "", "b \rc", "\xEF\xBB\xBF"}));
  EXPECT_FALSE(lines.next(line));
  std::istringstream none("");
  EXPECT_FALSE(Lines(none, "f").next(line));
}

TEST(Lines, OfAnyLengthAcrossPieces) {
  // Lengths near the length of the pieces in which a file is read.
  std::string text;
  std::vector<std::size_t> lengths;
  for (const std::size_t length : {std::size_t{0}, std::size_t{262143}, std::size_t{262144},
                                   std::size_t{1}, std::size_t{600001}, std::size_t{262142}}) {
    lengths.push_back(length);
    text += std::string(length, static_cast<char>('a' + lengths.size())) + "\n";
  }
  std::istringstream in(text);
  Lines lines(in, "f");
  std::string_view line;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, std::string(lengths[i], static_cast<char>('b' + i)));
  }
  EXPECT_FALSE(lines.next(line));
}

TEST(Lines, LimitOfLengthIsAnErrorAndReadingGoesOn) {
  for (const std::size_t length : {std::size_t{9}, std::size_t{1000000}}) {
    for (const char* end : {"\n", ""}) {
      std::istringstream in("12345678\n" + std::string(length, 'x') + end + "next\n");
      Lines lines(in, "f", {Encoding::kUtf8, 8});
      std::string_view line;
      EXPECT_TRUE(lines.next(line));
      EXPECT_EQ(mistake([&] { lines.next(line); }),
                "2:9: a line of more than 8 bytes, which is the limit");
      EXPECT_EQ(lines.next(line), *end != '\0');
      EXPECT_FALSE(lines.next(line) && *end == '\0');
    }
  }
}

TEST(Lines, ZeroBytesAndOtherEncodings) {
  const std::string zero("ab\nc\0d\ne", 8);
  std::istringstream in(zero);
  Lines lines(in, "f", {Encoding::kBytes});
  std::string_view line;
  EXPECT_TRUE(lines.next(line));
  EXPECT_EQ(mistake([&] { lines.next(line); }).substr(0, 17), "2:2: a zero byte;");
  EXPECT_TRUE(lines.next(line));
  EXPECT_EQ(line, "e");
  // Bytes that are not UTF-8, each after "a" or eight letters, and valid bytes close to them.
  for (const std::string bad :
       {"\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    for (const std::string before : {"a", "abcdefgh", "\xC3\xA9"}) {
      std::istringstream text(before + bad);
      const std::string wanted = "1:" + std::to_string(before.size() + 1) + ": byte 0x";
      EXPECT_EQ(mistake([&] { Lines(text, "f").next(line); }).substr(0, wanted.size()), wanted);
      std::istringstream bytes(before + bad);
      EXPECT_TRUE(Lines(bytes, "f", {Encoding::kBytes}).next(line));
    }
  }
  std::istringstream good(
      "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  EXPECT_TRUE(Lines(good, "f").next(line));
}

TEST(Lines, FilesThatCannotBeRead) {
  const dynet::testing::TemporaryFolder folder;
  EXPECT_THROW(Lines(folder.file("none")), errors::IoError);
  std::string_view line;
  EXPECT_THROW(Lines(folder.path().string()).next(line), errors::IoError);
  std::ofstream(folder.file("some")) << "x y";
  Words words;
  PlainReader reader(folder.file("some"));
  EXPECT_TRUE(reader.next(words));
  EXPECT_EQ(words, (Words{"x", "y"}));
}

TEST(Streams, AreRangesThatGoOnWhereTheyAre) {
  std::istringstream in("a\nb\nc\n");
  PlainReader reader(Lines(in, "f"));
  Words first;
  EXPECT_TRUE(reader.next(first));
  std::string rest;
  for (const Words& words : reader) {
    rest += words[0];
  }
  EXPECT_EQ(first[0] + rest, "abc");
  PlainReader moved = std::move(reader);
  EXPECT_FALSE(moved.next(first));
}

TEST(PlainText, WordsOfLines) {
  EXPECT_EQ(read<PlainReader>(" no it  \t was\r\n\n \r\nN|N\vx\fy"),
            (std::vector<Words>{{"no", "it", "was"}, {"N|N", "x", "y"}}));
  EXPECT_TRUE(read<PlainReader>(" \n\n").empty());
  // A no-break space is part of a word.
  EXPECT_EQ(read<PlainReader>("a\xC2\xA0"
                              "b c")[0]
                .size(),
            2U);
}

TEST(Letters, AreCodePoints) {
  EXPECT_EQ(letters("Zo\xc3\xab"), (Words{"Z", "o", "\xc3\xab"}));
  EXPECT_EQ(letters("e\xcc\x81"), (Words{"e", "\xcc\x81"}));  // an accent of its own
  EXPECT_EQ(letters("\xe6\x97\xa5\xe6\x9c\xac"), (Words{"\xe6\x97\xa5", "\xe6\x9c\xac"}));
  EXPECT_EQ(letters("\xf0\x9f\x98\x80!"), (Words{"\xf0\x9f\x98\x80", "!"}));
  EXPECT_TRUE(letters("").empty());
  try {
    (void)letters("ab\x80");
    FAIL() << "no error";
  } catch (const errors::ValueError& e) {
    EXPECT_STREQ(e.what(), "text::letters: byte 2 of a word of 3 bytes is none of UTF-8");
  }
}

TEST(Tagged, WordsAndTags) {
  const auto found = read<TaggedReader>("The|DT dog|s|NN\r\n\nx|Y");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], (TaggedSentence{{"The", "dog|s"}, {"DT", "NN"}}));
  expect_mistakes<TaggedReader>({{"a|O\n\nThe|O cat\n", "3:7: a word without a tag"},
                                 {"|O", "1:1: no word before the '|'"},
                                 {"a|O b|", "1:6: no tag after the '|'"},
                                 {"a|O |", "1:5: no word before the '|'"}});
}

TEST(Tagged, AnErrorLeavesTheSentenceAndReadingGoesOn) {
  std::istringstream in("a|O\nb\nc|O d|E\n");
  TaggedReader reader(Lines(in, "f"));
  TaggedSentence sentence;
  EXPECT_TRUE(reader.next(sentence));
  EXPECT_THROW(reader.next(sentence), TextError);
  EXPECT_EQ(sentence, (TaggedSentence{{"a"}, {"O"}}));
  EXPECT_TRUE(reader.next(sentence));
  EXPECT_EQ(sentence, (TaggedSentence{{"c", "d"}, {"O", "E"}}));
}

TEST(Parallel, TwoFilesAndOne) {
  std::istringstream a("x y\n\nz\n");
  std::istringstream b("u\nv w\r\n\n");
  const auto pairs = ParallelReader(Lines(a, "a"), Lines(b, "b")).read_all();
  EXPECT_EQ(pairs, (std::vector<SentencePair>{{{"x", "y"}, {"u"}}, {{}, {"v", "w"}}, {{"z"}, {}}}));
  EXPECT_EQ(read<ParallelReader>("x ||| u v\n\n||| w\n"),
            (std::vector<SentencePair>{{{"x"}, {"u", "v"}}, {{}, {"w"}}}));
  expect_mistakes<ParallelReader>({{"a ||| b\na b\n", "2:4: the line ends without '|||'"},
                                   {"a ||| b ||| c\n", "1:9: a second '|||'"}});
  // Behind a bad line of either file, line n still belongs to line n.
  for (const bool is_source : {false, true}) {
    std::istringstream bad("a\n\xFF\nc\n");
    std::istringstream good("1\n2\n3\n");
    ParallelReader reader(is_source ? Lines(bad, "bad") : Lines(good, "good"),
                          is_source ? Lines(good, "good") : Lines(bad, "bad"));
    SentencePair pair;
    EXPECT_TRUE(reader.next(pair));
    EXPECT_THROW(reader.next(pair), TextError);
    EXPECT_TRUE(reader.next(pair));
    EXPECT_EQ(is_source ? pair.source : pair.target, Words{"c"});
    EXPECT_EQ(is_source ? pair.target : pair.source, Words{"3"});
    EXPECT_FALSE(reader.next(pair));
  }
  for (const bool is_source : {false, true}) {
    std::istringstream shorter("x\n");
    std::istringstream longer("x\ny\n");
    Lines f(shorter, "f");
    Lines g(longer, "g");
    ParallelReader reader(std::move(is_source ? f : g), std::move(is_source ? g : f));
    EXPECT_EQ(mistake([&] { reader.read_all(); }), "2:1: the file ends here, and 'g' goes on");
  }
}

TEST(Columns, Conll2003) {
  const auto found = read<ColumnReader>(
      "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n"
      "-DOCSTART- -X- O O\n\nPeter\tNNP\tB-NP\tB-PER\r\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_document);
  EXPECT_TRUE(found[1].starts_document);
  EXPECT_EQ(found[0].words(), (Words{"EU", "rejects"}));
  EXPECT_EQ(found[0].columns[3], (Words{"B-ORG", "O"}));
  EXPECT_EQ(found[1].columns[3], (Words{"B-PER"}));
  expect_mistakes<ColumnReader>({{"a b c d\nx y z\n", "2:6: the line ends after column 3; want 4"},
                                 {"a b c d e\n", "1:9: column 5; want 4"},
                                 {"a b c d\n -DOCSTART- -X-\n", "2:2: -DOCSTART- in a sentence"}});
}

TEST(Columns, AsManyAsTheFirstLineHas) {
  const auto found = read<ColumnReader>("a X\nb Y\n\nc Z\n", std::size_t{0});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].starts_document);
  EXPECT_EQ(found[0].columns, (std::vector<Words>{{"a", "b"}, {"X", "Y"}}));
  EXPECT_EQ(found[1].columns, (std::vector<Words>{{"c"}, {"Z"}}));
  expect_mistakes<ColumnReader>({{"a X\nb\n", "2:2: the line ends after column 1; want 2"}},
                                std::size_t{0});
}

const std::string kSpanish =
    "# sent_id = s1\n"
    "# text=V\xC3\xA1monos al mar\n"
    "0.1\tpro\tpro\tPRON\t_\t_\t_\t_\t1:nsubj\t_\n"
    "1-2\tV\xC3\xA1monos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tVamos\tir\tVERB\tv\tMood=Imp|Number=Plur\t0\troot\t0:root\t_\n"
    "2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\tobj\t1:obj\tMGloss=1|Gloss==1PL=A\n"
    "2.1\tfuimos\tir\tVERB\t_\t_\t_\t_\t1:conj\t_\n"
    "2.2\tya\tya\tADV\t_\t_\t_\t_\t2.1:advmod\t_\n"
    "3\tal mar\tal\tADP\t_\t_\t1\tobl\t_\tSpaceAfter=No\n"
    "\n";

TEST(Conllu, RangesEmptyNodesAndComments) {
  using Kind = ConlluToken::Kind;
  const auto found = read<ConlluReader>("\n" + kSpanish + "\n1\tHi\t_\t_\t_\t_\t0\t_\t_\t_");
  ASSERT_EQ(found.size(), 2U);
  const ConlluSentence& s = found[0];
  ASSERT_EQ(s.tokens.size(), 7U);
  EXPECT_EQ(s.comment("sent_id"), "s1");
  EXPECT_EQ(s.comment("text"), "V\xC3\xA1monos al mar");
  EXPECT_EQ(s.comment("newdoc"), "");
  EXPECT_EQ(s.tokens[0].kind, Kind::kEmpty);
  EXPECT_EQ(s.tokens[0].id, 0);
  EXPECT_EQ(s.tokens[1].kind, Kind::kRange);
  EXPECT_EQ(s.tokens[1].last, 2);
  EXPECT_EQ(s.tokens[5].last, 2);
  const auto words = s.words();
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0]->head, 0);
  EXPECT_EQ(words[1]->head, 1);
  EXPECT_EQ(words[2]->form, "al mar");
  EXPECT_EQ(s.tokens[0].head, ConlluToken::kNoHead);
  EXPECT_EQ(feature(words[0]->feats, "Number"), "Plur");
  EXPECT_EQ(feature(words[0]->feats, "Mood"), "Imp");
  EXPECT_EQ(feature(words[0]->feats, "Num"), "");
  EXPECT_EQ(feature("_", "Num"), "");
  EXPECT_EQ(feature(words[1]->misc, "Gloss"), "=1PL=A");  // = stands before a clitic in glosses
  std::ostringstream out;
  write(out, s);
  EXPECT_EQ(out.str(), kSpanish);
}

/// A line of CoNLL-U.
std::string row(const std::string& id, const std::string& head = "0") {
  return id + "\tx\t_\t_\t_\t_\t" + head + "\t_\t_\t_\n";
}

TEST(Conllu, MistakesHaveTheirPlace) {
  expect_mistakes<ConlluReader>({
      {"# c\n1\tx\t_\n", "2:6: the line ends after column 3; want 10, separated by tabs"},
      {"1 x _ _ _ _ 0 _ _ _\n", "1:20: the line ends after column 1"},
      {"1\t\t_\t_\t_\t_\t0\t_\t_\t_\n", "1:3: column 2 is empty"},
      {row("1").substr(0, 16) + "\t_\n", "1:17: column 9 is empty"},
      {"1\tx\t_\t_\t_\t_\t0\t_\t_\t_\t_\n", "1:20: more than 10 columns"},
      {row("2"), "1:1: word 2; want 1"},
      {row("1") + row("3"), "2:1: word 3; want 2"},
      {row("1") + row("1.2"), "2:1: the empty node 1.2; want 1.1"},
      {row("1") + row("2-1"), "2:1: the range 2-1"},
      {row("1-2") + row("1") + row("2-3"), "3:1: the range 2-3"},
      {row("1-3") + row("1") + row("2"), "1:1: word 3 of a sentence of 2"},
      {row("1") + row("2", "3"), "2:13: word 3 of a sentence of 2"},
      {row("1", "x"), "1:13: the head is 'x'"},
      {row("1", "-1"), "1:13: the head is '-1'"},
      {row("1", "99999999999"), "1:13: the head is '99999999999'"},
      {row("x"), "1:1: 'x' is no number of a word"},
      {row("1") + "# c\n", "2:1: a comment after a word"},
      {"# c\n\n", "2:1: the sentence ends without a word"},
      {row("1") + "\n# c", "3:1: the sentence ends without a word"},
      {row("0.1"), "1:1: the sentence ends without a word"},
  });
}

TEST(Conllu, AfterAnErrorTheNextSentenceIsRead) {
  std::istringstream in("1\tx\nbad\n\n" + row("1", "2") + "\n" + kSpanish);
  ConlluReader reader(Lines(in, "f"));
  ConlluSentence s;
  EXPECT_EQ(mistake([&] { reader.next(s); }).substr(0, 3), "1:4");
  EXPECT_EQ(mistake([&] { reader.next(s); }).substr(0, 4), "4:13");
  EXPECT_TRUE(s.tokens.empty());
  EXPECT_TRUE(reader.next(s));
  EXPECT_EQ(s.tokens.size(), 7U);
  EXPECT_FALSE(reader.next(s));
}

/// A tree with its nodes in brackets again.
std::string text_of(const Tree& tree) {
  std::ostringstream out;
  write(out, tree);
  std::string text = out.str();
  text.pop_back();
  return text;
}

TEST(Trees, PennAndSentiment) {
  const auto found = read<TreeReader>(
      "( (S (NP (DT The) (NN dog))\n     (VP (VBZ barks))))\r\n\n(3 (2 It)(4 (2 's) (4 fun)))"
      " ((A x) (B y))\n(S (NP\n-NONE-) word (X y))");
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const Tree& tree : found) {
    texts.push_back(text_of(tree));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"(S (NP (DT The) (NN dog)) (VP (VBZ barks)))",
                                             "(3 (2 It) (4 (2 's) (4 fun)))", "( (A x) (B y))",
                                             "(S (NP -NONE-) word (X y))"}));
  const Tree& sentiment = found[1];
  EXPECT_EQ(sentiment.words(), (Words{"It", "'s", "fun"}));
  EXPECT_EQ(sentiment.root().label, "3");
  EXPECT_EQ(sentiment.root().num_children, 2U);
  EXPECT_EQ(sentiment.nodes[sentiment.child(sentiment.root(), 0)].label, "2");
  EXPECT_EQ(sentiment.root().line, 4U);
  EXPECT_EQ(sentiment.root().column, 2U);
  EXPECT_EQ(sentiment.nodes[0].column, 7U);
  EXPECT_EQ(read<TreeReader>("( (A x) (B y) )\n")[0], found[2]);
}

TEST(Trees, MistakesHaveTheirPlace) {
  expect_mistakes<TreeReader>({
      {"hello", "1:1: want a tree, which begins with '('"},
      {"(S x)\n )", "2:2: want a tree"},
      {"(S (VP (V 0) (P 2)) (N 1))\twake him up", "1:28: want a tree"},  // discobrackets
      {"(S (NP x)\n(VP y)\n\n", "1:1: the file ends before this '(' is closed"},
      {"(S\n (NP", "2:2: the file ends before this '(' is closed"},
      {"(S)", "1:3: a node without a word or subtrees"},
      {"(S (NP (\nx)))", "1:9: want a label after '('"},
      {"( x)", "1:4: a node without a word"},
      {"()", "1:2: want a tree in the brackets"},
      {"(\nx)", "2:1: a word in brackets without a label"},
  });
  using Layout = TreeReader::Layout;
  expect_mistakes<TreeReader>({{"(S x)\n(3 (2 It) (4 fun)\n(S x)",
                                "2:18: the tree ends before the "
                                "'(' at column 1 is closed"},
                               {"(S x) (S y)", "1:7: text after the end of the tree"},
                               {"(S x))", "1:6: text after the end of the tree"}},
                              Layout::kOnePerLine);
  EXPECT_EQ(read<TreeReader>("(S x) \n\n ( (S y) )\n", Layout::kOnePerLine).size(), 2U);
  // Deeper than any call stack.
  std::string deep;
  for (int i = 0; i < 200000; ++i) {
    deep += "(A ";
  }
  EXPECT_EQ(mistake([&] { read<TreeReader>(deep); }),
            "1:599998: the file ends before this '(' is closed");
  deep += "x" + std::string(200000, ')');
  EXPECT_EQ(read<TreeReader>(deep)[0].nodes.size(), 200001U);
  EXPECT_EQ(text_of(read<TreeReader>(deep)[0]).size(), deep.size());
}

TEST(Trees, AfterAnErrorTheNextLineIsRead) {
  std::istringstream in("(A (B) (C x))\n(D y)\n");
  TreeReader reader(Lines(in, "f"));
  Tree tree;
  EXPECT_THROW(reader.next(tree), TextError);
  EXPECT_TRUE(tree.nodes.empty());
  EXPECT_TRUE(reader.next(tree));
  EXPECT_EQ(text_of(tree), "(D y)");
}

TEST(Writing, RefusesWhatWouldNotBeReadAsTheSame) {
  std::ostringstream out;
  const auto token = [](const std::string& form, int id) {
    ConlluToken t;
    t.form = form;
    t.id = t.last = id;
    return t;
  };
  Tree shared;
  const unsigned x = shared.add("x");
  const unsigned a = shared.add("A", {x});
  shared.add("S", {a, a});
  Tree two;
  two.add("A", {two.add("x")});
  two.add("B", {two.add("y")});
  Tree empty_label;
  empty_label.add("", {empty_label.add("S", {empty_label.add("x")})});
  const std::vector<std::function<void()>> refused = {
      [&] { write(out, Words{}); },
      [&] { write(out, Words{"a", ""}); },
      [&] { write(out, Words{"a b"}); },
      [&] { write(out, Words{std::string("a\0", 2)}); },
      [&] { write(out, Words{"\xEF\xBB\xBF"}); },
      [&] { write(out, TaggedSentence{{"a"}, {}}); },
      [&] { write(out, TaggedSentence{{"a"}, {"X|Y"}}); },
      [&] { write(out, TaggedSentence{{"a"}, {""}}); },
      [&] { write(out, SentencePair{{"|||"}, {"a"}}); },
      [&] { write(out, out, SentencePair{{"a\n"}, {"a"}}); },
      [&] { write(out, ColumnSentence{}); },
      [&] { write(out, ColumnSentence{false, {{"a", "b"}, {"X"}}}); },
      [&] { write(out, ColumnSentence{false, {{"-DOCSTART-"}, {"X"}}}); },
      [&] { write(out, ConlluSentence{{}, {}}); },
      [&] { write(out, ConlluSentence{{}, {token("a\tb", 1)}}); },
      [&] { write(out, ConlluSentence{{}, {token("", 1)}}); },
      [&] { write(out, ConlluSentence{{}, {token("a", 2)}}); },
      [&] { write(out, ConlluSentence{{"no comment"}, {token("a", 1)}}); },
      [&] { write(out, ConlluSentence{{"# a\n\n# b"}, {token("a", 1)}}); },
      [&] { write(out, Tree{}); },
      [&] { write(out, shared); },
      [&] { write(out, two); },
      [&] { write(out, empty_label); },
      [&] { write(out, Tree{{{"word", 0, 0, 0, 0}}, {}}); },
      [&] { write(out, Tree{{{"word", 5, 1, 0, 0}}, {}}); },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    EXPECT_THROW(refused[i](), errors::ValueError) << "number " << i;
  }
  EXPECT_EQ(out.str(), "");
  EXPECT_THROW(Tree().add("S", {0}), errors::IndexError);
}

/// A pipe: a stream without a known length.
class Pipe : public std::streambuf {
 public:
  std::string text;

 protected:
  int_type overflow(int_type c) override {
    text += traits_type::to_char_type(c);
    return c;
  }
};

TEST(Writing, RefusesTheMarkWhereItMightBeginAFile) {
  const Words marked{
      "\xEF\xBB\xBF"
      "a",
      "b"};
  std::ostringstream source;
  std::ostringstream target;
  write(source, Words{"c"});
  write(source, marked);
  EXPECT_EQ(source.str(),
            "c\n\xEF\xBB\xBF"
            "a b\n");
  EXPECT_THROW(write(source, target, {marked, marked}), errors::ValueError);
  EXPECT_EQ(target.str(), "");
  write(source, target, {marked, {}});
  EXPECT_EQ(read<PlainReader>(source.str()), (std::vector<Words>{{"c"}, marked, marked}));
  Pipe pipe;
  std::ostream out(&pipe);
  write(out, Words{"c"});
  EXPECT_THROW(write(out, marked), errors::ValueError);
  EXPECT_EQ(pipe.text, "c\n");
}

}  // namespace
}  // namespace dynet::text
