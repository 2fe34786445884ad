#pragma once

// Cells that multiply their state with a matrix, in one node. They run operations of the library
// and products one after the other, and save the price of a node for each
// (docs/decisions/0021-gates-in-one-node.md).
//
// A gradient of the matrix may be left for the end of the backward pass (ext::weight_gradient), and
// what it is a product of must last until then. So backward writes the gradient of a pre-activation
// over the pre-activation, a saved output whose value backward does not read.
//
// The matrix is the first argument: the graph finds a node like the last one by its first argument,
// where that is a parameter (graph::ParameterLists).

#include <array>
#include <cstddef>
#include <cstdint>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/steps.h"

#include "builders/give.h"

namespace dynet::builders {

/// The call of a rule that is a part of the call `of`, to be filled: all examples of it.
template <class Rule>
class PartOfCell {
 public:
  /// `absent`: ext::Call::absent of the part.
  PartOfCell(const ext::Call& of, unsigned absent, ops::Operands in, ops::Operands out,
             ops::Operands saved)
      : call_(of.kernels, of.memory) {
    call_.examples = of.examples;
    call_.absent = absent;
    call_.in = {in.begin(), in.size()};
    call_.out = {out.begin(), out.size()};
    call_.saved = {saved.begin(), saved.size()};
  }
  void forward() { ext::kRecord<Rule>.forward(&rule_, call_); }
  void backward(const ext::Operand& d_out, ops::Operands d_in) {
    call_.d_out = {&d_out, 1};
    call_.d_in = {d_in.begin(), d_in.size()};
    ext::kRecord<Rule>.backward(&rule_, call_);
  }

 private:
  Rule rule_;
  ext::Call call_;
};

/// The gradient of an argument to which several steps of a call add: the first one stores where it
/// is fresh. In several blocks it is summed up in scratch memory, so that they are walked once.
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

  [[nodiscard]] bool absent() const { return dx_.absent(); }
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

/// dy * (1 - y^2): through tanh, in nodes.
auto through_tanh(auto& to, auto y, auto dy) {
  return to.add(ops::Subtract{}, dy, to.add(ops::CMult{}, dy, to.add(ops::Square{}, y)));
}
/// dy * (y - y^2): through the logistic function, in nodes.
auto through_logistic(auto& to, auto y, auto dy) {
  return to.add(ops::CMult{}, dy, to.add(ops::Subtract{}, y, to.add(ops::Square{}, y)));
}

/// Refuses all but a square matrix and vectors as long as its columns.
inline Dim cell_size(const ext::Shapes& in, const char* wanted) {
  const unsigned h = in[0].rows();
  bool fits = in[0].nd == 2 && in[0].cols() == h;
  for (std::size_t i = 1; i < in.size(); ++i) {
    fits = fits && in[i].nd == 1 && in[i].rows() == h;
  }
  if (!fits) {
    in.fail(wanted);
  }
  return Dim({h});
}

/// What stands behind the products with the input and the state in a gated recurrent unit.
struct GruCell {
  enum { kMatrix, kZ, kR, kOfX, kOld };
  enum { kKept, kOpen, kCandidate, kGates };  // saved

  static constexpr ext::Info kInfo{
      .name = "gru_cell",
      .args = {"w", "z", "r", "g", "h"},
      .formula = "y = (1 - logistic(z)) * h + logistic(z) * tanh(g + w (logistic(r) * h))",
      .summary =
          "The new state of a gated recurrent unit from the pre-activations z and r of its gates, "
          "what g of its candidate does not wait for the gates, and the old state h.",
      .shapes = "{h,h}, {h}, {h}, {h}, {h} -> {h}",
      .errors = "ShapeError where the shapes differ",
      .source = "Cho et al., 2014"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kStacked, ext::Role::kStacked,
                                     ext::Role::kStacked, ext::Role::kStacked};
  static constexpr unsigned kSaved = 4;
  Dim shape(const ext::Shapes& in) const {
    return cell_size(in, "a matrix w {h,h}, and z, r, g and h {h}");
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const unsigned h = in[0].rows();
    return {Dim({h}), Dim({h}), Dim({h}), Dim({in.extent(ext::Count(2) * h)})};
  }
  void forward(ext::Call& call) const {
    const auto& in = call.in;
    const auto& saved = call.saved;
    PartOfCell<ops::GatedSum>(call, kOneGate, {in[kR], in[kOld], {}, {}}, {saved[kKept]},
                              {saved[kOpen]})
        .forward();
    call.kernels.product_plus(in[kOfX], in[kMatrix], saved[kKept], saved[kCandidate]);
    PartOfCell<ops::CoupledLstmC>(call, 0, {in[kZ], saved[kCandidate], in[kOld]}, {call.out[0]},
                                  {saved[kGates]})
        .forward();
  }
  void backward(ext::Call& call) const {
    const ext::Operand unread = ops::nothing(call.out[0].dim);
    const ext::Operand& old = call.in[kOld];
    const ext::Operand& d_candidate = call.saved[kCandidate];
    SummedGradient d_old(call, call.d_in[kOld]);
    PartOfCell<ops::CoupledLstmC>(call, 0, {unread, unread, old}, {unread}, {call.saved[kGates]})
        .backward(call.d_out[0], {call.d_in[kZ], d_candidate, d_old.first()});
    give_gradient(call, kOfX, d_candidate);
    give_weight(call, kMatrix, d_candidate, call.saved[kKept]);
    if (!call.d_in[kR].absent() || !d_old.absent()) {
      const ops::ScratchOperand d_kept(call, unread.dim, call.examples);
      call.kernels.product(call.in[kMatrix], ext::Transposed::kYes, d_candidate,
                           ext::Transposed::kNo, d_kept, ext::Write::kStore);
      PartOfCell<ops::GatedSum>(call, kOneGate, {unread, old, {}, {}}, {unread},
                                {call.saved[kOpen]})
          .backward(d_kept, {call.d_in[kR], d_old.next(), {}, {}});
    }
    d_old.finish();
  }
  /// With the gates computed once more.
  void gradient(auto& to) const {
    const auto old = to.in(kOld);
    const auto z = to.add(ops::Logistic{}, to.in(kZ));
    const auto r = to.add(ops::Logistic{}, to.in(kR));
    const auto kept = to.add(ops::CMult{}, r, old);
    const auto g =
        to.add(ops::Tanh{}, to.add(ops::AffineTransform{}, to.in(kOfX), to.in(kMatrix), kept));
    const auto dy = to.d_out();
    const auto dg = through_tanh(to, g, to.add(ops::CMult{}, dy, z));
    const auto d_kept = to.product(to.transposed(to.in(kMatrix)), dg);
    const auto change = to.add(ops::Subtract{}, g, old);
    to.give(kZ, through_logistic(to, z, to.add(ops::CMult{}, dy, change)));
    to.give(kR, through_logistic(to, r, to.add(ops::CMult{}, d_kept, old)));
    to.give(kOfX, dg);
    to.give_weight(kMatrix, dg, kept);
    to.give(kOld, to.add(ops::Subtract{}, dy, to.add(ops::CMult{}, dy, z)));
    to.give(kOld, to.add(ops::CMult{}, d_kept, r));
  }
  static std::vector<ext::Example<GruCell>> examples() {
    return {{{}, {{3, 3}, {3}, {3}, {3}, {3}}},
            {{}, {{17, 17}, {17}, {17}, {17}, {17}}},
            {{}, {{1, 1}, {1}, {1}, {1}, {1}}},
            {{}, {{0, 0}, {0}, {0}, {0}, {0}}}};
  }

 private:
  static constexpr unsigned kOneGate = 1;  // the group of gated_sum's arguments b and y
};

/// A step of an LSTM with coupled gates whose output gate looks at the new cell through a matrix.
struct PeepholeCell {
  enum { kMatrix, kI, kG, kO, kOld };
  enum { kGates, kOpen, kShown };  // saved

  static constexpr ext::Info kInfo{
      .name = "peephole_cell",
      .args = {"w", "i", "g", "o", "c"},
      .formula =
          "c' = logistic(i) * tanh(g) + (1 - logistic(i)) * c; "
          "h = logistic(o + w c') * tanh(c')",
      .summary =
          "The new cell and the hidden state of an LSTM whose forget gate is 1 - input gate, from "
          "the pre-activations i and g, what o of the output gate does not wait for the new cell, "
          "and the old cell c.",
      .shapes = "{h,h}, {h}, {h}, {h}, {h} -> {h}, {h}",
      .errors = "ShapeError where the shapes differ",
      .source = "Greff et al., 2015"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kStacked, ext::Role::kStacked,
                                     ext::Role::kStacked, ext::Role::kStacked};
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 3;
  std::array<Dim, kOutputs> shapes(const ext::Shapes& in) const {
    const Dim h = cell_size(in, "a matrix w {h,h}, and i, g, o and c {h}");
    return {h, h};
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const Dim two({in.extent(ext::Count(2) * in[0].rows())});
    return {two, Dim({in[0].rows()}), two};
  }
  void forward(ext::Call& call) const {
    const auto& in = call.in;
    const ext::Operand& cell = call.out[0];
    const ext::Operand& open = call.saved[kOpen];
    PartOfCell<ops::CoupledLstmC>(call, 0, {in[kI], in[kG], in[kOld]}, {cell}, {call.saved[kGates]})
        .forward();
    call.kernels.product_plus(in[kO], in[kMatrix], cell, open);
    PartOfCell<ops::CoupledLstmH>(call, 0, {open, cell}, {call.out[1]}, {call.saved[kShown]})
        .forward();
  }
  void backward(ext::Call& call) const {
    if (call.d_out[1].absent()) {
      give_nothing(call, kO);
      give_nothing(call, kMatrix);
      back_to_gates(call, call.d_out[0]);
      return;
    }
    const ext::Operand& cell = call.out[0];
    const ext::Operand& d_open = call.saved[kOpen];
    const ops::ScratchOperand d_cell(call, cell.dim, call.examples);
    const ext::Operand unread = ops::nothing(cell.dim);
    PartOfCell<ops::CoupledLstmH>(call, 0, {unread, unread}, {unread}, {call.saved[kShown]})
        .backward(call.d_out[1], {d_open, d_cell});
    give_gradient(call, kO, d_open);
    give_weight(call, kMatrix, d_open, cell);
    call.kernels.product(call.in[kMatrix], ext::Transposed::kYes, d_open, ext::Transposed::kNo,
                         d_cell, ext::Write::kAdd);
    if (!call.d_out[0].absent()) {
      call.kernels.move(ext::whole_move(cell.size()), call.d_out[0], d_cell, ext::Write::kAdd);
    }
    back_to_gates(call, d_cell);
  }
  /// With the gates computed once more.
  void gradient(auto& to) const {
    const auto cell = to.out(0);
    const auto i = to.add(ops::Logistic{}, to.in(kI));
    const auto g = to.add(ops::Tanh{}, to.in(kG));
    const auto t = to.add(ops::Tanh{}, cell);
    const auto o =
        to.add(ops::Logistic{}, to.add(ops::AffineTransform{}, to.in(kO), to.in(kMatrix), cell));
    const auto dh = to.d_out(1);
    const auto d_open = through_logistic(to, o, to.add(ops::CMult{}, dh, t));
    to.give(kO, d_open);
    to.give_weight(kMatrix, d_open, cell);
    const auto through_h = through_tanh(to, t, to.add(ops::CMult{}, dh, o));
    const auto through_o = to.product(to.transposed(to.in(kMatrix)), d_open);
    const auto dc = to.add(ops::Sum{}, to.d_out(0), through_h, through_o);
    const auto change = to.add(ops::Subtract{}, g, to.in(kOld));
    to.give(kI, through_logistic(to, i, to.add(ops::CMult{}, dc, change)));
    to.give(kG, through_tanh(to, g, to.add(ops::CMult{}, dc, i)));
    to.give(kOld, to.add(ops::Subtract{}, dc, to.add(ops::CMult{}, dc, i)));
  }
  static std::vector<ext::Example<PeepholeCell>> examples() {
    return {{{}, {{3, 3}, {3}, {3}, {3}, {3}}},
            {{}, {{17, 17}, {17}, {17}, {17}, {17}}},
            {{}, {{1, 1}, {1}, {1}, {1}, {1}}},
            {{}, {{0, 0}, {0}, {0}, {0}, {0}}}};
  }

 private:
  static void back_to_gates(const ext::Call& call, const ext::Operand& d_cell) {
    const ext::Operand unread = ops::nothing(d_cell.dim);
    PartOfCell<ops::CoupledLstmC>(call, 0, {unread, unread, call.in[kOld]}, {unread},
                                  {call.saved[kGates]})
        .backward(d_cell, {call.d_in[kI], call.d_in[kG], call.d_in[kOld]});
  }
};

/// A step of a simple recurrent network behind the products with its input.
struct TanhCell {
  enum { kMatrix, kOfX, kOld };

  static constexpr ext::Info kInfo{
      .name = "tanh_cell",
      .args = {"w", "a", "h"},
      .formula = "y = tanh(a + w h)",
      .summary =
          "The new state of a simple recurrent network from the old state h and what a does "
          "not wait for it.",
      .shapes = "{h,h}, {h}, {h} -> {h}",
      .errors = "ShapeError where the shapes differ"};
  static constexpr std::array kRoles{ext::Role::kEither, ext::Role::kStacked, ext::Role::kStacked};
  static constexpr unsigned kSaved = 1;
  Dim shape(const ext::Shapes& in) const {
    return cell_size(in, "a matrix w {h,h}, and a and h {h}");
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const { return {Dim({in[0].rows()})}; }
  void forward(ext::Call& call) const {
    const ext::Operand& a = call.saved[0];
    call.kernels.product_plus(call.in[kOfX], call.in[kMatrix], call.in[kOld], a);
    PartOfCell<ops::Tanh>(call, 0, {a}, {call.out[0]}, {}).forward();
  }
  void backward(ext::Call& call) const {
    const ext::Operand& da = call.saved[0];
    PartOfCell<ops::Tanh>(call, 0, {ops::nothing(da.dim)}, {call.out[0]}, {})
        .backward(call.d_out[0], {da});
    give_gradient(call, kOfX, da);
    give_weight(call, kMatrix, da, call.in[kOld]);
    if (!call.d_in[kOld].absent()) {
      call.kernels.product(call.in[kMatrix], ext::Transposed::kYes, da, ext::Transposed::kNo,
                           call.d_in[kOld]);
    }
  }
  void gradient(auto& to) const {
    const auto da = through_tanh(to, to.out(), to.d_out());
    to.give(kOfX, da);
    to.give_weight(kMatrix, da, to.in(kOld));
    to.give(kOld, to.product(to.transposed(to.in(kMatrix)), da));
  }
  static std::vector<ext::Example<TanhCell>> examples() {
    return {{{}, {{3, 3}, {3}, {3}}},
            {{}, {{17, 17}, {17}, {17}}},
            {{}, {{1, 1}, {1}, {1}}},
            {{}, {{0, 0}, {0}, {0}}}};
  }
};

}  // namespace dynet::builders
