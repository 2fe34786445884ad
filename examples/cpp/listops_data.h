#pragma once

// ListOps: nested lists whose value is a digit, and their trees for a model.
//
//   [MAX 3 [MIN 4 5] 1]    the largest of 3, 4 and 1: 4
//
// MIN, MAX, MED (the lower median) and SM (the sum modulo 10) over digits and lists. As a binary
// tree a list branches to the left: its operator is a word, and each argument is joined to the tree
// before it, (((MAX 3) ((MIN 4) 5)) 1). So every node has a label: the value of the operator over
// the arguments read so far, such as 3 for (MAX 3). Operators have none.

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "example.h"
#include "trees.h"

namespace example {

inline const text::Words kWords{"0", "1", "2", "3",   "4",   "5",   "6",
                                "7", "8", "9", "MIN", "MAX", "MED", "SM"};
constexpr unsigned kMin = 10, kMax = 11, kMed = 12;  // SM is the sum modulo 10

constexpr unsigned kDeepest = 4;

/// A list of exactly this depth with 2 to 4 arguments: one, drawn, has depth - 1, the others any.
inline std::string make_list(Random& random, unsigned depth) {
  std::string list = "[" + kWords[kMin + random.below(4)];
  const unsigned count = 2 + random.below(3);
  const unsigned deep = random.below(count);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_list = depth > 1 && (i == deep || random.below(100) < 30);
    const unsigned below = i == deep || !is_list ? depth - 1 : 1 + random.below(depth - 1);
    list += " " + (is_list ? make_list(random, below) : kWords[random.below(10)]);
  }
  return list + "]";
}

inline unsigned value_of(unsigned operation, Numbers values) {
  std::sort(values.begin(), values.end());
  return operation == kMin   ? values.front()
         : operation == kMax ? values.back()
         : operation == kMed ? values[(values.size() - 1) / 2]
                             : std::accumulate(values.begin(), values.end(), 0U) % 10;
}

/// As a binary tree a list branches to the left: its operator is a word, and each argument is
/// joined to the tree before it, (((MAX 3) ((MIN 4) 5)) 1). So every node has a label: the value of
/// the operator over the arguments so far. Operators have none.
inline void append(const text::TreeReader& reader, const text::Tree& list, std::size_t at,
                   Tree& tree) {
  const text::Tree::Node& node = list.nodes[at];
  const auto word = std::find(kWords.begin(), kWords.end(), node.label) - kWords.begin();
  const auto number = static_cast<unsigned>(word);
  if (number == kWords.size() || (number < kMin) != node.is_word()) {
    reader.lines().fail(node.line, node.column, "want a digit, or MIN, MAX, MED or SM after a [");
  }
  tree.push_back({kNone, kNone, number, node.is_word() ? number : kNone});
  Numbers values;
  for (unsigned child = 0; child < node.num_children; ++child) {
    const auto before = static_cast<unsigned>(tree.size()) - 1;
    append(reader, list, list.child(node, child), tree);
    values.push_back(tree.back().label);
    const auto argument = static_cast<unsigned>(tree.size()) - 1;
    tree.push_back({before, argument, 0, value_of(number, values)});
  }
}

/// The tree of a list, in brackets [] or (); the label of the root is the list's value. TextError
/// with the column.
inline Tree read_list(std::string list_text) {
  const bool is_square = list_text.find_first_of("[]") < list_text.find_first_of("()");
  const std::size_t other = list_text.find_first_of(is_square ? "()" : "[]");
  if (other != std::string::npos) {
    throw text::TextError("list", 1, other + 1, "the other kind of bracket");
  }
  std::replace(list_text.begin(), list_text.end(), '[', '(');
  std::replace(list_text.begin(), list_text.end(), ']', ')');
  std::istringstream in(list_text);
  text::TreeReader reader({in, "list"}, text::TreeReader::Layout::kOnePerLine);
  text::Tree list;
  if (!reader.next(list) || list.nodes.size() > 1000) {
    reader.lines().fail(1, 1, "want a list of 1 to 1000 symbols, as [MAX 3 [MIN 4 5]]");
  }
  Tree tree;
  append(reader, list, list.nodes.size() - 1, tree);
  return tree;
}

/// Trees of lists that are not in `known` yet, of this depth, or of any depth if it is 0.
inline std::vector<Tree> make_lists(Random& random, unsigned depth, std::size_t count,
                                    std::set<std::string>& known) {
  std::vector<Tree> trees;
  while (trees.size() < count) {
    const std::string list = make_list(random, depth != 0 ? depth : 1 + random.below(kDeepest));
    if (known.insert(list).second) {
      trees.push_back(read_list(list));
    }
  }
  return trees;
}

}  // namespace example
