#include "dynet/text/trees.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "text/text_support.h"

namespace dynet::text {

namespace {
bool ends_token(char c) { return is_space(c) || c == '(' || c == ')'; }
}  // namespace

bool operator==(const Tree& a, const Tree& b) {
  const auto same = [](const Tree::Node& x, const Tree::Node& y) {
    return x.label == y.label && x.num_children == y.num_children &&
           (x.is_word() || x.first_child == y.first_child);
  };
  return a.children == b.children &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same);
}

std::vector<std::string> Tree::words() const {
  std::vector<std::string> words;
  for (const Node& node : nodes) {
    if (node.is_word()) {
      words.push_back(node.label);
    }
  }
  return words;
}

unsigned Tree::add(std::string label, const std::vector<unsigned>& over) {
  for (const unsigned child : over) {
    if (child >= nodes.size()) {
      throw errors::IndexError("text::Tree::add: child " + std::to_string(child) + " of " +
                               std::to_string(nodes.size()) + " nodes");
    }
  }
  Node node;
  node.label = std::move(label);
  node.first_child = static_cast<unsigned>(children.size());
  node.num_children = static_cast<unsigned>(over.size());
  children.insert(children.end(), over.begin(), over.end());
  nodes.push_back(std::move(node));
  return static_cast<unsigned>(nodes.size() - 1);
}

bool TreeReader::next(Tree& tree) {
  read_.nodes.clear();
  read_.children.clear();
  open_.clear();
  pending_.clear();
  try {
    if (!read_tree()) {
      return false;
    }
  } catch (...) {
    line_ = {};  // goes on with the next line
    at_ = 0;
    throw;
  }
  std::swap(tree, read_);
  return true;
}

/// Goes to the next character that is no white space, over lines; false at the end of the file.
bool TreeReader::skip_space() {
  while (true) {
    while (at_ < line_.size() && is_space(line_[at_])) {
      ++at_;
    }
    if (at_ < line_.size()) {
      return true;
    }
    if (!open_.empty() && layout_ == Layout::kOnePerLine) {
      lines_.fail(at_ + 1, "the tree ends before the '(' at column " +
                               std::to_string(open_.back().column) + " is closed");
    }
    at_ = 0;
    line_ = {};
    if (!lines_.next(line_)) {
      line_ = {};
      return false;
    }
  }
}

bool TreeReader::read_tree() {
  if (!skip_space()) {
    return false;
  }
  if (line_[at_] != '(') {
    lines_.fail(at_ + 1, "want a tree, which begins with '('");
  }
  do {
    if (line_[at_] == '(') {
      open();
    } else if (line_[at_] == ')') {
      close();
    } else {
      read_word();
    }
    if (open_.empty()) {
      finish();
      return true;
    }
  } while (skip_space());
  const Open& last = open_.back();
  lines_.fail(last.line, last.column, "the file ends before this '(' is closed");
}

std::string_view TreeReader::take_token() {
  const std::size_t begin = at_;
  while (at_ < line_.size() && !ends_token(line_[at_])) {
    ++at_;
  }
  return line_.substr(begin, at_ - begin);
}

void TreeReader::open() {
  const std::size_t bracket = ++at_;  // its column, from 1
  const std::size_t line = lines_.number();
  while (at_ < line_.size() && is_space(line_[at_])) {
    ++at_;
  }
  const std::size_t label_column = at_ + 1;
  const std::string_view label = take_token();
  // Only outer brackets may have none.
  if (label.empty() && !open_.empty()) {
    lines_.fail(label_column, "want a label after '('");
  }
  open_.push_back({std::string(label), pending_.size(), line, bracket, label_column});
}

void TreeReader::read_word() {
  const std::size_t column = at_ + 1;
  const std::string_view word = take_token();
  if (open_.back().label.empty()) {
    lines_.fail(column, "a word in brackets without a label");
  }
  const unsigned place = read_.add(std::string(word));
  read_.nodes[place].line = lines_.number();
  read_.nodes[place].column = column;
  pending_.push_back(place);
}

void TreeReader::close() {
  const Open& top = open_.back();
  const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(top.first);
  const auto count = static_cast<std::size_t>(pending_.end() - first);
  if (count == 0) {
    lines_.fail(at_ + 1, top.label.empty() ? "want a tree in the brackets"
                                           : "a node without a word or subtrees");
  }
  if (read_.nodes.size() >= std::numeric_limits<unsigned>::max()) {
    lines_.fail(at_ + 1, "more nodes than can be counted");
  }
  if (!top.label.empty() || count > 1) {
    const unsigned place = read_.add(top.label, {first, pending_.end()});
    read_.nodes[place].line = top.line;
    read_.nodes[place].column = top.label.empty() ? top.column : top.label_column;
    pending_.erase(first, pending_.end());
    pending_.push_back(place);
  }
  open_.pop_back();
  ++at_;
}

void TreeReader::finish() {
  if (layout_ == Layout::kOnePerLine) {
    while (at_ < line_.size() && is_space(line_[at_])) {
      ++at_;
    }
    if (at_ < line_.size()) {
      lines_.fail(at_ + 1, "text after the end of the tree");
    }
  }
}

namespace {

/// ValueError unless `tree` is a tree, and its labels can be read back.
void check_tree(const Tree& tree) {
  if (tree.nodes.empty()) {
    throw errors::ValueError("text::write: a tree without nodes");
  }
  const Tree::Node& root = tree.root();
  if (root.is_word()) {
    throw errors::ValueError("text::write: the tree '" + root.label +
                             "' is a word; want a node above it");
  }
  std::vector<char> has_parent(tree.nodes.size(), 0);
  for (std::size_t place = 0; place < tree.nodes.size(); ++place) {
    const Tree::Node& node = tree.nodes[place];
    if (!(&node == &root && node.num_children > 1 && node.label.empty())) {
      check_word(node.is_word() ? "word" : "label", node.label, "()");
    }
    for (unsigned i = 0; i < node.num_children; ++i) {
      const std::size_t child =
          node.first_child + i < tree.children.size() ? tree.child(node, i) : tree.nodes.size();
      if (child >= place || has_parent[child] != 0) {
        throw errors::ValueError("text::write: child " + std::to_string(i) + " of node " +
                                 std::to_string(place) + "; want an earlier node without a parent");
      }
      if (root.label.empty() && &node == &root && tree.nodes[child].is_word()) {
        throw errors::ValueError("text::write: a word below a root without a label");
      }
      has_parent[child] = 1;
    }
  }
  for (std::size_t place = 0; place + 1 < tree.nodes.size(); ++place) {
    if (has_parent[place] == 0) {
      throw errors::ValueError("text::write: node " + std::to_string(place) + " has no parent");
    }
  }
}

}  // namespace

void write(std::ostream& out, const Tree& tree) {
  check_tree(tree);
  /// A node that is being written: its next child.
  struct Open {
    unsigned node;
    unsigned next;
  };
  std::vector<Open> open{{static_cast<unsigned>(tree.nodes.size() - 1), 0}};
  out << '(' << tree.root().label;
  while (!open.empty()) {
    Open& top = open.back();
    const Tree::Node& node = tree.nodes[top.node];
    if (top.next == node.num_children) {
      out << ')';
      open.pop_back();
      continue;
    }
    const unsigned child = tree.child(node, top.next++);
    out << ' ' << (tree.nodes[child].is_word() ? "" : "(") << tree.nodes[child].label;
    if (!tree.nodes[child].is_word()) {
      open.push_back({child, 0});
    }
  }
  out << '\n';
}

}  // namespace dynet::text
