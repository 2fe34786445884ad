#include "trees.h"

#include <utility>

namespace examples {

namespace {

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
    throw DataError(file_, line_, at + 1, reason);
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

std::vector<Tree> read_tree_file(const std::string& file, Vocabulary& vocabulary,
                                 unsigned classes) {
  std::vector<Tree> trees;
  for_each_line(file, [&](std::string_view text, std::size_t line) {
    trees.push_back(parse_tree(text, vocabulary, classes, file, line));
  });
  return trees;
}

}  // namespace examples
