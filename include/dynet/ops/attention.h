#pragma once

// Scaled dot-product attention in one node: scores, softmax over the keys, and weighted sums.
//
// Each example has one product per head. With several heads the rows of q, k and v are laid into
// scratch memory head by head, so that the heads of all examples are examples of one product.
// Scores have a column per query: a rule over rows turns each into probabilities, which are saved
// for backward. A key beyond the length, or after the query, has probability 0; if no key is left
// the result is 0.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"
#include "dynet/ops/contract.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/loss.h"
#include "dynet/ops/order.h"
#include "dynet/ops/parts.h"
#include "dynet/ops/select.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

// ---- steps
// ---------------------------------------------------------------------------------------

/// softmax(scale * s) over the first min(limit, length) keys of a query; 0 for the others.
struct MaskedSoftmax {
  double scale;
  static constexpr ext::Info kInfo{
      .name = "masked_softmax", .args = {"s", "limit"}, .attrs = {"scale"}, .payload = "length"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kOnce};
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return 1; }
  DYNET_DEVICE_FN constexpr auto value(auto s, auto limit, auto length) const {
    const auto end = min(limit, length);
    const auto top = over::max(select(over::position() < end, s, kMinusInf));
    const auto e = over::keep(select(over::position() < end, exp(scale * (s - top)), 0.0));
    const auto total = over::sum(e);
    return rule::each(e * select(total == 0.0, 0.0, 1.0 / total));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*s*/, auto /*limit*/, auto /*length*/, auto y,
                                      auto dy) const {
    return rule::each(scale * (y * (dy - over::sum(y * dy))), rule::lift(0.0));
  }
  static std::vector<ext::Example<MaskedSoftmax>> examples() {
    return {ext::Example<MaskedSoftmax>{{0.5}, {{4, 3}, {3}}, 0.0, 4.0}.with_indices({3})};
  }
};
using AttentionSteps = ext::OpList<MaskedSoftmax>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::AttentionSteps)

namespace dynet::ops {

// ---- operation
// -----------------------------------------------------------------------------------

/// {rows,columns} of some examples as {rows/heads,columns}, one example for each head of each.
/// Lives on the stack, one for each operand of a call.
class Heads {
 public:
  /// `most`: examples at a time.
  Heads(const ext::Call& call, const Dim& all, unsigned heads, std::int64_t most)
      : call_(call),
        all_(all),
        head_({all.rows() / heads, all.cols()}),
        apart_({head_[0], head_[1], heads}),
        most_(most) {}

  /// For reading. With several heads the result has `examples` * heads examples, else the examples
  /// of x.
  ext::Operand read(const ext::Operand& x, std::int64_t examples) {
    if (heads() == 1) {
      return seen_as(x, head_);
    }
    call_.kernels.move(lay_apart(), x, room(examples, apart_));
    return room(examples * heads(), head_);
  }
  /// Calls f(operand), which writes all of it, for a result or a gradient.
  void write(const ext::Operand& to, std::int64_t examples, auto f) {
    if (heads() == 1) {
      f(seen_as(to, head_));
      return;
    }
    f(room(examples * heads(), head_));
    call_.kernels.move(reversed(lay_apart()), room(examples, apart_), to);
  }

 private:
  [[nodiscard]] std::int64_t heads() const { return apart_[2]; }
  [[nodiscard]] ext::Move lay_apart() const {
    ext::Move m;
    m.box = apart_;
    ext::strides_of(apart_, m.to_stride);
    m.from_stride[0] = 1;
    m.from_stride[1] = all_.rows();
    m.from_stride[2] = head_[0];
    return m;
  }
  /// Scratch memory as `count` examples of this shape. Valid until the next call.
  ext::Operand room(std::int64_t count, const Dim& dim) {
    if (memory_ == nullptr) {
      memory_ =
          call_.scratch(all_.example_elements() * most_ * ext::bytes_of(call_.kernels.number()));
    }
    block_ = {memory_, count, true};
    return {.dim = dim, .examples = count, .blocks = &block_, .block_count = 1};
  }

  const ext::Call& call_;
  Dim all_, head_, apart_;
  std::int64_t most_;
  void* memory_ = nullptr;
  ext::Block block_;
};

/// `kToLengths`: each example has a number of keys, which are the payload.
template <bool kToLengths>
struct Attend {
  unsigned heads = 1;
  bool causal = false;

  static constexpr ext::Info kInfo{
      .name = kToLengths ? "attention_to_lengths" : "attention",
      .args = {"q", "k", "v"},
      .attrs = {"heads", "causal"},
      .payload = kToLengths ? "lengths" : "",
      .formula =
          kToLengths
              ? "y_j = sum_i p_ij v_i, p_j = softmax of q_j . k_i / sqrt(d / heads) over the keys "
                "i below the length of the example (and, causal, i <= j)"
              : "y_j = sum_i p_ij v_i, p_j = softmax of q_j . k_i / sqrt(d / heads) over the keys "
                "i (causal: i <= j)",
      .summary =
          "Scaled dot-product attention: q has a column for each query, k and v one for each key. "
          "With several heads the rows of q, k and v are cut into equal pieces, one per head, and "
          "each piece attends by itself. A query without keys gets 0.",
      .shapes = "{d,m}, {d,n}, {e,n} -> {e,m}; {d}, {d,n}, {e,n} -> {e}",
      .errors =
          kToLengths
              ? "ShapeError for other shapes, or where heads is 0 or divides d or e not; more than "
                "2^24 keys or queries; IndexError if a length is above n"
              : "ShapeError for other shapes, or where heads is 0 or divides d or e not; more than "
                "2^24 keys or queries",
      .source = "Vaswani et al., 2017",
      .cpp = kToLengths ? "-" : "",
      .python = "-"};
  static constexpr ext::Payload kPayload =
      kToLengths ? ext::Payload::kIndices : ext::Payload::kNone;
  static constexpr unsigned kSaved = 1;  // the probabilities
  using Steps = AttentionSteps;
  Dim shape(const ext::Shapes& in) const {
    const Dim& q = in[0];
    const Dim& k = in[1];
    const Dim& v = in[2];
    if (q.nd > 2 || k.nd > 2 || v.nd > 2 || q.rows() != k.rows() || k.cols() != v.cols()) {
      in.fail("q {d,m}, k {d,n} and v {e,n}");
    }
    if (heads == 0 || k.rows() % heads != 0 || v.rows() % heads != 0) {
      in.fail("heads to divide the rows of q and of v, not " + std::to_string(heads));
    }
    check_positions(in, k.cols());
    check_positions(in, q.cols());
    Dim r = q;
    r.d[0] = v.rows();
    return r;
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    return {Dim({in[1].cols(), in[0].cols(), heads})};
  }
  unsigned index_limit(const ext::Shapes& in) const
    requires kToLengths
  {
    return in[1].cols() + 1;
  }
  void forward(ext::Call& call) const {
    const Lay lay(*this, call);
    const ScratchOperand limit(call, {lay.queries, heads}, 1);
    lay.set_limits(call, causal, limit);
    const ScratchOperand all_keys(call, {1}, 1);
    all_keys.fill(call.kernels, lay.keys);
    ScratchOperand scores(call, lay.scores, lay.most);
    Parts<5> parts(call, {call.in[0], call.in[1], call.in[2], call.out[0], call.saved[0]}, lay.most,
                   true);
    Heads q(call, call.in[0].dim, heads, lay.most);
    Heads k(call, call.in[1].dim, heads, lay.most);
    Heads v(call, call.in[2].dim, heads, lay.most);
    Heads y(call, call.out[0].dim, heads, lay.most);
    Lengths lengths(call);
    using enum ext::Transposed;
    while (parts.next()) {
      const std::int64_t n = parts.examples();
      const ByHead of_scores(scores.first(n), lay.head);
      call.kernels.product(k.read(parts[1], n), kYes, q.read(parts[0], n), kNo, of_scores.all(),
                           ext::Write::kStore);
      lay.softmax(call, {scores.first(n), limit}, parts[4], lengths.next(n), all_keys);
      const ByHead of_probabilities(parts[4], lay.head);
      y.write(parts[3], n, [&](const ext::Operand& to) {
        call.kernels.product(v.read(parts[2], n), kNo, of_probabilities.all(), kNo, to);
      });
    }
  }
  /// Beside gradient(to), which computes the probabilities once more, for all examples at once:
  /// here they are saved, and the scores of some examples at a time stay in a cache.
  void backward(ext::Call& call) const {
    const Lay lay(*this, call);
    ScratchOperand slopes(call, lay.scores, lay.most);  // of the probabilities
    ScratchOperand scores(call, lay.scores, lay.most);  // gradients
    Parts<8> parts(call,
                   {call.in[0], call.in[1], call.in[2], call.saved[0], call.d_out[0], call.d_in[0],
                    call.d_in[1], call.d_in[2]},
                   lay.most, true);
    Heads q(call, call.in[0].dim, heads, lay.most);
    Heads k(call, call.in[1].dim, heads, lay.most);
    Heads v(call, call.in[2].dim, heads, lay.most);
    Heads dy(call, call.d_out[0].dim, heads, lay.most);
    Heads d_in[]{{call, call.in[0].dim, heads, lay.most},
                 {call, call.in[1].dim, heads, lay.most},
                 {call, call.in[2].dim, heads, lay.most}};
    using enum ext::Transposed;
    while (parts.next()) {
      const std::int64_t n = parts.examples();
      const ByHead probabilities(parts[3], lay.head);
      const ext::Operand slope = dy.read(parts[4], n);
      const auto gradient = [&](std::size_t i, const ext::Operand& a, const ext::Operand& b,
                                ext::Transposed of_b) {
        if (!parts[5 + i].absent()) {
          d_in[i].write(parts[5 + i], n,
                        [&](const ext::Operand& to) { call.kernels.product(a, kNo, b, of_b, to); });
        }
      };
      gradient(2, slope, probabilities.all(), kYes);
      if (parts[5].absent() && parts[6].absent()) {
        continue;
      }
      const ByHead by_head(slopes.first(n), lay.head);
      call.kernels.product(v.read(parts[2], n), kYes, slope, kNo, by_head.all(),
                           ext::Write::kStore);
      lay.softmax_gradient(call, parts[3], slopes.first(n), scores.first(n));
      const ByHead d_scores(scores.first(n), lay.head);
      gradient(0, k.read(parts[1], n), d_scores.all(), kNo);
      gradient(1, q.read(parts[0], n), d_scores.all(), kYes);
    }
  }
  /// With the probabilities computed once more.
  void gradient(auto& to) const {
    const unsigned rows = to.dim(to.in(0)).rows();
    const double scale = 1.0 / std::sqrt(static_cast<double>(std::max(1U, rows / heads)));
    const auto q = apart(to, to.in(0));
    const auto k = apart(to, to.in(1));
    const auto v = apart(to, to.in(2));
    const auto dy = apart(to, to.d_out());
    const auto p = probabilities(to, to.scaled(to.add(BatchMatmul{}, to.transposed(k), q), scale));
    to.give(2, together(to, to.add(BatchMatmul{}, dy, to.transposed(p))));
    const auto dp = to.add(BatchMatmul{}, to.transposed(v), dy);
    const auto mean = to.summed_along(to.add(CMult{}, p, dp), 0);
    const auto slope = to.add(CMult{}, p, to.add(Subtract{}, dp, mean));
    const auto ds = to.scaled(slope, scale);
    to.give(0, together(to, to.add(BatchMatmul{}, k, ds)));
    to.give(1, together(to, to.add(BatchMatmul{}, q, to.transposed(ds))));
  }
  static std::vector<ext::Example<Attend>> examples() {
    std::vector<ext::Example<Attend>> all;
    const auto add = [&all](unsigned heads, bool causal, std::vector<Dim> in, unsigned length) {
      all.push_back(ext::Example<Attend>{{heads, causal}, std::move(in)});
      if constexpr (kToLengths) {
        all.back().indices = {length};
      }
    };
    add(1, false, {{4, 3}, {4, 5}, {2, 5}}, 3);
    add(2, false, {{4, 3}, {4, 5}, {6, 5}}, 5);
    add(3, true, {{6, 4}, {6, 4}, {3, 4}}, 2);
    add(1, true, {{3, 5}, {3, 2}, {3, 2}}, 1);
    add(2, true, {{2, 2}, {2, 4}, {2, 4}}, 4);
    add(1, false, {{3}, {3, 4}, {2, 4}}, 2);
    add(1, false, {{1}, {1}, {1}}, 1);
    add(1, false, {{2, 3}, {2, 0}, {3, 0}}, 0);
    add(1, true, {{2, 0}, {2, 3}, {3, 3}}, 3);
    add(2, false, {{0, 2}, {0, 3}, {4, 3}}, 2);
    add(4, false, {{20, 17}, {20, 18}, {4, 18}}, 17);
    return all;
  }

 private:
  using Node = ext::GradientBuilder::Node;
  /// {rows,columns} as {rows/heads,columns,heads}, and back.
  Node apart(auto& to, Node x) const {
    const Dim all = to.dim(x);
    const Dim by_head({all.rows() / heads, heads, all.cols()}, all.bd);
    return to.add(Transpose{{{0, 2, 1}, 3}}, to.reshaped(x, by_head));
  }
  Node together(auto& to, Node x) const {
    const Dim by_head = to.dim(x);
    return to.reshaped(to.add(Transpose{{{0, 2, 1}, 3}}, x),
                       Dim({by_head[0] * heads, by_head[1]}, by_head.bd));
  }
  /// The softmax of the scores {keys,queries,heads} over the keys that count.
  Node probabilities(auto& to, Node scores) const {
    if (!kToLengths && !causal) {
      return to.add(Softmax{}, scores);
    }
    const Node mask = counting_keys(to, to.dim(scores));
    const Node masked = to.add(Choose{}, mask, scores, to.constant({1}, kLeastScore));
    return to.add(Choose{}, mask, to.add(Softmax{}, masked), to.constant({1}, 0.0));
  }
  static constexpr double kLeastScore = -1e30;
  /// Not 0 if key i counts for query j: both are numbered from 1, by running sums.
  Node counting_keys(auto& to, const Dim& scores) const {
    const Node i = to.add(CumSum{0}, to.constant(Dim({scores[0], 1}), 1.0));
    const Node j = to.add(CumSum{1}, to.constant(Dim({1, scores[1]}), 1.0));
    const Node next = to.add(Subtract{}, i, to.constant({1}, 1.0));
    const Node for_query = to.add(Rectify{}, to.add(Subtract{}, j, next));
    if constexpr (kToLengths) {
      const Node length = to.indices_as_numbers({1});
      const Node in_length = to.add(Rectify{}, to.add(Subtract{}, length, next));
      return causal ? to.add(CMult{}, in_length, for_query) : in_length;
    } else {
      return for_query;
    }
  }
  /// The shapes of a call, and how many examples are done at a time.
  struct Lay {
    unsigned keys, queries;
    double scale;
    Dim head, scores;  ///< {keys,queries} of one head; of all heads of an example
    std::int64_t most;

    Lay(const Attend& op, const ext::Call& call)
        : keys(call.in[1].dim.cols()),
          queries(call.in[0].dim.cols()),
          scale(1.0 /
                std::sqrt(static_cast<double>(std::max(1U, call.in[0].dim.rows() / op.heads)))),
          head({keys, queries}),
          scores({keys, queries, op.heads}),
          most(std::min(call.examples, examples_at_once(call.kernels, scores.example_elements()))) {
    }
    /// How many keys a query may see, without the lengths.
    void set_limits(const ext::Call& call, bool is_causal, const ScratchOperand& to) const {
      if (!is_causal) {
        to.fill(call.kernels, keys);
        return;
      }
      const ext::Operand& limits = to;
      const ScratchOperand ones(call, limits.dim, 1);
      ones.fill(call.kernels, 1.0);
      call.kernels.scan(0, ext::ScanFrom::kStart, ones, to);
    }
    /// `lengths`: absent if all keys count.
    void softmax(const ext::Call& of, Operands in, const ext::Operand& out,
                 const ext::Operand& lengths, const ext::Operand& all_keys) const {
      const MaskedSoftmax rule{scale};
      ext::Call call(of.kernels, of.memory);
      call.examples = out.examples;
      call.in = {in.begin(), in.size()};
      call.out = {&out, 1};
      (lengths.absent() ? call.values : call.indices) = lengths.absent() ? all_keys : lengths;
      of.kernels.run_rows_call(ext::kRowRule<MaskedSoftmax>, ext::Direction::kForward, &rule, call);
    }
    void softmax_gradient(const ext::Call& of, const ext::Operand& y, const ext::Operand& dy,
                          const ext::Operand& ds) const {
      const MaskedSoftmax rule{scale};
      const ext::Operand in[]{nothing(scores), nothing({queries, scores[2]})};
      const ext::Operand d_in[]{ds, in[1]};
      ext::Call call(of.kernels, of.memory);
      call.examples = y.examples;
      call.in = in;
      call.out = {&y, 1};
      call.d_out = {&dy, 1};
      call.d_in = d_in;
      of.kernels.run_rows_call(ext::kRowRule<MaskedSoftmax>, ext::Direction::kBackward, &rule,
                               call);
    }
  };
  /// {keys,queries,heads} in one block, as a matrix for each head of each example.
  class ByHead {
   public:
    ByHead(const ext::Operand& scores, const Dim& head)
        : block_{scores.blocks->data, scores.examples * scores.dim[2], scores.blocks->fresh},
          head_(head) {}
    [[nodiscard]] ext::Operand all() const {
      return {.dim = head_, .examples = block_.examples, .blocks = &block_, .block_count = 1};
    }

   private:
    ext::Block block_;
    Dim head_;
  };
  /// The lengths of the examples, part after part; absent if there are none.
  class Lengths {
   public:
    explicit Lengths(const ext::Call& call) : all_(call.indices) {}
    ext::Operand next(std::int64_t examples) {
      if (all_.absent() || all_.examples == 1) {
        return all_;
      }
      block_ = {all_.data<unsigned>() + done_, examples, false};
      done_ += examples;
      return {.dim = all_.dim, .examples = examples, .blocks = &block_, .block_count = 1};
    }

   private:
    ext::Operand all_;
    ext::Block block_;
    std::int64_t done_ = 0;
  };
};
using Attention = Attend<false>;
using AttentionToLengths = Attend<true>;

using AttentionOps = ext::OpList<Attention, AttentionToLengths>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::AttentionOps)
