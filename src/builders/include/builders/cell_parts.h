#pragma once

// The parts of cells: operations of the library inside a cell's operation, and the sums of the
// gates.
//
// A cell computes, in one node, the gates of a step and the new state. Its arguments are
//
//   b_1 ... b_n    a bias for each gate, {h}; or one bias for all of them, such as {4h}
//   state          matrices with equally many rows, and the vectors {h} that they multiply
//   w_1 ... w_n x  a matrix for each bias, and the vector that they multiply; more such terms may
//                  follow
//
// The first saved outputs are the sums b_g + w_g x + ... of the gates. If the inputs of all steps
// are known, the scheduler first calls the cell with biases and inputs alone (ext::Part), for all
// steps at once; then each step adds the products with its state.
//
// Cells have a backward beside gradient(to), which has no calls of parts: backward is called for
// the state and for the inputs, each with its own arguments only.
//
// The gradient of a matrix may wait for the end of the backward pass (ext::weight_gradient), and
// its two factors must last until then. So backward writes the gradients of the sums over the sums,
// whose values it does not read. The call for biases and inputs, which follows the call for the
// state, finds the gradients there.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "dynet/ext/op.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/steps.h"

#include "builders/gate_terms.h"
#include "builders/give.h"

namespace dynet::builders {

/// The call of a rule as a part of the call `of`, for all its examples. To be filled in.
template <class Rule>
class PartOfCell {
 public:
  /// `absent`: ext::Call::absent of the part.
  PartOfCell(const ext::Call& of, unsigned absent, ops::Operands in, ops::Operands out,
             ops::Operands saved, const Rule& rule = Rule())
      : rule_(rule), call_(of.kernels, of.memory) {
    call_.examples = of.examples;
    call_.absent = absent;
    call_.in = {in.begin(), in.size()};
    call_.out = {out.begin(), out.size()};
    call_.saved = {saved.begin(), saved.size()};
  }
  void forward() { ext::kRecord<Rule>.forward(&rule_, call_); }
  void backward(const ext::Operand& d_out, ops::Operands d_in) {
    backward(std::span<const ext::Operand>(&d_out, 1), d_in);
  }
  void backward(std::span<const ext::Operand> d_out, ops::Operands d_in) {
    call_.d_out = d_out;
    call_.d_in = {d_in.begin(), d_in.size()};
    ext::kRecord<Rule>.backward(&rule_, call_);
  }

 private:
  Rule rule_;
  ext::Call call_;
};

/// The gradient of an argument to which several steps of a call add. The first step stores if the
/// gradient is fresh. A gradient in several blocks is summed up in scratch memory, so that one pass
/// over the blocks is enough.
class SummedGradient {
 public:
  SummedGradient(const ext::Call& call, const ext::Operand& dx) : call_(call), dx_(dx), sum_(dx) {
    if (dx.absent()) {
      return;
    }
    block_ = dx.blocks[0];
    if (!dx.one_block()) {
      const std::int64_t bytes = dx.examples * dx.size() * ext::bytes_of(call.kernels.number());
      block_ = {call.scratch(bytes), dx.examples, true};
      sum_.block_count = 1;
    }
    sum_.blocks = &block_;
  }
  SummedGradient(const SummedGradient&) = delete;
  SummedGradient& operator=(const SummedGradient&) = delete;
  ~SummedGradient() = default;

  [[nodiscard]] const ext::Operand& first() const { return sum_; }
  [[nodiscard]] const ext::Operand& next() {
    block_.fresh = false;
    return sum_;
  }
  void finish() const {
    if (!dx_.absent() && !dx_.one_block()) {
      call_.kernels.move(ext::whole_move(dx_.size()), sum_, dx_);
    }
  }

 private:
  const ext::Call& call_;
  const ext::Operand& dx_;
  ext::Block block_;
  ext::Operand sum_;
};

/// A call of a cell, or of one part: the positions of the operands, and the sums of the gates.
template <class Cell>
class CellCall {
 public:
  static constexpr unsigned kGates = Cell::kHeadArgs;

  explicit CellCall(ext::Call& call)
      : call_(call),
        heads_(call.has_heads() ? kGates : 0),
        terms_(heads_ + (call.has_state() ? Cell::kStateArgs : 0)) {}

  /// The operand that is argument i of the state.
  [[nodiscard]] std::size_t at(std::size_t i) const { return heads_ + i; }
  [[nodiscard]] const ext::Operand& state(std::size_t i) const { return call_.in[at(i)]; }
  [[nodiscard]] const ext::Operand& d_state(std::size_t i) const { return call_.d_in[at(i)]; }
  [[nodiscard]] std::span<const ext::Operand> sums() const { return call_.saved.first(kGates); }

  /// Adds biases, products with inputs, and products with the terms of the state, whose `at` is an
  /// argument of the state, to the sums: the parts that the call has.
  void add_products(std::initializer_list<GateTerm> of_state) const {
    GateSums<kGates, kMostTerms> all(call_, sums(), heads_ == 0);
    for (std::size_t i = terms_; i < call_.in.size(); i += Cell::kTermArgs) {
      all.add({i, kGates});
    }
    // Two lists, as in calls of parts, so that a step has the same bits in both.
    all.finish();
    for (const GateTerm& term : of_state) {
      if (call_.has_state()) {
        all.add({at(term.at), term.count, term.gate});
      }
    }
    all.finish();
  }
  /// A term of the state, and the gradient of its vector.
  struct BackTerm {
    GateTerm term;
    const ext::Operand& dx;
  };
  void back_through_state(std::initializer_list<BackTerm> all) const {
    GateGradients<kGates, kMostTerms> gradients(call_, sums());
    for (const auto& [term, dx] : all) {
      gradients.add({at(term.at), term.count, term.gate}, dx);
    }
    gradients.finish();
  }
  void back_through_inputs() const {
    for (std::size_t g = 0; g < heads_; ++g) {
      give_gradient(call_, g, sums()[g]);
    }
    GateGradients<kGates, kMostTerms> gradients(call_, sums());
    for (std::size_t i = terms_; i < call_.in.size(); i += Cell::kTermArgs) {
      gradients.add({i, kGates}, call_.d_in[i + kGates]);
    }
    gradients.finish();
  }

 private:
  static constexpr std::size_t kMostTerms = 3;  ///< of a list: x, h and c

  ext::Call& call_;
  std::size_t heads_;
  std::size_t terms_;
};

/// The gradients of a cell as nodes: of the arguments, and of the sums of the gates.
template <class Cell, class To>
class CellGradient {
 public:
  using Node = ext::GradientBuilder::Node;
  static constexpr unsigned kGates = Cell::kHeadArgs;
  static constexpr std::size_t kTerms = kGates + Cell::kStateArgs;

  explicit CellGradient(To& to) : to_(to) {}

  [[nodiscard]] Node state(std::size_t i) const { return to_.in(kGates + i); }
  /// b + the products of gate g with the inputs.
  [[nodiscard]] Node of_inputs(std::size_t g) const {
    Node sum = to_.in(g);
    for (std::size_t i = kTerms; i < to_.args(); i += Cell::kTermArgs) {
      sum = to_.add(ops::AffineTransform{}, sum, to_.in(i + g), to_.in(i + kGates));
    }
    return sum;
  }
  /// `sum` + the product of argument i of the state with x.
  [[nodiscard]] Node plus(Node sum, std::size_t i, Node x) const {
    return to_.add(ops::AffineTransform{}, sum, state(i), x);
  }
  void give(std::size_t i, Node gradient) { to_.give(kGates + i, gradient); }
  /// Gives the gradient of matrix i of the state, which multiplies x.
  void give_weight(std::size_t i, Node d_sum, Node x) { to_.give_weight(kGates + i, d_sum, x); }
  /// The gradient that goes back through matrix i of the state.
  [[nodiscard]] Node back_through(std::size_t i, Node d_sum) {
    return to_.product(to_.transposed(state(i)), d_sum);
  }
  /// Gives the gradients of `kCount` matrices from i on, and of the vector behind them.
  template <unsigned kCount>
  void give_state(std::size_t i, const std::array<Node, kCount>& d_sums) {
    give_term<kCount>(to_, kGates + i, d_sums);
  }
  void give_inputs(const std::array<Node, kGates>& d_sums) {
    for (std::size_t g = 0; g < kGates; ++g) {
      to_.give(g, d_sums[g]);
    }
    for (std::size_t i = kTerms; i < to_.args(); i += Cell::kTermArgs) {
      give_term<kGates>(to_, i, d_sums);
    }
  }

 private:
  To& to_;
};

/// {h} of a cell whose biases have `kParts` times h rows. Refuses arguments that differ from the
/// list above. Cell::kMayBeColumn: the vector of the state that is only multiplied, and may be
/// {h,1}.
template <class Cell, unsigned kParts = 1>
Dim cell_size(const ext::Shapes& in) {
  constexpr unsigned kGates = Cell::kHeadArgs;
  constexpr std::size_t kTerms = kGates + Cell::kStateArgs;
  const unsigned rows = in[0].rows();
  const unsigned h = rows / kParts;
  bool fits =
      rows % kParts == 0 && in.size() >= kTerms && (in.size() - kTerms) % Cell::kTermArgs == 0;
  for (std::size_t i = 0; fits && i < kGates; ++i) {
    fits = in[i].nd == 1 && in[i].rows() == rows;
  }
  for (std::size_t i = 0; fits && i < Cell::kStateArgs; ++i) {
    const Dim& dim = in[kGates + i];
    fits = ((Cell::kStateVectors >> i) & 1) != 0
               ? dim.nd <= (i == Cell::kMayBeColumn ? 2 : 1) && dim.rows() == h && dim.cols() == 1
               : dim.nd == 2 && dim.rows() == rows && dim.cols() == h;
  }
  for (std::size_t i = kTerms; fits && i < in.size(); i += Cell::kTermArgs) {
    const Dim& x = in[i + kGates];
    for (std::size_t g = 0; fits && g < kGates; ++g) {
      fits = in[i + g].nd == 2 && in[i + g].rows() == rows && in[i + g].cols() == x.rows();
    }
    fits = fits && x.nd <= 2 && x.cols() == 1;
  }
  if (!fits) {
    in.fail(Cell::kWanted);
  }
  return Dim({h});
}

}  // namespace dynet::builders
