// The reader of trees and the generator of ListOps.

#include "trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "baseline.h"
#include "listops_data.h"

namespace examples {
namespace {

/// The value of every node by walking the tree: of a word its digit, of a node its operator over
/// what it has read.
struct Walked {
  bool is_operator = false;
  ListOp op = ListOp::kMin;
  std::vector<unsigned> values;
};
std::vector<Walked> walk(const Tree& tree) {
  std::vector<Walked> all;
  for (const TreeNode& node : tree.nodes) {
    Walked w;
    if (node.is_word() && node.symbol >= kDigitCount) {
      w.is_operator = true;
      w.op = static_cast<ListOp>(node.symbol - kDigitCount);
    } else if (node.is_word()) {
      w.values = {node.symbol};
    } else {
      const Walked& left = all[node.left];
      const Walked& right = all[node.right];
      EXPECT_TRUE(left.is_operator);
      w = left;
      w.values.push_back(right.is_operator ? value_of(right.op, right.values) : right.values[0]);
    }
    all.push_back(w);
  }
  return all;
}

TEST(ListOps, ValuesByHand) {
  const std::vector<std::pair<std::string, unsigned>> cases = {
      {"[MAX 3 [MIN 4 5] 1]", 4}, {"[MED 9 1 5]", 5},      {"[MED 9 1 5 7]", 5}, {"[SM 9 8 7]", 4},
      {"MAX 3 MIN 4 5 ] ]", 4},   {"(SM 1 (MED 8 2))", 3}, {"min 4 2 9", 2},     {"7", 7}};
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(evaluate(parse_list(text)), value) << text;
  }
}

TEST(ListOps, EveryLabelIsTheValueSoFar) {
  ListOpsGenerator lists(5);
  for (int i = 0; i < 2000; ++i) {
    const ListExpr expr = lists.next();
    const Tree tree = to_tree(expr);
    const std::vector<Walked> walked = walk(tree);
    ASSERT_EQ(tree.root().label, evaluate(expr));
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      if (walked[n].values.empty()) {
        ASSERT_FALSE(tree.nodes[n].has_label());
      } else {
        ASSERT_EQ(tree.nodes[n].label, walked[n].is_operator
                                           ? value_of(walked[n].op, walked[n].values)
                                           : walked[n].values[0]);
      }
    }
  }
}

void check_shape(const ListExpr& expr) {
  if (expr.is_digit) {
    ASSERT_LT(expr.digit, 10U);
    return;
  }
  ASSERT_GE(expr.args.size(), 2U);
  ASSERT_LE(expr.args.size(), 4U);
  for (const ListExpr& arg : expr.args) {
    check_shape(arg);
  }
}

TEST(ListOps, BranchingAndDepth) {
  ListOpsGenerator lists(7);
  std::size_t count[6] = {};
  std::set<unsigned> answers;
  constexpr int kLists = 4000;
  for (int i = 0; i < kLists; ++i) {
    const ListExpr expr = lists.next();
    check_shape(expr);
    ++count[std::min(depth(expr), 5U)];
    answers.insert(evaluate(expr));
    const Tree tree = to_tree(expr);
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      const TreeNode& node = tree.nodes[n];
      ASSERT_TRUE(node.is_word() || (node.left < n && node.right < n));
      ASSERT_EQ(node.left == kNone, node.right == kNone);
    }
    ASSERT_EQ(to_text(parse_list(to_text(expr))), to_text(expr));
  }
  EXPECT_EQ(count[0] + count[5], 0U);
  for (unsigned d = 1; d <= 4; ++d) {
    EXPECT_NEAR(static_cast<double>(count[d]) / kLists, 0.25, 0.05) << "depth " << d;
  }
  EXPECT_EQ(answers.size(), 10U);
}

// The Python twin of this test expects the same lines.
TEST(ListOps, SameListsAsInPython) {
  ListOpsGenerator lists(1);
  const std::string first = to_text(lists.next());
  EXPECT_EQ(first, "[SM [MAX 2 0 3 1] 3 3 [SM 4 3 6]]");
  std::uint32_t hash = 0;
  for (int i = 0; i < 1000; ++i) {
    for (const char c : to_text(lists.next())) {
      hash = hash * 31U + static_cast<unsigned char>(c);
    }
  }
  EXPECT_EQ(hash, 3041538011U);
}

TEST(ListOps, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> cases = {
      {"", 1, "want a digit or a list"},
      {"MAX 3 12 ]", 7, "'12' is neither a digit"},
      {"[MAX 3", 7, "MAX at column 1 is not closed"},
      {"[MAX ]", 6, "has no arguments"},
      {"MAX 3 ] ]", 9, "a closing bracket too many"},
      {"[MAX 3 4)", 9, "the other kind of bracket"},
      {"[3 4]", 2, "want an operator after the bracket"},
      {"MAX 3 MEAN 4 ]", 7, "'MEAN' is neither"},
      {"3 4", 3, "text after the end"},
      {"]", 1, "where a digit or a list is wanted"},
      {std::string(5000, '['), 2, "want an operator"},
  };
  for (const auto& [text, column, reason] : cases) {
    try {
      parse_list(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const DataError& e) {
      EXPECT_EQ(e.column(), column) << e.what();
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    }
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "[MAX ";
  }
  EXPECT_THROW(parse_list(deep), DataError);
}

TEST(Trees, ReadsBracketedTrees) {
  Dict words;
  words.convert("<unk>");
  const std::vector<Tree> trees = {parse_tree("(3 (2 It) (4 (2 's) (4 fun)))", words, 5, "text"),
                                   parse_tree("\n (1 It)\r", words, 5, "text")};
  ASSERT_EQ(trees[0].nodes.size(), 5U);
  EXPECT_EQ(trees[0].words(), 3U);
  EXPECT_EQ(trees[0].labels(), 5U);
  EXPECT_EQ(trees[0].root().label, 3U);
  EXPECT_EQ(trees[0].root().left, 0U);
  EXPECT_EQ(trees[0].root().right, 3U);
  EXPECT_EQ(trees[1].root().symbol, trees[0].nodes[0].symbol);
  EXPECT_EQ(words.get_words(), (std::vector<std::string>{"<unk>", "It", "'s", "fun"}));
  words.freeze();
  words.set_unk("<unk>");
  EXPECT_EQ(parse_tree("(0 new)", words, 5, "text").root().symbol, 0U);
}

TEST(Trees, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> cases = {
      {"hello", 1, "want a tree"},
      {"(3 (2 It) (4 fun)", 18, "before the '(' at column 1 is closed"},
      {"(3 (2 It) (4 fun)))", 19, "text after the end"},
      {"(3 (2 It))", 2, "want a word or two subtrees"},
      {"(3)", 3, "a node without a word or subtrees"},
      {"(3 (2 a) (2 b) (2 c))", 2, "want a word or two subtrees"},
      {"(3 It (2 a))", 2, "want a word or two subtrees"},
      {"(3 (0 a) (2 It is))", 11, "want a word or two subtrees"},
      {"(3 (2 It) is)", 2, "want a word or two subtrees"},
      {"(5 It)", 2, "label 5 is out of range; want one below 5"},
      {"(3 (x a) (2 b))", 5, "label x is out of range"},
      {"(3x It)", 2, "label 3x is out of range"},
      {"(-1 It)", 2, "label -1 is out of range"},
      {"(99999999999999999999 It)", 2, "is out of range"},
      {"(", 2, "before the '(' at column 1 is closed"},
  };
  Dict words;
  for (const auto& [text, column, reason] : cases) {
    try {
      parse_tree("\n" + text, words, 5, "some.txt");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const DataError& e) {
      EXPECT_EQ(e.line(), 2U);
      EXPECT_EQ(e.column(), column) << e.what();
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(read_tree_file("/no/such/file", words, 5), std::runtime_error);
  // Nested deeper than any call stack: an error, not a crash.
  std::string deep;
  for (int i = 0; i < 1000000; ++i) {
    deep += "(1 ";
  }
  EXPECT_THROW(parse_tree(deep, words, 5, "text"), DataError);
}

TEST(Baselines, BagLearnsWhatABagCanSay) {
  // The root's label is whether word 1 occurs; class 0 is the more frequent one.
  std::vector<Tree> trees;
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    const unsigned a = 1 + random.below(3);
    const unsigned b = 1 + random.below(3);
    Tree tree;
    tree.nodes.push_back({kNone, kNone, a, 0});
    tree.nodes.push_back({kNone, kNone, b, 0});
    tree.nodes.push_back({0, 1, 0, a == 1 || b == 1 ? 1U : 0U});
    trees.push_back(tree);
  }
  const Baselines b = measure_baselines(trees, trees, 4, 2, 5);
  EXPECT_NEAR(b.most_frequent, 5.0 / 9, 0.06);
  EXPECT_GT(b.bag_of_symbols, 0.99);
}

}  // namespace
}  // namespace examples
