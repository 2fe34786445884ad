#pragma once

// Distributions with zeros or bounds: sparsemax and its loss, softmax over some of the classes, and
// softmax with an upper bound for each.
//
// Sparsemax subtracts a threshold, bounded softmax multiplies by a factor; both depend on which
// elements are cut off. In order of size these are the last, or the first, so the elements are
// sorted, running sums give for each place the threshold of a cut there, and a rule over rows
// counts the places that are kept.

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/order.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

// ---- steps
// ---------------------------------------------------------------------------------------

/// z = x - max(x): never above 0, so that sums of it lose no digits to a large maximum.
struct BelowTop {
  unsigned d;
  static constexpr ext::Info kInfo{.name = "below_top", .args = {"x"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements};
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x) const { return rule::each(x - over::max(x)); }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*z*/, auto dz) const {
    return rule::each(dz);
  }
  static std::vector<ext::Example<BelowTop>> examples() { return {{{0}, {{4, 3}}}}; }
};

/// The threshold that sparsemax subtracts from a row, from its elements in descending order, of
/// which the first is 0, and their running sums. An element stays where 1 + k * sorted_k >
/// sums_k, k counted from 1.
struct SparsemaxThreshold {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "sparsemax_threshold", .args = {"sorted", "sums"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto sorted, auto sums) const {
    const auto stays = select((over::position() + 1.0) * sorted > sums - 1.0, 1.0, 0.0);
    const auto count = max(over::sum(stays), 1.0);  // none: there is a NaN
    return rule::each((over::at(sums, count - 1.0) - 1.0) / count);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*sorted*/, auto /*sums*/, auto /*y*/, auto dy) const {
    return rule::each(0.0 * dy, 0.0 * dy);
  }
  static std::vector<ext::Example<SparsemaxThreshold>> examples() {
    return {{{0}, {{4, 3}, {4, 3}}}};
  }
};

struct AboveThreshold {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "above_threshold", .args = {"z", "threshold"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kOnce};
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto z, auto threshold) const {
    return rule::each(select(z <= threshold, 0.0, z - threshold));
  }
  /// The gradient of z with the threshold that follows from it; the gradient of x is the same, as
  /// its sum over a row is 0.
  DYNET_DEVICE_FN constexpr auto pull(auto /*z*/, auto /*threshold*/, auto y, auto dy) const {
    const auto count = over::sum(select(y == 0.0, 0.0, 1.0));
    const auto mean = over::sum(select(y == 0.0, 0.0, dy)) / count;
    return rule::each(select(y == 0.0, 0.0, dy - mean), 0.0 * count);
  }
  static std::vector<ext::Example<AboveThreshold>> examples() { return {{{0}, {{4, 3}, {3}}}}; }
};

/// The loss of one row, and its slope.
struct SparsemaxLossOfRow {
  static constexpr ext::Info kInfo{.name = "sparsemax_loss_of_row",
                                   .args = {"z", "threshold", "target"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kOnce,
                                     rule::Along::kElements};
  static constexpr unsigned kSaved = 1;
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto z, auto threshold, auto target) const {
    const auto p = over::keep(select(z <= threshold, 0.0, z - threshold));
    const auto inside = over::sum(p * (p + 2.0 * threshold));  // z^2 - threshold^2
    const auto aim = over::sum(select(target == 0.0, 0.0, target * (0.5 * target - z)));
    const auto loss = 0.5 * inside + aim;
    return rule::each(select(loss < 0.0, 0.0, loss), p - target);
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*z*/, auto /*threshold*/, auto /*target*/,
                                      auto /*loss*/, auto slope, auto d_loss) const {
    return rule::each(d_loss * slope, 0.0 * d_loss, 0.0 * d_loss);
  }
  static std::vector<ext::Example<SparsemaxLossOfRow>> examples() {
    return {{{}, {{7}, {1}, {7}}}};
  }
};

/// log_softmax over the positions whose mark is not 0; -inf elsewhere.
struct LogSoftmaxOfMarked {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "log_softmax_of_marked", .args = {"x", "mark"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kPositions};
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto mark) const {
    const auto shifted = x - over::max(select(mark == 0.0, kMinusInf, x));
    const auto total = over::sum(select(mark == 0.0, 0.0, exp(shifted)));
    return rule::each(select(mark == 0.0, kMinusInf, shifted - log(total)));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto mark, auto y, auto dy) const {
    const auto total = over::sum(select(mark == 0.0, 0.0, dy));
    return rule::each(select(mark == 0.0, 0.0, dy - exp(y) * total), rule::lift(0.0));
  }
  static std::vector<ext::Example<LogSoftmaxOfMarked>> examples() {
    return {{{0}, {{4, 3}, {4}}, 0.5, 2.0}};
  }
};

// Bounded softmax works with logarithms: beside the exponential of a class at its bound, the
// exponential of a class far below would vanish.

/// z = x - max(x), in which order the bounds u are reached as exp(z) grows by a factor, and these
/// bounds, of which none above 1 is reached.
struct BoundedSoftmaxOrder {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "bounded_softmax_order", .args = {"x", "u"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  static constexpr unsigned kOutputs = 3;
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto x, auto u) const {
    const auto z = over::keep(x - over::max(x));
    // Elements that stay 0 reach no bound.
    return rule::each(z, select(z == kMinusInf, kMinusInf, z - log(max(u, 0.0))), min(u, 1.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto /*u*/, auto /*z*/, auto /*key*/,
                                      auto /*bound*/, auto dz, auto d_key, auto /*d_bound*/) const {
    return rule::each(dz, d_key);
  }
  static std::vector<ext::Example<BoundedSoftmaxOrder>> examples() {
    return {{{0}, {{4, 3}, {4, 3}}, 0.5, 2.0}};
  }
};
/// ln(exp(near) + exp(far + y - z)): sums of exponentials, of which each is told beside its own z.
/// So they keep their digits if z is far from 0.
struct LogSumOnward {
  static constexpr ext::Info kInfo{.name = "log_sum_onward", .args = {"near", "far", "z", "y"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements,
                                     rule::Along::kElements, rule::Along::kElements};
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto near, auto far, auto z, auto y) const {
    const auto more = select(y == kMinusInf, kMinusInf, far + (y - z));
    return rule::each(max(near, more) + log1p(exp(-abs(near - more))));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto near, auto far, auto z, auto y, auto sum,
                                      auto d_sum) const {
    const auto d_more = select(y == kMinusInf, 0.0, d_sum * exp(far + (y - z) - sum));
    return rule::each(d_sum * exp(near - sum), d_more, -d_more, d_more);
  }
  static std::vector<ext::Example<LogSumOnward>> examples() {
    const Dim x{4, 3};
    return {{{}, {x, x, x, x}}};
  }
};
/// In that order `z` and `u`; `bounded`: running sums of u from the start; `free`: ln of the
/// running sums of exp(z) from the end, beside z. Element k is at its bound if its share of the
/// rest that the elements before leave is larger. Results, of the first element below its bound:
/// its z, and ln of its share.
struct BoundedSoftmaxShift {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "bounded_softmax_shift", .args = {"z", "u", "bounded", "free"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements,
                                     rule::Along::kElements, rule::Along::kElements};
  static constexpr unsigned kOutputs = 2;
  static constexpr double kLeast = -3e38;
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto z, auto u, auto bounded, auto free) const {
    const auto rest = max(1.0 - (bounded - u), 0.0);
    const auto own = select(z < kLeast, -1.0, rest * exp(-free));  // elements at 0 have no bound
    const auto count = over::sum(select(own >= u, 1.0, 0.0));
    const auto last = min(count, over::count() - 1.0);
    const auto first = over::at(z, last);
    // -inf if only elements that stay 0 are left: all others are at their bounds.
    const auto share = log(over::at(rest, last)) - over::at(free, last);
    return rule::each(unless_nan(select(first > kLeast, first, kLeast), z + u),
                      select(first > kLeast, share, 0.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*z*/, auto /*u*/, auto /*bounded*/, auto /*free*/,
                                      auto /*first*/, auto /*share*/, auto d_first,
                                      auto /*d_share*/) const {
    return rule::each(0.0 * d_first, 0.0 * d_first, 0.0 * d_first, 0.0 * d_first);
  }
  static std::vector<ext::Example<BoundedSoftmaxShift>> examples() {
    const Dim x{4, 3};
    return {{{0}, {x, x, x, x}, 0.5, 2.0}};
  }
};
/// The bounds, and the share of each other element in the rest that they leave.
struct BoundedSoftmaxOfShift {
  unsigned d;
  static constexpr ext::Info kInfo{
      .name = "bounded_softmax_of_shift", .args = {"z", "u", "first", "share"}, .attrs = {"d"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements,
                                     rule::Along::kOnce, rule::Along::kOnce};
  static constexpr unsigned kSaved = 1;  // 1 if an element is below its bound
  std::uint32_t row_axes() const { return std::uint32_t{1} << d; }
  DYNET_DEVICE_FN constexpr auto value(auto z, auto u, auto first, auto share_of_first) const {
    const auto e = over::keep(exp((z - first) + share_of_first));
    const auto is_free = select(e > u, 0.0, 1.0);
    // This share has rounding errors of many sums: shares are divided by their own sum.
    const auto free = over::sum(select(e > u, 0.0, e));
    const auto rest = max(1.0 - over::sum(select(e > u, u, 0.0)), 0.0);
    const auto share = min(e * select(free == 0.0, 1.0, rest / free), u);
    return rule::each(select(e > u, u, select(e == e, share, e)), is_free);
  }
  /// The gradients of x and u, in the places of z and u.
  DYNET_DEVICE_FN constexpr auto pull(auto /*z*/, auto /*u*/, auto /*first*/, auto /*share*/,
                                      auto y, auto is_free, auto dy) const {
    const auto mass = over::sum(is_free * y);
    const auto mean = quotient_or_zero(over::sum(is_free * y * dy), mass);
    return rule::each(select(is_free == 0.0, 0.0, y * (dy - mean)),
                      select(is_free == 0.0, dy - mean, 0.0), 0.0 * mass, 0.0 * mass);
  }
  static std::vector<ext::Example<BoundedSoftmaxOfShift>> examples() {
    return {{{0}, {{4, 3}, {4, 3}, {3}, {3}}, 0.5, 2.0}};
  }
};

using SparsemaxSteps = ext::OpList<BelowTop, SparsemaxThreshold, AboveThreshold, SparsemaxLossOfRow,
                                   LogSoftmaxOfMarked, BoundedSoftmaxOrder, LogSumOnward,
                                   BoundedSoftmaxShift, BoundedSoftmaxOfShift>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SparsemaxSteps)

namespace dynet::ops {

// ---- operations
// ----------------------------------------------------------------------------------

/// The first step of sparsemax and its loss: z, and the threshold of each row.
class BelowTopWithThreshold {
 public:
  BelowTopWithThreshold(const ext::Call& call, const ext::Operand& x, unsigned d)
      : z(call, x.dim, call.examples), threshold(call, without_axis(x.dim, d), call.examples) {
    const ScratchOperand places(call, x.dim, call.examples, ext::SavedAs::kIndices);
    const ScratchOperand sorted(call, x.dim, call.examples);
    const ScratchOperand sums(call, x.dim, call.examples);
    forward_step(BelowTop{d}, call, {x}, {z});
    call.kernels.select(d, ext::Order::kDescending, z, places);
    call.kernels.move(by_places(x.dim, d, places), z, sorted);
    call.kernels.scan(d, ext::ScanFrom::kStart, sorted, sums);
    forward_step(SparsemaxThreshold{d}, call, {sorted, sums}, {threshold});
  }
  ScratchOperand z, threshold;
};

struct Sparsemax {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "sparsemax",
      .args = {"x"},
      .attrs = {"d"},
      .formula = "y_i = max(x_i - t, 0) with t such that sum_i y_i = 1, i along dimension d",
      .summary =
          "The distribution nearest to x along dimension d: by default of each column. Most of it "
          "is 0 if x has large differences. NaN if an element is NaN or inf.",
      .shapes = "any -> the same",
      .errors = "ShapeError if x has no dimension d, or more than 2^24 elements along it",
      .source = "Martins and Astudillo, 2016"};
  using Steps = ext::OpList<BelowTop, SparsemaxThreshold, AboveThreshold>;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    check_positions(in, in[0].d[d]);
    return in[0];
  }
  void forward(ext::Call& call) const {
    const BelowTopWithThreshold x(call, call.in[0], d);
    forward_step(AboveThreshold{d}, call, {x.z, x.threshold}, {call.out[0]});
  }
  void gradient(auto& to) const {
    const Dim x = to.dim(to.in(0));
    to.give_through(AboveThreshold{d}, std::array{to.unread(x), to.unread(without_axis(x, d))},
                    std::array{to.out()}, std::array{to.d_out()},
                    std::array{std::size_t{0}, to.kNobody});
  }
  static std::vector<ext::Example<Sparsemax>> examples() {
    return {{{0}, {{7}}},       {{0}, {{4, 3}}}, {{1}, {{4, 3}}},
            {{2}, {{2, 1, 5}}}, {{0}, {{1}}},    {{0}, {{17}}},
            {{1}, {{0, 3}}},    {{0}, {{40}}},   {{4}, {{1, 2, 1, 2, 3, 2, 2}}}};
  }
};

struct SparsemaxLoss {
  static constexpr ext::Info kInfo{
      .name = "sparsemax_loss",
      .args = {"x"},
      .payload = "support",
      .formula =
          "y = (sum over p_i > 0 of (x_i^2 - t^2) + sum_i q_i^2) / 2 - sum_i q_i * x_i, p = "
          "sparsemax(x) with threshold t, q_i = how often i stands in support / its length",
      .summary =
          "Loss of sparsemax against the distribution q of the classes in support, one list for "
          "all examples of the batch: never below 0. The gradient is p - q. A class that stands "
          "twice counts twice.",
      .shapes = "{n} -> {1}",
      .errors =
          "ShapeError unless x is a vector of at most 2^24 elements, ValueError if support "
          "is empty, IndexError if a class is not below n",
      .source = "Martins and Astudillo, 2016",
      .python = "-",
      .python_batch = "sparsemax_loss"};
  using Steps = ext::OpList<BelowTop, SparsemaxThreshold, SparsemaxLossOfRow>;
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr unsigned kSaved = 1;  // p - q
  Dim shape(const ext::Shapes& in) const {
    if (!is_vector_like(in[0])) {
      in.fail("a vector x");
    }
    check_positions(in, in[0].rows());
    if (in.payload() == 0) {
      in.fail_value("at least one class in support");
    }
    return {1};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  void forward(ext::Call& call) const {
    const BelowTopWithThreshold x(call, call.in[0], 0);
    const ScratchOperand target(call, call.in[0].dim, call.indices.examples);
    mark_indices(call, 1.0 / static_cast<double>(call.indices.size()), target);
    forward_step(SparsemaxLossOfRow{}, call, {x.z, x.threshold, target},
                 {call.out[0], call.saved[0]});
  }
  void gradient(auto& to) const {
    const auto rest = to.saved(0, [](auto& nodes) {
      const Dim x = nodes.dim(nodes.in(0));
      const unsigned count = nodes.index_count();
      const auto share = nodes.constant(Dim({count}), 1.0 / static_cast<double>(count));
      const auto target =
          nodes.reshaped(nodes.scattered(share, x[0], 0, nodes.kSame), x.single_batch());
      return nodes.add(Subtract{}, nodes.add(Sparsemax{}, nodes.in(0)), target);
    });
    to.give(0, to.add(CMult{}, rest, to.d_out()));
  }
  static std::vector<ext::Example<SparsemaxLoss>> examples() {
    const auto of = [](const Dim& x, std::vector<unsigned> support) {
      return ext::Example<SparsemaxLoss>({}, {x}).with_indices(std::move(support));
    };
    return {of({7}, {3}),   of({7}, {0, 6, 2}), of({5, 1}, {4, 0}),     of({1}, {0}),
            of({17}, {16}), of({4}, {3, 1}),    of({40}, {1, 2, 3, 5}), of({4, 1, 1}, {0, 1, 2, 3}),
            of({3}, {1, 1})};
  }
};

struct RestrictedLogSoftmax {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "restricted_log_softmax",
      .args = {"x"},
      .attrs = {"d"},
      .payload = "restriction",
      .formula = "y_i = x_i - ln(sum_j exp(x_j)), i and j in restriction, along dimension d",
      .summary =
          "Logarithm of the softmax over some positions along dimension d: by default of each "
          "column. The others have no part in it; they are -inf and get no gradient. One list "
          "for all examples of the batch.",
      .shapes = "any -> the same",
      .errors =
          "ShapeError if x has no dimension d, ValueError if restriction is empty, "
          "IndexError if it has a position that x lacks",
      .cpp = "-",
      .python = "-"};
  using Steps = ext::OpList<LogSoftmaxOfMarked>;
  static constexpr bool kMinusInfinity = true;
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    if (in.payload() == 0) {
      in.fail_value("at least one position in restriction");
    }
    return in[0];
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0][d]; }
  void forward(ext::Call& call) const {
    const ScratchOperand mark(call, {call.in[0].dim[d]}, call.indices.examples);
    mark_indices(call, 1.0, mark);
    forward_step(LogSoftmaxOfMarked{d}, call, {call.in[0], mark}, {call.out[0]});
  }
  void gradient(auto& to) const {
    const Dim x = to.dim(to.in(0));
    const auto ones = to.constant(Dim({to.index_count()}), 1.0);
    const auto mark = to.ready(to.scattered(ones, x[d], 0, to.kSame));
    to.give_through(LogSoftmaxOfMarked{d}, std::array{to.unread(x), mark}, std::array{to.out()},
                    std::array{to.d_out()}, std::array{std::size_t{0}, to.kNobody});
  }
  /// With one position: the suite draws lists, and -inf has no difference quotient. Longer ones are
  /// in tests/rows_test.cc.
  static std::vector<ext::Example<RestrictedLogSoftmax>> examples() {
    const auto of = [](unsigned d, const Dim& x, std::vector<unsigned> restriction) {
      return ext::Example<RestrictedLogSoftmax>({d}, {x}).with_indices(std::move(restriction));
    };
    return {of(0, {1}, {0}),
            of(0, {1}, {0, 0}),
            of(0, {1, 3}, {0}),
            of(1, {4, 1}, {0}),
            of(1, {2, 1, 3}, {0, 0, 0}),
            of(2, {3, 2, 1}, {0}),
            of(0, {1, 0}, {0}),
            of(3, {1, 2, 2, 1, 2, 1, 2}, {0})};
  }
};

/// ln of the sum of exp(z) from each place on along dimension d, less z of that place: in each pass
/// the sums that stand twice as far away are added. In one of `two`; `farther` are overwritten.
inline const ext::Operand& log_sums_to_end(const ext::Call& call, unsigned d, const ext::Operand& z,
                                           std::array<const ScratchOperand*, 2> two,
                                           std::array<const ScratchOperand*, 2> farther) {
  const std::int64_t n = z.dim.d[d];
  const auto& [far, z_of_far] = farther;
  two[1]->fill(call.kernels, 0.0);
  ext::Move m;
  ext::strides_of(z.dim, m.from_stride);
  ext::strides_of(z.dim, m.to_stride);
  m.box = z.dim;
  for (std::int64_t distance = 1; distance < n; distance *= 2) {
    far->fill(call.kernels, 0.0);
    z_of_far->fill(call.kernels, -std::numeric_limits<double>::infinity());
    m.box.d[d] = static_cast<unsigned>(n - distance);
    m.from_offset = distance * m.from_stride[d];
    call.kernels.move(m, *two[1], *far, ext::Write::kStore);
    call.kernels.move(m, z, *z_of_far, ext::Write::kStore);
    forward_step(LogSumOnward{}, call, {*two[1], *far, z, *z_of_far}, {*two[0]});
    std::swap(two[0], two[1]);
  }
  return *two[1];
}

struct ConstrainedSoftmax {
  unsigned d = 0;

  static constexpr ext::Info kInfo{
      .name = "constrained_softmax",
      .args = {"x", "u"},
      .attrs = {"d"},
      .formula = "y_i = min(u_i, c * exp(x_i)) with c such that sum_i y_i = 1, along dimension d",
      .summary =
          "Softmax with an upper bound u_i of each probability, along dimension d: by default of "
          "each column. If the bounds of a column sum to less than 1, they are the result.",
      .shapes = "two equal shapes -> the same",
      .errors =
          "ShapeError if the shapes differ, x has no dimension d, or more than 2^24 elements "
          "along it",
      .source = "Martins and Kreutzer, 2017",
      .python_params = "x, y, d"};
  using Steps =
      ext::OpList<BoundedSoftmaxOrder, LogSumOnward, BoundedSoftmaxShift, BoundedSoftmaxOfShift>;
  static constexpr unsigned kSaved = 1;
  Dim shape(const ext::Shapes& in) const {
    if (in[0] != in[1] &&
        !(is_vector_like(in[0]) && is_vector_like(in[1]) && in[0].rows() == in[1].rows())) {
      in.fail("equal shapes");
    }
    check_axis(in, d);
    check_positions(in, in[0].d[d]);
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call& call) const {
    const ext::Operand& x = call.in[0];
    const ScratchOperand z(call, x.dim, call.examples);
    const ScratchOperand key(call, x.dim, call.examples);
    const ScratchOperand u(call, x.dim, call.examples);
    forward_step(BoundedSoftmaxOrder{d}, call, {x, bounds(call)}, {z, key, u});
    const ScratchOperand places(call, x.dim, call.examples, ext::SavedAs::kIndices);
    call.kernels.select(d, ext::Order::kDescending, key, places);
    const ScratchOperand z_of(call, x.dim, call.examples);
    const ScratchOperand u_of(call, x.dim, call.examples);
    const ext::Move in_order = by_places(x.dim, d, places);
    call.kernels.move(in_order, z, z_of);
    call.kernels.move(in_order, u, u_of);
    const ScratchOperand bounded(call, x.dim, call.examples);
    call.kernels.scan(d, ext::ScanFrom::kStart, u_of, bounded);
    const ScratchOperand first(call, without_axis(x.dim, d), call.examples);
    const ScratchOperand share(call, without_axis(x.dim, d), call.examples);
    const ScratchOperand one(call, x.dim, call.examples);
    const ScratchOperand other(call, x.dim, call.examples);
    const ext::Operand& free = log_sums_to_end(call, d, z_of, {&one, &other}, {&key, &u});
    forward_step(BoundedSoftmaxShift{d}, call, {z_of, u_of, bounded, free}, {first, share});
    forward_step(BoundedSoftmaxOfShift{d}, call, {z, bounds(call), first, share},
                 {call.out[0], call.saved[0]});
  }
  void gradient(auto& to) const {
    const Dim x = to.dim(to.out());  // with the batch of both
    const auto nothing = to.unread(x);
    const auto no_first = to.unread(without_axis(x, d));
    const auto is_free = to.saved(0, [](auto& nodes) {
      Dim shape = nodes.dim(nodes.out());
      shape.bd = nodes.dim(nodes.in(1)).bd;
      const auto u = nodes.reshaped(nodes.in(1), shape);
      const auto below = nodes.add(Rectify{}, nodes.add(Subtract{}, u, nodes.out()));
      return nodes.add(Choose{}, below, nodes.constant({1}, 1.0), nodes.constant({1}, 0.0));
    });
    to.give_through(BoundedSoftmaxOfShift{d}, std::array{nothing, nothing, no_first, no_first},
                    std::array{to.out(), is_free}, std::array{to.d_out()},
                    std::array{std::size_t{0}, std::size_t{1}, to.kNobody, to.kNobody});
  }
  static std::vector<ext::Example<ConstrainedSoftmax>> examples() {
    return {{{0}, {{7}, {7}}, 0.1, 0.6},
            {{0}, {{4, 3}, {4, 3}}, 0.2, 0.8},
            {{1}, {{4, 3}, {4, 3}}, 0.3, 0.9},
            {{2}, {{2, 1, 5}, {2, 1, 5}}, 0.1, 0.9},
            {{0}, {{1}, {1}}, 0.2, 0.9},
            {{0}, {{17}, {17, 1}}, 0.05, 0.2},
            {{1}, {{0, 3}, {0, 3}}},
            {{0}, {{5, 1}, {5}}, 0.3, 0.5},
            {{4}, {{1, 2, 1, 2, 3, 2, 2}, {1, 2, 1, 2, 3, 2, 2}}, 0.2, 0.7}};
  }

 private:
  /// u in the shape of x, which may have other ones at its end.
  static ext::Operand bounds(const ext::Call& call) {
    ext::Operand u = call.in[1];
    u.dim = call.in[0].dim;
    return u;
  }
};

using SparsemaxOps =
    ext::OpList<Sparsemax, SparsemaxLoss, RestrictedLogSoftmax, ConstrainedSoftmax>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::SparsemaxOps)
