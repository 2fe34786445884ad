#pragma once

// Bracketed trees:
//
//   ( (S (NP (DT The) (NN dog)) (VP (VBZ barks))) )     Penn Treebank, over any number of lines
//   (3 (2 It) (4 (2 's) (4 fun)))                       Stanford Sentiment Treebank, one per line

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/text/lines.h"

namespace dynet::text {

/// A tree as a list in which children stand before their parent, so that a network computes it from
/// front to back; the root is last. A word is a node of its own: `(NN dog)` is the word "dog" and a
/// node "NN" above it.
///
/// Python: `str` is its text.
struct Tree {
  struct Node {
    std::string label;         ///< of a word: the word
    unsigned first_child = 0;  ///< place in `children`
    unsigned num_children = 0;
    std::size_t line = 0;  ///< where the label stands in the file, for errors
    std::size_t column = 0;

    [[nodiscard]] bool is_word() const { return num_children == 0; }
  };
  std::vector<Node> nodes;
  std::vector<unsigned> children;  ///< places in `nodes`, a node's side by side

  [[nodiscard]] const Node& root() const { return nodes.back(); }
  /// Place in `nodes` of child `i` of `node`.
  [[nodiscard]] unsigned child(const Node& node, unsigned i) const {
    return children[node.first_child + i];
  }
  /// The words from left to right.
  [[nodiscard]] std::vector<std::string> words() const;

  /// Adds a word, or a node over nodes that have no parent yet; returns its place.
  unsigned add(std::string label, const std::vector<unsigned>& over = {});
};
/// Places in files are not compared.
[[nodiscard]] bool operator==(const Tree& a, const Tree& b);

/// Bracketed trees. Outer brackets without a label, `( (S ...) )`, are left out if there is one
/// tree in them; with several, they stay, and the root's label is empty. TextError for text outside
/// of brackets, brackets without a label or without children, and trees that do not end. After an
/// error reading goes on with the next line.
///
/// C++: Its depth is limited by memory alone. Not thread-safe.
///
/// Python: An iterator over the trees. With `one_per_line`, a lost bracket is found in its line.
class TreeReader : public Stream<TreeReader, Tree> {
 public:
  /// kOnePerLine: a tree ends in the line in which it begins, so that a lost bracket is found
  /// there; more after it is an error.
  enum class Layout : std::uint8_t { kAny, kOnePerLine };

  explicit TreeReader(Lines lines, Layout layout = Layout::kAny)
      : lines_(std::move(lines)), layout_(layout) {}
  /// False at the end. An error leaves `tree` as it was.
  bool next(Tree& tree);
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  /// A bracket that is not closed yet.
  struct Open {
    std::string label;  ///< of a word: the word
    std::size_t first;  ///< of its children in pending_
    std::size_t line;
    std::size_t column;
    std::size_t label_column;
  };

  bool read_tree();
  bool skip_space();
  void open();
  void close();
  void read_word();
  void finish();
  std::string_view take_token();

  Lines lines_;
  Layout layout_;
  std::string_view line_;  ///< the line of `lines_` that is being read
  std::size_t at_ = 0;     ///< in line_
  Tree read_;
  std::vector<Open> open_;
  std::vector<unsigned> pending_;  ///< nodes without a parent
};

/// Writes a tree in one line. ValueError if a label or a word is empty or has brackets or white
/// space; the root's label may be empty if it has several children.
void write(std::ostream& out, const Tree& tree);

}  // namespace dynet::text
