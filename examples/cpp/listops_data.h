#pragma once

// ListOps: nested lists whose value is a digit, and the trees that a model sees of them.
//
//   [MAX 3 [MIN 4 5] 1]    the largest of 3, 4 and 1: 4
//
// MIN, MAX, MED (the lower median) and SM (the sum modulo 10) over digits and lists. As a binary
// tree a list branches to the left: its operator is a word, and each argument is joined to what
// stands before it,
//
//   (((MAX 3) ((MIN 4) 5)) 1)     each pair of brackets a node
//
// so every node has a value of its own: that of the operator over the arguments read so far. That
// value is its label. Operators have no label. No closing symbol is needed: a list ends where the
// node that joins it begins.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trees.h"

namespace examples {

enum class ListOp : unsigned { kMin, kMax, kMed, kSm };
inline constexpr unsigned kListOpCount = 4;
inline constexpr unsigned kDigitCount = 10;
/// Numbers of the words: the ten digits, then the operators in the order of ListOp.
inline constexpr unsigned kListOpsSymbols = kDigitCount + kListOpCount;
inline constexpr unsigned kListOpsMaxDepth = 4;

/// A digit, or an operator over at least one argument.
struct ListExpr {
  bool is_digit = true;
  unsigned digit = 0;
  ListOp op = ListOp::kMin;
  std::vector<ListExpr> args;
};

/// The operator over values of digits; `values` is not empty.
unsigned value_of(ListOp op, const std::vector<unsigned>& values);
/// By the definition, from the list itself.
unsigned evaluate(const ListExpr& expr);
/// Lists around the innermost digit: 0 for a digit.
unsigned depth(const ListExpr& expr);
std::string to_text(const ListExpr& expr);
const char* name_of(ListOp op);
/// The words of ListOps, by their numbers.
std::vector<std::string> listops_words();

Tree to_tree(const ListExpr& expr);

/// Reads a list, or a digit. Lists are written [MAX 3 4] or (MAX 3 4), or without the opening
/// bracket, MAX 3 4 ]; a list without one may also end with the text. Throws DataError with the
/// column.
ListExpr parse_list(std::string_view text);

/// An endless supply of lists with 2 to 4 arguments and a depth of 1 to 4, each depth as frequent
/// as the others. The same seed gives the same lists in C++ and in Python.
class ListOpsGenerator {
 public:
  explicit ListOpsGenerator(std::uint32_t seed) : random_(seed) {}
  ListExpr next();

 private:
  ListExpr list(unsigned depth);
  ListExpr argument(unsigned max_depth);

  Random random_;
};

}  // namespace examples
