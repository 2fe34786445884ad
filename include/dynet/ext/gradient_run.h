#pragma once

// Backward of an operation whose gradient(to) is its only text: a `to` that runs.
//
// An operation writes its gradients once, in gradient(to) (gradient.h). With a GradientBuilder the
// member adds nodes; with a GradientRun the same lines are backward over the loops of kernels.h.
// Example: in the gradient of matmul,
//
//   to.give(1, to.product(to.transposed(to.in(0)), to.d_out()));
//
// is one call Kernels::product, which reads x transposed and writes the gradient of y in its place.
//
// Intermediate results are not computed until their destination is known: the type of a result is
// the work left to do (Turned: read transposed; Moved: one move; Product; Added: forward of an
// operation). give() does the rest into the gradient of the argument, stored or added as its blocks
// say. A result that is an argument of another operation goes into scratch memory. Nothing is
// allocated from the heap, unless there are more than 16 such results.
//
// Surprising: in a merged call the batch of all members is the batch that dim() shows. With
// Role::kWhole the batch of a node is the last dimension of its operands, and dim() shows the batch
// of one node.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <span>
#include <stdexcept>
#include <utility>

#include "dynet/dim.h"
#include "dynet/ext/gradient.h"
#include "dynet/ext/info.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/row_rule.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ops {
struct CMult;
}  // namespace dynet::ops

namespace dynet::ext {

namespace detail {
/// The product of elements, for operations that come before it.
template <class Op>
struct Times {
  using Type = ops::CMult;
};
}  // namespace detail

/// The results that a GradientRun passes from one function to the next. Their `dim` is the shape as
/// operands of the call have it.
namespace run {
/// Numbers in memory. `lasts`: the memory outlives the call.
struct Numbers {
  Operand data;
  bool lasts;
  [[nodiscard]] const Dim& dim() const { return data.dim; }
  [[nodiscard]] std::int64_t examples() const { return data.examples; }
};
/// Numbers whose first two dimensions change places when they are read.
struct Turned {
  Operand data;
  [[nodiscard]] Dim dim() const {
    Dim r = data.dim;
    r.nd = std::max(r.nd, 2U);
    std::swap(r.d[0], r.d[1]);
    return r;
  }
  [[nodiscard]] std::int64_t examples() const { return data.examples; }
};
/// A move of numbers in memory. `kCovers`: all of the result is written; else the rest is 0.
template <bool kCovers>
struct Moved {
  Operand from;
  Dim to;
  Move move;
  [[nodiscard]] const Dim& dim() const { return to; }
  [[nodiscard]] std::int64_t examples() const {
    return std::max(from.examples, move.index.examples);
  }
};
/// Running sums from the end of dimension `axis`.
struct Onward {
  Operand from;
  unsigned axis;
  [[nodiscard]] const Dim& dim() const { return from.dim; }
  [[nodiscard]] std::int64_t examples() const { return from.examples; }
};
struct Product {
  Operand a, b;
  Transposed turn_a, turn_b;
  Dim result;
  [[nodiscard]] const Dim& dim() const { return result; }
  [[nodiscard]] std::int64_t examples() const { return std::max(a.examples, b.examples); }
};
/// Forward of an operation.
template <class Op, std::size_t kN>
struct Added {
  Op op;
  std::array<Operand, kN> in;
  Dim result;
  [[nodiscard]] const Dim& dim() const { return result; }
  [[nodiscard]] std::int64_t examples() const {
    std::int64_t n = 1;
    for (const Operand& x : in) {
      n = std::max(n, x.examples);
    }
    return n;
  }
};

/// Elements of one example; shapes were checked when the node was built.
inline std::int64_t size_of(const Dim& d) {
  std::int64_t n = 1;
  for (unsigned k = 0; k < d.nd; ++k) {
    n *= d.d[k];
  }
  return n;
}

/// From `from` to `to`, two shapes of operands: repeated along dimensions that are 1 in `from`,
/// summed along dimensions that are 1 in `to`.
inline Move fitted(const Dim& from, const Dim& to) {
  const std::int64_t n = size_of(from);
  if (n == size_of(to)) {
    return whole_move(n);
  }
  Move m;
  strides_of(from, m.from_stride);
  strides_of(to, m.to_stride);
  m.box = from.nd < to.nd ? to : from;
  for (unsigned k = 0; k < m.box.nd; ++k) {
    const unsigned extent = from[k] == 1 ? to[k] : from[k];
    m.box.d[k] = extent;
    m.from_stride[k] = from[k] == extent ? m.from_stride[k] : 0;
    m.to_stride[k] = to[k] == extent ? m.to_stride[k] : 0;
  }
  return m;
}
}  // namespace run

/// Computes the gradients of one call. Lives on the stack while gradient(to) runs. Has the
/// functions of GradientBuilder of the same names, but these need a graph: add_indexed, positions,
/// put_at, output, through and indices_as_numbers. Thread rule: as the call.
template <class Op>
class GradientRun {
 public:
  using Numbers = run::Numbers;
  struct Same {};
  static constexpr Same kSame{};

  explicit GradientRun(Call& call) : call_(call) {}
  GradientRun(const GradientRun&) = delete;
  GradientRun& operator=(const GradientRun&) = delete;
  ~GradientRun() = default;

  [[nodiscard]] std::size_t args() const { return call_.in.size(); }
  [[nodiscard]] std::uint32_t index_count() const {
    return static_cast<std::uint32_t>(call_.indices.size());
  }
  [[nodiscard]] bool wants(std::size_t i) const { return !call_.d_in[i].absent(); }
  [[nodiscard]] Numbers in(std::size_t i) const { return {call_.in[i], true}; }
  [[nodiscard]] Numbers out(std::size_t k = 0) const { return {call_.out[k], true}; }
  /// Absent if nobody used the output: the gradients are 0 then.
  [[nodiscard]] Numbers d_out(std::size_t k = 0) const { return {call_.d_out[k], true}; }
  /// Saved output k. `again` is for nodes, which have none.
  [[nodiscard]] Numbers saved(std::size_t k, const auto& /*again*/) const {
    return {call_.saved[k], true};
  }
  [[nodiscard]] Dim dim(const auto& x) const {
    Dim d = x.dim();
    if constexpr (kHasWhole) {
      d.bd = d.d[d.nd - 1];
      d.d[--d.nd] = 1;
    } else {
      d.bd = static_cast<unsigned>(x.examples());
    }
    return d;
  }

  /// The result of an operation, which has no other result.
  template <class Other, class... X>
  [[nodiscard]] run::Added<Other, sizeof...(X)> add(const Other& op, const X&... x) {
    static_assert(Rule<Other> || !kHasWhole,
                  "an operation with Role::kWhole can run elementwise rules alone");
    static_assert(detail::outputs_of<Other>() == 1 && detail::saved_of<Other>() == 0 &&
                      detail::payload_of<Other>() == Payload::kNone,
                  "a gradient that runs can add operations of one result, without saved outputs "
                  "and payload");
    run::Added<Other, sizeof...(X)> added{op, {in_memory(x).data...}, {}};
    std::array<Dim, sizeof...(X)> dims;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = added.in[i].dim;
    }
    added.result = op.shape(Shapes(Other::kInfo, dims, 1, 0));
    return added;
  }
  /// Times the mask, which is saved output 0.
  [[nodiscard]] auto drawn_again(const Op& /*op*/, const Numbers& x) {
    return add(typename detail::Times<Op>::Type{}, x, Numbers{call_.saved[0], true});
  }

  [[nodiscard]] static Numbers reshaped(Numbers x, const Dim& shape) {
    x.data.dim = operand_dim(shape);
    return x;
  }
  template <bool kCovers>
  [[nodiscard]] static run::Moved<kCovers> reshaped(run::Moved<kCovers> x, const Dim& shape) {
    x.to = operand_dim(shape);
    return x;
  }
  [[nodiscard]] Numbers reshaped(const auto& x, const Dim& shape) {
    return reshaped(in_memory(x), shape);
  }
  template <bool kCovers>
  [[nodiscard]] static run::Moved<kCovers> scaled(run::Moved<kCovers> x, double factor) {
    x.move.scale *= factor;
    return x;
  }
  [[nodiscard]] run::Moved<true> scaled(const auto& x, double factor) {
    const Operand from = in_memory(x).data;
    return {from, from.dim, whole_move(from.size(), factor)};
  }
  /// Repeated along dimensions that are 1 in x.
  [[nodiscard]] run::Moved<true> repeated(const auto& x, const Dim& shape) {
    const Operand from = in_memory(x).data;
    return {from, operand_dim(shape), run::fitted(from.dim, operand_dim(shape))};
  }
  [[nodiscard]] run::Turned transposed(const auto& x) { return {in_memory(x).data}; }
  [[nodiscard]] static Numbers transposed(const run::Turned& x) { return {x.data, false}; }
  [[nodiscard]] run::Product product(const auto& x, const auto& y) {
    run::Product p{factor(x), factor(y), turn(x), turn(y), y.dim()};
    p.result.d[0] = x.dim().rows();
    return p;
  }
  [[nodiscard]] run::Moved<true> summed_along(const auto& x, unsigned d) {
    const Operand from = in_memory(x).data;
    Dim to = from.dim;
    to.d[d] = 1;
    return {from, to, run::fitted(from.dim, to)};
  }
  [[nodiscard]] run::Onward summed_onward(const auto& x, unsigned d) {
    return {in_memory(x).data, d};
  }
  [[nodiscard]] run::Moved<true> part(const auto& x, unsigned from, unsigned count, unsigned d) {
    run::Moved<true> m{in_memory(x).data, {}, {}};
    m.to = resized(m.from.dim, d, count);
    m.move.box = m.to;
    strides_of(m.from.dim, m.move.from_stride);
    strides_of(m.to, m.move.to_stride);
    m.move.from_offset = from * m.move.from_stride[d];
    return m;
  }
  [[nodiscard]] run::Moved<false> padded(const auto& x, unsigned from, unsigned extent,
                                         unsigned d) {
    run::Moved<false> m = into_zeros(x, d, extent);
    m.move.to_offset = from * m.move.to_stride[d];
    return m;
  }
  /// Entry i of each dimension k goes to entry from[k] + i * strides[k] of zeros.
  [[nodiscard]] run::Moved<false> spread(const auto& x, const Dim& shape, const auto& from,
                                         const auto& strides) {
    run::Moved<false> m{in_memory(x).data, operand_dim(shape), {}};
    m.move.box = m.from.dim;
    strides_of(m.from.dim, m.move.from_stride);
    strides_of(m.to, m.move.to_stride);
    for (unsigned k = 0; k < shape.nd; ++k) {
      m.move.to_offset += from[k] * m.move.to_stride[k];
      m.move.to_stride[k] *= strides[k];
    }
    return m;
  }
  [[nodiscard]] run::Moved<false> scattered(const auto& x, unsigned rows, unsigned d,
                                            Same /*indices*/) {
    run::Moved<false> m = into_zeros(x, d, rows);
    m.move.to_index_stride = m.move.to_stride[d];
    m.move.to_stride[d] = 0;
    by_indices(m.move, d);
    return m;
  }
  [[nodiscard]] run::Moved<true> gathered(const auto& x, unsigned count, unsigned d,
                                          Same /*indices*/) {
    run::Moved<true> m = part(x, 0, count, d);
    m.move.from_index_stride = m.move.from_stride[d];
    m.move.from_stride[d] = 0;
    by_indices(m.move, d);
    return m;
  }
  /// Entry i of dimension d goes to the entry of zeros that the i-th place of saved output k says.
  [[nodiscard]] run::Moved<false> put_back(const auto& x, const Dim& shape, unsigned d,
                                           std::size_t k, const auto& /*again*/) {
    run::Moved<false> m = into_zeros(x, d, shape[d]);
    m.move.to_index_stride = m.move.to_stride[d];
    m.move.to_stride[d] = 0;
    m.move.index = call_.saved[k];
    m.move.index_axis = Move::kPerElement;
    return m;
  }

  [[nodiscard]] Numbers constant(const Dim& shape, double value) {
    const Numbers x = make_room(operand_dim(shape), 1);
    call_.kernels.fill(x.data.blocks->data, value, x.data.size());
    return x;
  }
  [[nodiscard]] Numbers unread(const Dim& shape) const {
    return {Operand{.dim = operand_dim(shape)}, false};
  }
  [[nodiscard]] Numbers ready(const auto& x) { return in_memory(x); }

  static constexpr std::size_t kNobody = ~std::size_t{0};
  /// Runs the rule's loop of gradients.
  template <RowOperation Rule, std::size_t kIn, std::size_t kResults, std::size_t kOuts>
  void give_through(const Rule& rule, const std::array<Numbers, kIn>& in,
                    const std::array<Numbers, kResults>& results,
                    const std::array<Numbers, kOuts>& d_out,
                    const std::array<std::size_t, kIn>& to) {
    const auto arguments = operands_of(in);
    const auto outputs = operands_of(results);
    const auto d_outputs = operands_of(d_out);
    std::array<Operand, kIn> d_in{};
    for (std::size_t k = 0; k < kIn; ++k) {
      if (to[k] != kNobody) {
        d_in[k] = call_.d_in[to[k]];
      }
      d_in[k].dim = arguments[k].dim;
    }
    Call backward(call_.kernels, call_.memory);
    backward.examples = call_.examples;
    backward.in = arguments;
    backward.out = outputs;
    backward.d_out = d_outputs;
    backward.d_in = d_in;
    call_.kernels.run_rows_call(kRowRule<Rule>, Direction::kBackward, &rule, backward);
  }

  /// The gradient of argument i, or a term of it. An operation of any number of arguments gives
  /// them in their order.
  void give(std::size_t i, const auto& gradient) {
    if (wants(i)) {
      write(gradient, call_.d_in[i], next_write(i));
    }
  }
  void give_weight(std::size_t i, const Numbers& dy, const Numbers& x) {
    if (!wants(i)) {
      return;
    }
    const Write how = next_write(i);
    if (how == Write::kAsBlocks && dy.lasts && x.lasts) {
      weight_gradient(call_, i, dy.data, x.data);
    } else {
      call_.kernels.product(dy.data, Transposed::kNo, x.data, Transposed::kYes, call_.d_in[i], how);
    }
  }
  /// The last dimension of the operands is the batch.
  void give_examples() {
    static_assert(kHasWhole && kIsPartial, "the operation picks examples of a batch");
    const Operand& dy = call_.d_out[0];
    const unsigned count = dy.dim[dy.dim.nd - 1];
    Move m = whole_move(dy.size() / count);
    m.box.nd = 3;
    m.box.d[2] = count;
    m.from_stride[2] = dy.size() / count;
    m.to_stride[2] = 0;  // the index says where
    m.index = call_.indices;
    m.index_axis = 2;
    m.to_index_stride = m.from_stride[2];
    call_.kernels.move(m, dy, call_.d_in[0]);
  }

 private:
  static constexpr bool kIsPartial = detail::is_partial<Op>();
  static constexpr bool kHasWhole = [] {
    if constexpr (requires { Op::kRoles; }) {
      return std::find(Op::kRoles.begin(), Op::kRoles.end(), Role::kWhole) != Op::kRoles.end();
    } else {
      return false;
    }
  }();

  /// A shape of a node as an operand of the call has it. With whole batches it only has to have as
  /// many elements.
  [[nodiscard]] static Dim operand_dim(const Dim& shape) {
    if constexpr (kHasWhole) {
      return shape.bd == 1 ? shape : whole_move(shape.elements()).box;
    } else {
      return shape.single_batch();
    }
  }
  [[nodiscard]] static Dim resized(Dim shape, unsigned d, unsigned extent) {
    shape.nd = std::max(shape.nd, d + 1);
    shape.d[d] = extent;
    return shape;
  }
  [[nodiscard]] run::Moved<false> into_zeros(const auto& x, unsigned d, unsigned extent) {
    run::Moved<false> m{in_memory(x).data, {}, {}};
    m.to = resized(m.from.dim, d, extent);
    m.move.box = resized(m.from.dim, d, m.from.dim[d]);
    strides_of(m.move.box, m.move.from_stride);
    strides_of(m.to, m.move.to_stride);
    return m;
  }
  /// An axis of one entry has one index for each example.
  void by_indices(Move& m, unsigned d) const {
    m.index = call_.indices;
    m.index_axis = m.box[d] == 1 ? Move::kPerExample : d;
  }

  [[nodiscard]] static Transposed turn(const auto& /*x*/) { return Transposed::kNo; }
  [[nodiscard]] static Transposed turn(const run::Turned& /*x*/) { return Transposed::kYes; }
  [[nodiscard]] Operand factor(const auto& x) { return in_memory(x).data; }
  [[nodiscard]] static Operand factor(const run::Turned& x) { return x.data; }

  [[nodiscard]] static Numbers in_memory(const Numbers& x) { return x; }
  [[nodiscard]] Numbers in_memory(const auto& x) {
    const Numbers room = make_room(x.dim(), x.examples());
    if constexpr (requires { x.move; }) {
      store(x, room.data);
    } else {
      write(x, room.data, Write::kStore);
    }
    return room;
  }
  /// Scratch memory.
  [[nodiscard]] Numbers make_room(const Dim& dim, std::int64_t examples) {
    Block& block = count_ < blocks_.size() ? blocks_[count_++] : more_.emplace_front();
    block = {call_.scratch(run::size_of(dim) * examples * bytes_of(call_.kernels.number())),
             examples, true};
    return {{.dim = dim, .examples = examples, .blocks = &block, .block_count = 1}, false};
  }
  template <std::size_t kN>
  [[nodiscard]] static std::array<Operand, kN> operands_of(const std::array<Numbers, kN>& all) {
    std::array<Operand, kN> operands;
    for (std::size_t k = 0; k < kN; ++k) {
      operands[k] = all[k].data;
    }
    return operands;
  }
  void store(const run::Moved<true>& x, const Operand& to) const {
    call_.kernels.move(x.move, x.from, to, Write::kStore);
  }
  void store(const run::Moved<false>& x, const Operand& to) const {
    call_.kernels.fill(to.blocks->data, 0.0, to.size() * to.examples);
    call_.kernels.move(x.move, x.from, to, Write::kAdd);
  }

  void write(const Numbers& x, const Operand& to, Write how) const {
    if (!x.data.absent()) {
      call_.kernels.move(run::fitted(x.data.dim, to.dim), x.data, to, how);
    } else if (how == Write::kAsBlocks) {
      for (std::int64_t b = 0; b < to.block_count; ++b) {
        if (to.blocks[b].fresh) {
          call_.kernels.fill(to.blocks[b].data, 0.0, to.blocks[b].examples * to.size());
        }
      }
    }
  }
  void write(const run::Turned& x, const Operand& to, Write how) const {
    Move m;
    m.box = x.dim();
    strides_of(x.data.dim, m.from_stride);
    strides_of(m.box, m.to_stride);
    std::swap(m.from_stride[0], m.from_stride[1]);
    call_.kernels.move(m, x.data, to, how);
  }
  template <bool kCovers>
  void write(const run::Moved<kCovers>& x, const Operand& to, Write how) {
    static_assert(kCovers || kIsPartial,
                  "the operation gives a part of a gradient: it must say kPartialGradient");
    if (x.from.absent()) {
      write(Numbers{x.from, false}, to, how);
    } else if (run::size_of(x.to) == run::size_of(to.dim)) {
      call_.kernels.move(x.move, x.from, to, how);
    } else {
      write(in_memory(x), to, how);
    }
  }
  void write(const run::Onward& x, const Operand& to, Write how) {
    if (how == Write::kAdd) {
      write(in_memory(x), to, how);
    } else {
      call_.kernels.scan(x.axis, ScanFrom::kEnd, x.from, to);
    }
  }
  void write(const run::Product& x, const Operand& to, Write how) {
    if (to.dim.nd <= 2 && x.result.rows() == to.dim.rows() && x.result.cols() == to.dim.cols()) {
      call_.kernels.product(x.a, x.turn_a, x.b, x.turn_b, to, how);
    } else {
      write(in_memory(x), to, how);
    }
  }
  template <class Other, std::size_t kN>
  void write(const run::Added<Other, kN>& x, Operand to, Write how) {
    constexpr bool kAdds = Rule<Other> || RowOperation<Other> || detail::forward_adds<Other>();
    const bool is_fresh =
        std::all_of(to.blocks, to.blocks + to.block_count, [](const Block& b) { return b.fresh; });
    const bool fits = run::size_of(x.result) == run::size_of(to.dim) && x.examples() == to.examples;
    if (!fits || !(how == Write::kStore || (how == Write::kAsBlocks && (kAdds || is_fresh)))) {
      write(in_memory(x), to, how);
      return;
    }
    to.dim = x.result;
    Call forward(call_.kernels, call_.memory);
    forward.examples = to.examples;
    forward.in = x.in;
    forward.out = {&to, 1};
    detail::record_of<Other>().forward(&x.op, forward);
  }

  /// Whether a gradient is stored or added as its blocks say, or is a further term.
  Write next_write(std::size_t i) {
    bool is_again = false;
    if constexpr (detail::is_variadic<Op>()) {
      if (i + 1 < given_) {
        throw std::logic_error("gradients of a list of arguments are given in another order");
      }
      is_again = i + 1 == given_;
      given_ = i + 1;
    } else {
      is_again = (given_ >> i & 1U) != 0;
      given_ |= std::size_t{1} << i;
    }
    return is_again ? Write::kAdd : Write::kAsBlocks;
  }

  Call& call_;
  std::size_t given_ = 0;  ///< a bit for each argument; of a list, the number of the last one and 1
  std::size_t count_ = 0;  ///< of blocks_ in use
  std::array<Block, 16> blocks_;
  std::forward_list<Block> more_;  ///< blocks beyond these, as for each argument of a long list
};

}  // namespace dynet::ext
