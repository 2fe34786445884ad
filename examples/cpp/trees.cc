#include "trees.h"

#include <fstream>
#include <istream>
#include <utility>

namespace examples {

TreeError::TreeError(const std::string& file, std::size_t line, std::size_t column,
                     const std::string& reason)
    : std::runtime_error(file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                         reason),
      line_(line),
      column_(column) {}

Vocabulary::Vocabulary() { number("<unk>"); }

unsigned Vocabulary::number(std::string_view word) {
  const auto found = numbers_.find(std::string(word));
  if (found != numbers_.end()) {
    return found->second;
  }
  if (is_frozen_) {
    return 0;
  }
  const unsigned number = size();
  words_.emplace_back(word);
  numbers_.emplace(words_.back(), number);
  return number;
}

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A bracket that is not closed yet.
struct Open {
  std::size_t at;  ///< of the bracket in the text
  int label;
  int parts[2] = {-1, -1};
  unsigned count = 0;
  bool has_word = false;
  unsigned symbol = 0;
};

/// Reads one tree with a stack of its own: depth is limited by memory, not by the call stack.
class Parser {
 public:
  Parser(std::string_view text, Vocabulary& vocabulary, unsigned classes, const std::string& file,
         std::size_t line)
      : text_(text), vocabulary_(vocabulary), classes_(classes), file_(file), line_(line) {}

  Tree parse() {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != '(') {
      fail(at_, "want a tree: '(', a label, then a word or two subtrees");
    }
    do {
      step();
      skip_spaces();
    } while (!stack_.empty());
    if (at_ != text_.size()) {
      fail(at_, "text after the end of the tree");
    }
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& reason) const {
    throw TreeError(file_, line_, at + 1, reason);
  }
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    }
  }
  void step() {
    if (at_ == text_.size()) {
      fail(at_, "the tree ends before the '(' at column " + std::to_string(stack_.back().at + 1) +
                    " is closed");
    }
    if (text_[at_] == '(') {
      open();
    } else if (text_[at_] == ')') {
      close();
    } else {
      word();
    }
  }
  void open() {
    if (!stack_.empty()) {
      if (stack_.back().has_word) {
        fail(at_, "a subtree beside a word");
      }
      if (stack_.back().count == 2) {
        fail(at_, "a third subtree; a node has a word or two subtrees");
      }
    }
    const std::size_t bracket = at_++;
    skip_spaces();
    const std::size_t start = at_;
    unsigned label = 0;
    while (at_ < text_.size() && is_digit(text_[at_]) && label < 1000000) {
      label = label * 10 + static_cast<unsigned>(text_[at_++] - '0');
    }
    const bool ends =
        at_ == text_.size() || is_space(text_[at_]) || text_[at_] == '(' || text_[at_] == ')';
    if (at_ == start || !ends) {
      fail(start, "want a label after '(', a number below " + std::to_string(classes_));
    }
    if (label >= classes_) {
      fail(start, "label " + std::to_string(label) + " is out of range; want one below " +
                      std::to_string(classes_));
    }
    stack_.push_back({.at = bracket, .label = static_cast<int>(label)});
  }
  void word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '(' && text_[at_] != ')') {
      ++at_;
    }
    Open& top = stack_.back();
    if (top.has_word || top.count > 0) {
      fail(start, "a word beside a word or a subtree; a node has a word or two subtrees");
    }
    top.has_word = true;
    top.symbol = vocabulary_.number(text_.substr(start, at_ - start));
  }
  void close() {
    const Open& top = stack_.back();
    if (!top.has_word && top.count != 2) {
      fail(at_, top.count == 0 ? "a node without a word or subtrees"
                               : "a node with one subtree; want a word or two subtrees");
    }
    tree_.nodes.push_back({top.parts[0], top.parts[1], top.symbol, top.label});
    stack_.pop_back();
    ++at_;
    if (!stack_.empty()) {
      Open& parent = stack_.back();
      parent.parts[parent.count++] = static_cast<int>(tree_.nodes.size()) - 1;
    }
  }

  std::string_view text_;
  Vocabulary& vocabulary_;
  unsigned classes_;
  const std::string& file_;
  std::size_t line_;
  std::size_t at_ = 0;
  std::vector<Open> stack_;
  Tree tree_;
};

}  // namespace

Tree parse_tree(std::string_view text, Vocabulary& vocabulary, unsigned classes,
                const std::string& file, std::size_t line) {
  return Parser(text, vocabulary, classes, file, line).parse();
}

std::vector<Tree> read_trees(std::istream& in, const std::string& file, Vocabulary& vocabulary,
                             unsigned classes) {
  std::vector<Tree> trees;
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") != std::string::npos) {
      trees.push_back(parse_tree(text, vocabulary, classes, file, line));
    }
  }
  return trees;
}

std::vector<Tree> read_tree_file(const std::string& file, Vocabulary& vocabulary,
                                 unsigned classes) {
  std::ifstream in(file);
  if (!in) {
    throw std::runtime_error("cannot open the tree file '" + file + "'");
  }
  std::vector<Tree> trees = read_trees(in, file, vocabulary, classes);
  if (trees.empty()) {
    throw TreeError(file, 1, 1, "no tree in this file");
  }
  return trees;
}

std::vector<std::size_t> random_order(std::size_t n, Random& random) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  for (std::size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<unsigned>(i))]);
  }
  return order;
}

}  // namespace examples
