#include "listops_data.h"

#include <algorithm>

namespace examples {

namespace {

constexpr const char* kNames[kListOpCount] = {"MIN", "MAX", "MED", "SM"};
/// A list nested deeper than this is refused: the functions below recurse.
constexpr std::size_t kMaxNesting = 200;
/// How many of 100 arguments that may be lists are lists.
constexpr unsigned kListPercent = 30;

}  // namespace

const char* name_of(ListOp op) { return kNames[static_cast<unsigned>(op)]; }

std::vector<std::string> listops_words() {
  std::vector<std::string> words;
  for (unsigned digit = 0; digit < kDigitCount; ++digit) {
    words.push_back(std::to_string(digit));
  }
  words.insert(words.end(), std::begin(kNames), std::end(kNames));
  return words;
}

unsigned value_of(ListOp op, const std::vector<unsigned>& values) {
  switch (op) {
    case ListOp::kMin:
      return *std::min_element(values.begin(), values.end());
    case ListOp::kMax:
      return *std::max_element(values.begin(), values.end());
    case ListOp::kMed: {
      std::vector<unsigned> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      return sorted[(sorted.size() - 1) / 2];
    }
    case ListOp::kSm:
      break;
  }
  unsigned sum = 0;
  for (const unsigned value : values) {
    sum += value;
  }
  return sum % kDigitCount;
}

unsigned evaluate(const ListExpr& expr) {
  if (expr.is_digit) {
    return expr.digit;
  }
  std::vector<unsigned> values;
  for (const ListExpr& arg : expr.args) {
    values.push_back(evaluate(arg));
  }
  return value_of(expr.op, values);
}

unsigned depth(const ListExpr& expr) {
  unsigned deepest = 0;
  for (const ListExpr& arg : expr.args) {
    deepest = std::max(deepest, depth(arg));
  }
  return expr.is_digit ? 0 : deepest + 1;
}

std::string to_text(const ListExpr& expr) {
  if (expr.is_digit) {
    return std::to_string(expr.digit);
  }
  std::string text("[");
  text += name_of(expr.op);
  for (const ListExpr& arg : expr.args) {
    text += ' ';
    text += to_text(arg);
  }
  text += ']';
  return text;
}

namespace {

/// Appends the nodes of `expr`; the last one stands for it.
void append(const ListExpr& expr, Tree& tree) {
  if (expr.is_digit) {
    tree.nodes.push_back({kNone, kNone, expr.digit, expr.digit});
    return;
  }
  tree.nodes.push_back({kNone, kNone, kDigitCount + static_cast<unsigned>(expr.op), kNone});
  auto so_far = static_cast<unsigned>(tree.nodes.size()) - 1;
  std::vector<unsigned> values;
  for (const ListExpr& arg : expr.args) {
    append(arg, tree);
    values.push_back(tree.nodes.back().label);
    const auto last = static_cast<unsigned>(tree.nodes.size()) - 1;
    tree.nodes.push_back({so_far, last, 0, value_of(expr.op, values)});
    so_far = last + 1;
  }
}

}  // namespace

Tree to_tree(const ListExpr& expr) {
  Tree tree;
  append(expr, tree);
  return tree;
}

ListExpr ListOpsGenerator::next() { return list(1 + random_.below(kListOpsMaxDepth)); }

/// A list of exactly this depth: one argument, drawn, is of depth - 1, the others of any up to it.
ListExpr ListOpsGenerator::list(unsigned depth) {
  ListExpr expr;
  expr.is_digit = false;
  expr.op = static_cast<ListOp>(random_.below(kListOpCount));
  const unsigned count = 2 + random_.below(3);
  const unsigned deep = random_.below(count);
  for (unsigned i = 0; i < count; ++i) {
    expr.args.push_back(i == deep && depth > 1 ? list(depth - 1) : argument(depth - 1));
  }
  return expr;
}

ListExpr ListOpsGenerator::argument(unsigned max_depth) {
  if (max_depth > 0 && random_.below(100) < kListPercent) {
    return list(1 + random_.below(max_depth));
  }
  ListExpr expr;
  expr.digit = random_.below(kDigitCount);
  return expr;
}

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ','; }
bool is_opening(char c) { return c == '[' || c == '('; }
bool is_closing(char c) { return c == ']' || c == ')'; }

class ListParser {
 public:
  explicit ListParser(std::string_view text) : text_(text) {}

  ListExpr parse() {
    ListExpr expr = argument(0);
    skip_spaces();
    if (at_ != text_.size()) {
      fail(at_, is_closing(text_[at_]) ? "a closing bracket too many"
                                       : "text after the end of the list");
    }
    return expr;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, const std::string& reason) {
    throw DataError("expression", 1, at + 1, reason);
  }
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    }
  }
  std::string word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && !is_opening(text_[at_]) &&
           !is_closing(text_[at_])) {
      ++at_;
    }
    std::string word(text_.substr(start, at_ - start));
    for (char& c : word) {
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return word;
  }

  ListExpr argument(std::size_t nesting) {
    if (nesting > kMaxNesting) {
      fail(at_, "nested deeper than " + std::to_string(kMaxNesting) + " lists");
    }
    skip_spaces();
    const std::size_t start = at_;
    if (at_ == text_.size()) {
      fail(at_, "want a digit or a list, as in [MAX 3 [MIN 4 5]]");
    }
    const char bracket = text_[at_];
    if (is_closing(bracket)) {
      fail(at_, "a closing bracket where a digit or a list is wanted");
    }
    if (is_opening(bracket)) {
      ++at_;
      skip_spaces();
    }
    const std::size_t word_at = at_;
    const std::string name = word();
    ListExpr expr;
    if (name.size() == 1 && name[0] >= '0' && name[0] <= '9' && !is_opening(bracket)) {
      expr.digit = static_cast<unsigned>(name[0] - '0');
      return expr;
    }
    const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) {
      fail(word_at, is_opening(bracket)
                        ? "want an operator after the bracket: MIN, MAX, MED or SM"
                        : "'" + name + "' is neither a digit from 0 to 9 nor MIN, MAX, MED or SM");
    }
    expr.is_digit = false;
    expr.op = static_cast<ListOp>(found - std::begin(kNames));
    rest_of_list(expr, is_opening(bracket) ? bracket : ' ', start, nesting);
    return expr;
  }

  /// The arguments and the end of the list that began at `start`; `bracket` is ' ' without one.
  void rest_of_list(ListExpr& expr, char bracket, std::size_t start, std::size_t nesting) {
    const std::string where =
        std::string(name_of(expr.op)) + " at column " + std::to_string(start + 1);
    for (skip_spaces(); at_ < text_.size() && !is_closing(text_[at_]); skip_spaces()) {
      expr.args.push_back(argument(nesting + 1));
    }
    if (at_ == text_.size() && bracket != ' ') {
      fail(at_, "the list " + where + " is not closed");
    }
    if (expr.args.empty()) {
      fail(at_, "the list " + where + " has no arguments");
    }
    if (at_ == text_.size()) {
      return;
    }
    if ((bracket == '(') != (text_[at_] == ')')) {
      fail(at_, "the list " + where + " is closed by the other kind of bracket");
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

ListExpr parse_list(std::string_view text) { return ListParser(text).parse(); }

}  // namespace examples
