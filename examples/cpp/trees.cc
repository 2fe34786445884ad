#include "trees.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "dynet/text/trees.h"

namespace examples {

namespace {

/// The binary tree of a bracketed one: a node over a word alone becomes that word.
class Binary {
 public:
  Binary(const text::TreeReader& reader, Dict& words, unsigned classes)
      : reader_(reader), words_(words), classes_(classes) {}

  Tree of(const text::Tree& read) {
    Tree tree;
    places_.assign(read.nodes.size(), kNone);
    for (std::size_t i = 0; i < read.nodes.size(); ++i) {
      const text::Tree::Node& node = read.nodes[i];
      if (node.is_word()) {
        continue;
      }
      const text::Tree::Node& first = read.nodes[read.child(node, 0)];
      const bool is_word = node.num_children == 1 && first.is_word();
      const unsigned left = places_[read.child(node, 0)];
      const unsigned right = node.num_children == 2 ? places_[read.child(node, 1)] : kNone;
      if (!is_word && (left == kNone || right == kNone)) {
        fail(node, "want a word or two subtrees in a node");
      }
      places_[i] = static_cast<unsigned>(tree.nodes.size());
      tree.nodes.push_back({left, right,
                            is_word ? static_cast<unsigned>(words_.convert(first.label)) : 0,
                            label(node)});
    }
    return tree;
  }

 private:
  [[noreturn]] void fail(const text::Tree::Node& at, const std::string& reason) const {
    reader_.lines().fail(at.line, at.column, reason);
  }
  [[nodiscard]] unsigned label(const text::Tree::Node& node) const {
    unsigned value = 0;
    const char* const end = node.label.data() + node.label.size();
    const auto read = std::from_chars(node.label.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value >= classes_) {
      fail(node,
           "label " + node.label + " is out of range; want one below " + std::to_string(classes_));
    }
    return value;
  }

  const text::TreeReader& reader_;
  Dict& words_;
  unsigned classes_;
  std::vector<unsigned> places_;  ///< in the binary tree, of the nodes of the other one
};

std::vector<Tree> read_trees(text::Lines lines, Dict& words, unsigned classes) {
  const std::string file = lines.file();
  text::TreeReader reader(std::move(lines), text::TreeReader::Layout::kOnePerLine);
  Binary binary(reader, words, classes);
  std::vector<Tree> trees;
  for (text::Tree tree; reader.next(tree);) {
    trees.push_back(binary.of(tree));
  }
  check_not_blank(file, trees.size());
  return trees;
}

}  // namespace

std::size_t Tree::labels() const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const TreeNode& n) { return n.has_label(); }));
}

Tree parse_tree(const std::string& text, Dict& words, unsigned classes, const std::string& file) {
  std::istringstream in(text);
  return read_trees({in, file}, words, classes).front();
}

std::vector<Tree> read_tree_file(const std::string& file, Dict& words, unsigned classes) {
  return read_trees(file, words, classes);
}

}  // namespace examples
