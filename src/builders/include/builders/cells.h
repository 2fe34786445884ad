#pragma once

// A step of a recurrent network in one node, for a layer and a word
// (docs/decisions/0021-gates-in-one-node.md). cell_parts.h has the parts that cells share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/shape.h"
#include "dynet/ops/steps.h"

#include "builders/cell_parts.h"
#include "builders/give.h"

namespace dynet::builders {

/// A step of an LSTM whose gates have one matrix.
struct VanillaCell {
  float forget_bias = 1.0F;

  enum { kMatrix, kOld, kOldCell };  // state
  enum { kSum, kGates };             // saved

  static constexpr ext::Info kInfo{
      .name = "vanilla_cell",
      .args = {"exprs", "..."},
      .attrs = {"forget_bias"},
      .formula =
          "[i; f; o; g] = b + u h + w x; c' = logistic(f + forget_bias) * c + logistic(i) * "
          "tanh(g); "
          "h' = logistic(o) * tanh(c')",
      .summary = "The new cell and the hidden state of an LSTM, from the list b, u, h, c, w, x.",
      .shapes = "{4h}, {4h,h}, {h}, {h}, {4h,k}, {k} -> {h}, {h}",
      .errors = "ShapeError for another number of arguments, or shapes that do not fit",
      .source = "Hochreiter and Schmidhuber, 1997; Gers et al., 2000"};
  static constexpr const char* kWanted =
      "b {4h}, u {4h,h}, h {h} and c {h}, then w {4h,k} and x {k}";
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 1;
  static constexpr unsigned kStateArgs = 3;
  static constexpr std::uint32_t kStateVectors = 1U << kOld | 1U << kOldCell;
  static constexpr unsigned kMayBeColumn = kOld;
  static constexpr unsigned kTermArgs = 2;
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 2;
  std::array<Dim, kOutputs> shapes(const ext::Shapes& in) const {
    const Dim h = cell_size<VanillaCell, kGatesInSum>(in);
    return {h, h};
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const Dim gates({in[0].rows()});
    return {gates, gates};
  }
  void forward(ext::Call& call) const {
    const CellCall<VanillaCell> cell(call);
    cell.add_products({{kMatrix, 1}});
    if (call.has_state()) {
      PartOfCell<ops::LstmCell>(call, 0, {call.saved[kSum], cell.state(kOldCell)},
                                {call.out[0], call.out[1]}, {call.saved[kGates]}, {forget_bias})
          .forward();
    }
  }
  void backward(ext::Call& call) const {
    const CellCall<VanillaCell> cell(call);
    if (call.has_state()) {
      const ext::Operand& sum = call.saved[kSum];
      PartOfCell<ops::LstmCell>(call, 0, {ops::nothing(sum.dim), cell.state(kOldCell)},
                                {call.out[0], ops::nothing(call.out[1].dim)}, {call.saved[kGates]},
                                {forget_bias})
          .backward(call.d_out, {sum, cell.d_state(kOldCell)});
      cell.back_through_state({{{kMatrix, 1}, cell.d_state(kOld)}});
    }
    cell.back_through_inputs();
  }
  /// Computes the gates once more.
  void gradient(auto& to) const {
    CellGradient<VanillaCell, std::remove_reference_t<decltype(to)>> cell(to);
    const auto sum = cell.plus(cell.of_inputs(0), kMatrix, cell.state(kOld));
    const auto [d_sum, d_cell] =
        to.through(ops::LstmCell{forget_bias}, std::array{sum, cell.state(kOldCell)},
                   std::array{to.out(0), to.out(1)}, std::array{to.d_out(0), to.d_out(1)});
    cell.give(kOldCell, d_cell);
    cell.template give_state<1>(kMatrix, {d_sum});
    cell.give_inputs({d_sum});
  }
  static std::vector<ext::Example<VanillaCell>> examples() {
    const Dim b{12};
    return {{{1.0F}, {b, {12, 3}, {3}, {3}, {12, 2}, {2}}},
            {{0.5F}, {b, {12, 3}, {3}, {3}}},
            // Gates that are 1 in float but not in double have other slopes.
            {{-1.0F}, {{68}, {68, 17}, {17}, {17}, {68, 5}, {5, 1}}, -0.5, 0.5},
            {{1.0F}, {{4}, {4, 1}, {1}, {1}, {4, 1}, {1}}},
            {{1.0F}, {{0}, {0, 0}, {0}, {0}, {0, 2}, {2}}}};
  }

 private:
  static constexpr unsigned kGatesInSum = 4;
};

/// A step of a gated recurrent unit.
struct GruCell {
  enum { kZ, kR, kG };                               // gates
  enum { kHz, kHr, kOld, kHg };                      // state
  enum { kSums, kKept = kSums + 3, kOpen, kGates };  // saved

  static constexpr ext::Info kInfo{
      .name = "gru_cell",
      .args = {"exprs", "..."},
      .formula =
          "z = logistic(bz + uz h + wz x); r = logistic(br + ur h + wr x); "
          "y = (1 - z) * h + z * tanh(bg + ug (r * h) + wg x)",
      .summary =
          "The new state of a gated recurrent unit, from the list bz, br, bg, uz, ur, h, ug, wz, "
          "wr, wg, x.",
      .shapes = "{h}, {h}, {h}, {h,h}, {h,h}, {h}, {h,h}, {h,k}, {h,k}, {h,k}, {k} -> {h}",
      .errors = "ShapeError for another number of arguments, or shapes that do not fit",
      .source = "Cho et al., 2014"};
  static constexpr const char* kWanted =
      "bz, br and bg {h}, uz and ur {h,h}, h {h}, ug {h,h}, then wz, wr and wg {h,k} and x {k}";
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 3;
  static constexpr unsigned kStateArgs = 4;
  static constexpr std::uint32_t kStateVectors = 1U << kOld;
  static constexpr unsigned kMayBeColumn = kStateArgs;  // none: h is kept as well as multiplied
  static constexpr unsigned kTermArgs = 4;
  static constexpr unsigned kSaved = 6;
  Dim shape(const ext::Shapes& in) const { return cell_size<GruCell>(in); }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const Dim h({in[0].rows()});
    return {h, h, h, h, h, Dim({in.extent(ext::Count(2) * in[0].rows())})};
  }
  void forward(ext::Call& call) const {
    const CellCall<GruCell> cell(call);
    const auto& saved = call.saved;
    cell.add_products({{kHz, 2}});
    if (!call.has_state()) {
      return;
    }
    PartOfCell<ops::GatedSum>(call, kOneGate, {saved[kR], cell.state(kOld), {}, {}}, {saved[kKept]},
                              {saved[kOpen]})
        .forward();
    call.kernels.product(cell.state(kHg), ext::Transposed::kNo, saved[kKept], ext::Transposed::kNo,
                         saved[kG], ext::Write::kAdd);
    PartOfCell<ops::CoupledLstmC>(call, 0, {saved[kZ], saved[kG], cell.state(kOld)}, {call.out[0]},
                                  {saved[kGates]})
        .forward();
  }
  void backward(ext::Call& call) const {
    const CellCall<GruCell> cell(call);
    if (call.has_state()) {
      back_to_sums(call, cell);
    }
    cell.back_through_inputs();
  }
  /// Computes the gates once more.
  void gradient(auto& to) const {
    CellGradient<GruCell, std::remove_reference_t<decltype(to)>> cell(to);
    const auto old = cell.state(kOld);
    const auto r = to.add(ops::Logistic{}, cell.plus(cell.of_inputs(kR), kHr, old));
    const auto kept = to.add(ops::CMult{}, r, old);
    const auto [dz, dg, d_old] =
        to.through(ops::CoupledLstmC{},
                   std::array{cell.plus(cell.of_inputs(kZ), kHz, old),
                              cell.plus(cell.of_inputs(kG), kHg, kept), old},
                   std::array{to.out()}, std::array{to.d_out()});
    const auto d_kept = cell.back_through(kHg, dg);
    const auto [dr] = to.through(ops::Logistic{}, std::array{to.unread(to.dim(r))}, std::array{r},
                                 std::array{to.add(ops::CMult{}, d_kept, old)});
    cell.give_weight(kHg, dg, kept);
    cell.give(kOld, d_old);
    cell.give(kOld, to.add(ops::CMult{}, d_kept, r));
    cell.template give_state<2>(kHz, {dz, dr});
    cell.give_inputs({dz, dr, dg});
  }
  static std::vector<ext::Example<GruCell>> examples() {
    const Dim b{4};
    const Dim u{4, 4};
    const Dim w{4, 3};
    const Dim one{1};
    const Dim square{1, 1};
    return {{{}, {b, b, b, u, u, b, u, w, w, w, {3}}},
            {{}, {b, b, b, u, u, b, u}},
            {{}, {one, one, one, square, square, one, square, square, square, square, one}},
            {{}, {{0}, {0}, {0}, {0, 0}, {0, 0}, {0}, {0, 0}, {0, 2}, {0, 2}, {0, 2}, {2}}}};
  }

 private:
  static constexpr unsigned kOneGate = 1;  // the group of gated_sum's arguments b and y

  static void back_to_sums(ext::Call& call, const CellCall<GruCell>& cell) {
    const ext::Operand unread = ops::nothing(call.out[0].dim);
    const auto& saved = call.saved;
    const ext::Operand& old = cell.state(kOld);
    SummedGradient d_old(call, cell.d_state(kOld));
    PartOfCell<ops::CoupledLstmC>(call, 0, {unread, unread, old}, {unread}, {saved[kGates]})
        .backward(call.d_out[0], {saved[kZ], saved[kG], d_old.first()});
    give_weight(call, cell.at(kHg), saved[kG], saved[kKept]);
    const ops::ScratchOperand d_kept(call, unread.dim, call.examples);
    call.kernels.product(cell.state(kHg), ext::Transposed::kYes, saved[kG], ext::Transposed::kNo,
                         d_kept, ext::Write::kStore);
    PartOfCell<ops::GatedSum>(call, kOneGate, {unread, old, {}, {}}, {unread}, {saved[kOpen]})
        .backward(d_kept, {saved[kR], d_old.next(), {}, {}});
    cell.back_through_state({{{kHz, 2}, d_old.next()}});
    d_old.finish();
  }
};

/// A step of an LSTM with coupled gates.
struct CoupledCell {
  enum { kI, kG, kO };                     // gates
  enum { kHi, kHg, kHo, kOld, kOldCell };  // state
  enum { kSums, kOpen = kSums + 3 };       // saved

  static constexpr ext::Info kInfo{
      .name = "coupled_cell",
      .args = {"exprs", "..."},
      .formula =
          "i = logistic(bi + ui h + wi x); o = logistic(bo + uo h + wo x); "
          "c' = i * tanh(bg + ug h + wg x) + (1 - i) * c; h' = o * tanh(c')",
      .summary =
          "The new cell and the hidden state of an LSTM whose forget gate is 1 - input gate, from "
          "the list bi, bg, bo, ui, ug, uo, h, c, wi, wg, wo, x.",
      .shapes =
          "{h}, {h}, {h}, {h,h}, {h,h}, {h,h}, {h}, {h}, {h,k}, {h,k}, {h,k}, {k} -> {h}, {h}",
      .errors = "ShapeError for another number of arguments, or shapes that do not fit",
      .source = "Greff et al., 2015"};
  static constexpr const char* kWanted =
      "bi, bg and bo {h}, ui, ug and uo {h,h}, h and c {h}, then wi, wg and wo {h,k} and x {k}";
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 3;
  static constexpr unsigned kStateArgs = 5;
  static constexpr std::uint32_t kStateVectors = 1U << kOld | 1U << kOldCell;
  static constexpr unsigned kMayBeColumn = kOld;
  static constexpr unsigned kTermArgs = 4;
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 4;
  std::array<Dim, kOutputs> shapes(const ext::Shapes& in) const {
    const Dim h = cell_size<CoupledCell>(in);
    return {h, h};
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const Dim h({in[0].rows()});
    return {h, h, h, Dim({in.extent(ext::Count(3) * in[0].rows())})};
  }
  void forward(ext::Call& call) const {
    const CellCall<CoupledCell> cell(call);
    const auto& saved = call.saved;
    cell.add_products({{kHi, 3}});
    if (call.has_state()) {
      PartOfCell<ops::CoupledLstmCell>(call, 0,
                                       {saved[kI], saved[kG], saved[kO], cell.state(kOldCell)},
                                       {call.out[0], call.out[1]}, {saved[kOpen]})
          .forward();
    }
  }
  void backward(ext::Call& call) const {
    const CellCall<CoupledCell> cell(call);
    if (call.has_state()) {
      const auto& saved = call.saved;
      const ext::Operand unread = ops::nothing(call.out[0].dim);
      PartOfCell<ops::CoupledLstmCell>(call, 0, {unread, unread, unread, cell.state(kOldCell)},
                                       {call.out[0], unread}, {saved[kOpen]})
          .backward(call.d_out, {saved[kI], saved[kG], saved[kO], cell.d_state(kOldCell)});
      cell.back_through_state({{{kHi, 3}, cell.d_state(kOld)}});
    }
    cell.back_through_inputs();
  }
  /// Computes the gates once more.
  void gradient(auto& to) const {
    CellGradient<CoupledCell, std::remove_reference_t<decltype(to)>> cell(to);
    const auto sum = [&](std::size_t gate) {
      return cell.plus(cell.of_inputs(gate), kHi + gate, cell.state(kOld));
    };
    const auto [di, dg, d_o, d_cell] = to.through(
        ops::CoupledLstmCell{}, std::array{sum(kI), sum(kG), sum(kO), cell.state(kOldCell)},
        std::array{to.out(0), to.out(1)}, std::array{to.d_out(0), to.d_out(1)});
    cell.give(kOldCell, d_cell);
    cell.template give_state<3>(kHi, {di, dg, d_o});
    cell.give_inputs({di, dg, d_o});
  }
  static std::vector<ext::Example<CoupledCell>> examples() {
    const Dim b{4};
    const Dim u{4, 4};
    const Dim w{4, 3};
    const Dim one{1};
    const Dim square{1, 1};
    return {{{}, {b, b, b, u, u, u, b, b, w, w, w, {3}}},
            {{}, {b, b, b, u, u, u, b, b}},
            {{}, {one, one, one, square, square, square, one, one, square, square, square, one}},
            {{}, {{0}, {0}, {0}, {0, 0}, {0, 0}, {0, 0}, {0}, {0}, {0, 2}, {0, 2}, {0, 2}, {2}}}};
  }
};

/// A step of an LSTM with coupled gates that look at cells through matrices: the input gate at the
/// old cell, and the output gate at the new one.
struct PeepholeCell {
  enum { kI, kG, kO };                                       // gates
  enum { kHi, kHg, kHo, kOld, kNewToO, kOldToI, kOldCell };  // state
  enum { kSums, kGates = kSums + 3, kShown };                // saved

  static constexpr ext::Info kInfo{
      .name = "peephole_cell",
      .args = {"exprs", "..."},
      .formula =
          "i = logistic(bi + ui h + vi c + wi x); c' = i * tanh(bg + ug h + wg x) + (1 - i) * c; "
          "h' = logistic(bo + uo h + vo c' + wo x) * tanh(c')",
      .summary =
          "The new cell and the hidden state of an LSTM whose forget gate is 1 - input gate and "
          "whose gates look at the cells, from the list bi, bg, bo, ui, ug, uo, h, vo, vi, c, wi, "
          "wg, wo, x.",
      .shapes =
          "{h}, {h}, {h}, {h,h}, {h,h}, {h,h}, {h}, {h,h}, {h,h}, {h}, {h,k}, {h,k}, {h,k}, {k} "
          "-> {h}, {h}",
      .errors = "ShapeError for another number of arguments, or shapes that do not fit",
      .source = "Greff et al., 2015"};
  static constexpr const char* kWanted =
      "bi, bg and bo {h}, ui, ug and uo {h,h}, h {h}, vo and vi {h,h}, c {h}, then wi, wg and wo "
      "{h,k} and x {k}";
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 3;
  static constexpr unsigned kStateArgs = 7;
  static constexpr std::uint32_t kStateVectors = 1U << kOld | 1U << kOldCell;
  static constexpr unsigned kMayBeColumn = kOld;
  static constexpr unsigned kTermArgs = 4;
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 5;
  std::array<Dim, kOutputs> shapes(const ext::Shapes& in) const {
    const Dim h = cell_size<PeepholeCell>(in);
    return {h, h};
  }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const {
    const Dim h({in[0].rows()});
    const Dim two({in.extent(ext::Count(2) * in[0].rows())});
    return {h, h, h, two, two};
  }
  void forward(ext::Call& call) const {
    const CellCall<PeepholeCell> cell(call);
    const auto& saved = call.saved;
    cell.add_products({{kHi, 3}, {kOldToI, 1, kI}});
    if (!call.has_state()) {
      return;
    }
    const ext::Operand& created = call.out[0];
    PartOfCell<ops::CoupledLstmC>(call, 0, {saved[kI], saved[kG], cell.state(kOldCell)}, {created},
                                  {saved[kGates]})
        .forward();
    call.kernels.product(cell.state(kNewToO), ext::Transposed::kNo, created, ext::Transposed::kNo,
                         saved[kO], ext::Write::kAdd);
    PartOfCell<ops::CoupledLstmH>(call, 0, {saved[kO], created}, {call.out[1]}, {saved[kShown]})
        .forward();
  }
  void backward(ext::Call& call) const {
    const CellCall<PeepholeCell> cell(call);
    if (call.has_state()) {
      if (call.d_out[1].absent()) {
        give_nothing(call, call.saved[kO]);
        give_nothing(call, cell.at(kNewToO));
        back_to_sums(call, cell, call.d_out[0]);
      } else {
        back_from_hidden(call, cell);
      }
    }
    cell.back_through_inputs();
  }
  /// Computes the gates once more.
  void gradient(auto& to) const {
    CellGradient<PeepholeCell, std::remove_reference_t<decltype(to)>> cell(to);
    const auto created = to.out(0);
    const auto old_cell = cell.state(kOldCell);
    const auto sum = [&](std::size_t gate) {
      return cell.plus(cell.of_inputs(gate), kHi + gate, cell.state(kOld));
    };
    const auto [d_o, d_shown] =
        to.through(ops::CoupledLstmH{}, std::array{cell.plus(sum(kO), kNewToO, created), created},
                   std::array{to.out(1)}, std::array{to.d_out(1)});
    const auto d_created =
        to.add(ops::Sum{}, to.d_out(0), d_shown, cell.back_through(kNewToO, d_o));
    const auto [di, dg, d_cell] = to.through(
        ops::CoupledLstmC{}, std::array{cell.plus(sum(kI), kOldToI, old_cell), sum(kG), old_cell},
        std::array{created}, std::array{d_created});
    cell.give(kOldCell, d_cell);
    cell.give_weight(kNewToO, d_o, created);
    cell.template give_state<1>(kOldToI, {di});
    cell.template give_state<3>(kHi, {di, dg, d_o});
    cell.give_inputs({di, dg, d_o});
  }
  static std::vector<ext::Example<PeepholeCell>> examples() {
    const Dim b{4};
    const Dim u{4, 4};
    const Dim w{4, 3};
    const Dim one{1};
    const Dim square{1, 1};
    return {{{}, {b, b, b, u, u, u, b, u, u, b, w, w, w, {3}}},
            {{}, {b, b, b, u, u, u, b, u, u, b}},
            {{},
             {one, one, one, square, square, square, one, square, square, one, square, square,
              square, one}},
            {{},
             {{0},
              {0},
              {0},
              {0, 0},
              {0, 0},
              {0, 0},
              {0},
              {0, 0},
              {0, 0},
              {0},
              {0, 2},
              {0, 2},
              {0, 2},
              {2}}}};
  }

 private:
  static void back_from_hidden(ext::Call& call, const CellCall<PeepholeCell>& cell) {
    const auto& saved = call.saved;
    const ext::Operand& created = call.out[0];
    const ops::ScratchOperand d_created(call, created.dim, call.examples);
    const ext::Operand unread = ops::nothing(created.dim);
    PartOfCell<ops::CoupledLstmH>(call, 0, {unread, unread}, {unread}, {saved[kShown]})
        .backward(call.d_out[1], {saved[kO], d_created});
    give_weight(call, cell.at(kNewToO), saved[kO], created);
    call.kernels.product(cell.state(kNewToO), ext::Transposed::kYes, saved[kO],
                         ext::Transposed::kNo, d_created, ext::Write::kAdd);
    if (!call.d_out[0].absent()) {
      call.kernels.move(ext::whole_move(created.size()), call.d_out[0], d_created,
                        ext::Write::kAdd);
    }
    back_to_sums(call, cell, d_created);
  }
  static void back_to_sums(ext::Call& call, const CellCall<PeepholeCell>& cell,
                           const ext::Operand& d_created) {
    const ext::Operand unread = ops::nothing(d_created.dim);
    const auto& saved = call.saved;
    SummedGradient d_old_cell(call, cell.d_state(kOldCell));
    PartOfCell<ops::CoupledLstmC>(call, 0, {unread, unread, cell.state(kOldCell)}, {unread},
                                  {saved[kGates]})
        .backward(d_created, {saved[kI], saved[kG], d_old_cell.first()});
    cell.back_through_state(
        {{{kOldToI, 1, kI}, d_old_cell.next()}, {{kHi, 3}, cell.d_state(kOld)}});
    d_old_cell.finish();
  }
};

/// A step of a simple recurrent network.
struct TanhCell {
  enum { kMatrix, kOld };  // state

  static constexpr ext::Info kInfo{
      .name = "tanh_cell",
      .args = {"exprs", "..."},
      .formula = "y = tanh(b + u h + w1 x1 + w2 x2 + ...)",
      .summary =
          "The new state of a simple recurrent network, from the list b, u, h, w1, x1, w2, x2, ...",
      .shapes = "{h}, {h,h}, {h}, {h,k}, {k}, ... -> {h}",
      .errors = "ShapeError for another number of arguments, or shapes that do not fit"};
  static constexpr const char* kWanted =
      "b {h}, u {h,h} and h {h}, then each w {h,k} and its x {k}";
  static constexpr bool kVariadic = true;
  static constexpr std::array kRoles{ext::Role::kEither};
  static constexpr unsigned kHeadArgs = 1;
  static constexpr unsigned kStateArgs = 2;
  static constexpr std::uint32_t kStateVectors = 1U << kOld;
  static constexpr unsigned kMayBeColumn = kOld;
  static constexpr unsigned kTermArgs = 2;
  static constexpr unsigned kSaved = 1;
  Dim shape(const ext::Shapes& in) const { return cell_size<TanhCell>(in); }
  std::array<Dim, kSaved> saved(const ext::Shapes& in) const { return {Dim({in[0].rows()})}; }
  void forward(ext::Call& call) const {
    const CellCall<TanhCell> cell(call);
    cell.add_products({{kMatrix, 1}});
    if (call.has_state()) {
      PartOfCell<ops::Tanh>(call, 0, {call.saved[0]}, {call.out[0]}, {}).forward();
    }
  }
  void backward(ext::Call& call) const {
    const CellCall<TanhCell> cell(call);
    if (call.has_state()) {
      const ext::Operand& sum = call.saved[0];
      PartOfCell<ops::Tanh>(call, 0, {ops::nothing(sum.dim)}, {call.out[0]}, {})
          .backward(call.d_out[0], {sum});
      cell.back_through_state({{{kMatrix, 1}, cell.d_state(kOld)}});
    }
    cell.back_through_inputs();
  }
  void gradient(auto& to) const {
    CellGradient<TanhCell, std::remove_reference_t<decltype(to)>> cell(to);
    const auto [d_sum] = to.through(ops::Tanh{}, std::array{to.unread(to.dim(to.out()))},
                                    std::array{to.out()}, std::array{to.d_out()});
    cell.template give_state<1>(kMatrix, {d_sum});
    cell.give_inputs({d_sum});
  }
  static std::vector<ext::Example<TanhCell>> examples() {
    return {{{}, {{3}, {3, 3}, {3}, {3, 2}, {2}}},
            {{}, {{3}, {3, 3}, {3}, {3, 2}, {2}, {3, 5}, {5, 1}}},
            {{}, {{17}, {17, 17}, {17}}},
            {{}, {{1}, {1, 1}, {1}, {1, 1}, {1}}},
            {{}, {{0}, {0, 0}, {0}, {0, 2}, {2}}}};
  }
};

}  // namespace dynet::builders
