#pragma once

// The contract of an operation: one aggregate struct says all there is to say about it.
//
//   struct Elu {
//     float alpha = 1.0F;                              // members are attributes: they are the identity
//     static constexpr ext::Info kInfo{.name = "elu", .args = {"x"}, .attrs = {"alpha"}, ...};
//     Dim shape(const ext::Shapes& in) const { return in[0]; }
//     DYNET_DEVICE_FN auto value(auto x) const { return select(x > 0, x, alpha * expm1(x)); }
//     DYNET_DEVICE_FN auto slope(auto x, auto y) const { return select(x > 0, 1.0, y + alpha); }
//     static std::vector<ext::Example<Elu>> examples() { return {{{1.0F}, {{4, 3}}}}; }
//   };
//
// From it follow, with no further line: the batch key, merging, printing, the CPU loop, the CUDA
// kernel, the Python function, the documentation, and its tests and bench.
//
// What computes, one of
//   value(x), slope(x, y)                     elementwise, one argument
//   value(x, s), slope(x, s, y)               the same with a scalar payload s (an argument in `values`)
//   value(a, b), slopes(a, b, y)              elementwise, broadcasting; slopes returns each(dy/da, dy/db)
//   value(parts...), pull(parts..., outs..., saved..., d_outs...)
//                                             a cell: arguments cut into kParts pieces, several results;
//                                             both return each(...); pull gives the gradient of each part
//   forward(Call&), backward(Call&)           anything else, over the loops of kernels.h
//
// Optional members, all `static constexpr`:
//   std::array kRoles{...}      Role of each argument (default stacked). Variadic: the repeated pattern
//   bool kVariadic              any number of arguments >= 1
//   Payload kPayload            kIndices or kValues per node: never part of the identity, only its count
//   unsigned kOutputs, kSaved   number of results (default 1) and of saved outputs (default 0);
//                               with kOutputs > 1: std::array<Dim, kOutputs> shapes(in) instead of shape(in);
//                               with kSaved: std::array<Dim, kSaved> saved(in)
//   bool kSummed                a rule whose values are summed over the elements of an example: y is {1}
//   std::array kParts, kOutParts, kSavedParts     pieces of a cell's operands
//   bool kAliases               the value is the argument's memory (reshape)
//   bool kStopsGradient         nothing flows back (nobackprop)
//   bool kPartialGradient       backward adds to parts of its gradients: they are given as zeros
//   bool kRandom                reads Call::random
//   Leaf kLeaf                  inputs, parameters, lookups: executed by the library
//   unsigned index_limit(in)    (a function) exclusive bound of the indices in the payload
//
// An operation names no graph, scheduler or device, and keeps no state.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/dim.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/operand.h"
#include "dynet/ext/rule.h"

namespace dynet::ext {

/// What the batcher may do with an argument when nodes of equal key run together.
enum class Role : std::uint8_t {
  kStacked,  ///< per example: laid one after the other
  kShared,   ///< one storage for all members of a call (a weight)
  kEither,   ///< shared where the members have the same storage there, else per example
  kWhole,    ///< the operation mixes the examples of its batch: such nodes run one by one
};
enum class Payload : std::uint8_t { kNone, kIndices, kValues };
enum class Leaf : std::uint8_t { kNo, kInput, kParameter, kLookup, kOutput };

inline constexpr std::size_t kMaxArgs = 8;   ///< named arguments of an operation that is not variadic
inline constexpr std::size_t kMaxAttrs = 8;
inline constexpr std::size_t kMaxOutputs = 4;

/// All that a person reads about an operation. Python, the reference page, and error messages are
/// printed from here.
struct Info {
  std::string_view name;                                 ///< what errors and graphs call it
  std::array<std::string_view, kMaxArgs> args{};         ///< argument names; variadic: of the list
  std::array<std::string_view, kMaxAttrs> attrs{};       ///< attribute names, in member order
  std::string_view payload{};                            ///< name of the payload, where there is one
  std::string_view formula{};
  std::string_view summary{};
  std::string_view shapes{};                             ///< e.g. "{m,k}, {k,n}xb -> {m,n}xb"
  std::string_view errors{};
  std::string_view source{};                             ///< where the formula comes from
  std::string_view cpp{};      ///< C++ name where it differs: "operator+"; "-": no generated function
  std::string_view python{};   ///< Python name where it differs: "__add__"; "-": none generated
  std::string_view python_batch{};  ///< Python name of the form with one index per example
  std::string_view mirrored{}; ///< Python name of `scalar op x`: "__radd__"; C++ gets it as well
};

/// Shapes of the arguments, as a shape rule sees them: one example each (bd is 1), except for
/// operations with a whole role, which see the batch too.
class Shapes {
 public:
  Shapes(const Info& info, std::span<const Dim> dims, unsigned batch, std::uint32_t payload)
      : info_(info), dims_(dims), batch_(batch), payload_(payload) {}
  const Dim& operator[](std::size_t i) const { return dims_[i]; }
  [[nodiscard]] std::size_t size() const { return dims_.size(); }
  /// Examples of the result by the batch rule (every argument has this many or 1).
  [[nodiscard]] unsigned batch() const { return batch_; }
  /// Number of indices or values given.
  [[nodiscard]] std::uint32_t payload() const { return payload_; }
  /// Throws ShapeError: "name(a, b): a is {..} and b is {..}; want `wanted`".
  [[noreturn]] void fail(std::string_view wanted) const;
  [[noreturn]] void fail_value(std::string_view wanted) const;  ///< the same as ValueError

 private:
  const Info& info_;
  std::span<const Dim> dims_;
  unsigned batch_;
  std::uint32_t payload_;
};

/// Everything forward and backward of an operation work on. In a merged call the operands hold the
/// examples of all members.
struct Call {
  explicit Call(const Kernels& k) : kernels(k) {}
  const Kernels& kernels;
  std::int64_t examples = 0;          ///< of the result
  std::span<const Operand> in;
  std::span<const Operand> out;       ///< forward: to be written. backward: values
  std::span<const Operand> saved;     ///< written by forward, read by backward
  std::span<const Operand> d_out;     ///< backward; absent where nobody used the output
  std::span<const Operand> d_in;      ///< backward; absent where no gradient is wanted
  const unsigned* indices = nullptr;  ///< payload: `per_example` indices for each example
  Operand values;                     ///< payload: one scalar {1} per example
  /// Random nodes: one key per member of the call and how many examples each has.
  struct Random { RandomKey key; std::int64_t examples; };
  std::span<const Random> random;
};

// ---- attributes ------------------------------------------------------------------------------
// The members of an operation, listed by the compiler: one that was forgotten cannot exist.

namespace detail {
struct Anything {
  template <class T> operator T() const;  // NOLINT(google-explicit-constructor): that is the point
};
template <class T, std::size_t... kI>
constexpr bool can_build(std::index_sequence<kI...>) {
  return requires { T{(static_cast<void>(kI), Anything{})...}; };
}
template <class T, std::size_t kGuess = kMaxAttrs + 1>
constexpr std::size_t count_fields() {
  if constexpr (can_build<T>(std::make_index_sequence<kGuess>{})) { return kGuess; }
  else { return count_fields<T, kGuess - 1>(); }
}
}  // namespace detail

template <class Op>
inline constexpr std::size_t kAttrCount = detail::count_fields<Op>();

template <class Op>
[[nodiscard]] constexpr auto attributes(Op& op) {
  constexpr std::size_t n = kAttrCount<std::remove_const_t<Op>>;
  static_assert(n <= kMaxAttrs, "an operation has at most eight attributes");
  if constexpr (n == 0) { return std::tuple<>{}; }
  else if constexpr (n == 1) { auto& [a] = op; return std::tie(a); }
  else if constexpr (n == 2) { auto& [a, b] = op; return std::tie(a, b); }
  else if constexpr (n == 3) { auto& [a, b, c] = op; return std::tie(a, b, c); }
  else if constexpr (n == 4) { auto& [a, b, c, d] = op; return std::tie(a, b, c, d); }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = op; return std::tie(a, b, c, d, e); }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = op; return std::tie(a, b, c, d, e, f); }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = op; return std::tie(a, b, c, d, e, f, g); }
  else { auto& [a, b, c, d, e, f, g, h] = op; return std::tie(a, b, c, d, e, f, g, h); }
}

namespace detail {
template <class Op, std::size_t kI>
constexpr bool read_member() {
  Op op;  // not Op{}: a member without an initializer stays indeterminate, and reading it is no constant
  const auto copy = std::get<kI>(attributes(op));
  return sizeof copy != 0;
}
}  // namespace detail
/// Whether member kI has an initializer. One without must be given by the caller, in C++ and Python.
template <class Op, std::size_t kI>
inline constexpr bool kHasDefault = requires { typename std::bool_constant<detail::read_member<Op, kI>()>; };

/// A list of at most kMax small values as an attribute. Unused entries are zero.
template <class T, std::size_t kMax>
struct List {
  T items[kMax] = {};
  std::uint32_t count = 0;
  [[nodiscard]] const T* begin() const { return items; }
  [[nodiscard]] const T* end() const { return items + count; }
  const T& operator[](std::size_t i) const { return items[i]; }
  friend bool operator==(const List&, const List&) = default;
};

/// What may be an attribute: plain values, compared by their bytes.
template <class T>
concept Attribute = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                    !std::is_member_pointer_v<T> &&
                    (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Dim> ||
                     requires(T t) { t.items; t.count; });

namespace detail {
template <class Tuple> struct AllAttributes;
template <class... T>
struct AllAttributes<std::tuple<T&...>> : std::bool_constant<(Attribute<std::remove_const_t<T>> && ...)> {};
}  // namespace detail

// ---- properties with defaults ------------------------------------------------------------------

namespace detail {
template <std::size_t kN>
constexpr std::size_t count_names(const std::array<std::string_view, kN>& names) {
  std::size_t n = 0;
  while (n < kN && !names[n].empty()) { ++n; }
  return n;
}
#define DYNET_PROPERTY(type, name, member, otherwise)       \
  template <class Op>                                       \
  constexpr type name() {                                   \
    if constexpr (requires { Op::member; }) { return Op::member; } \
    else { return otherwise; }                              \
  }
DYNET_PROPERTY(bool, is_variadic, kVariadic, false)
DYNET_PROPERTY(Payload, payload_of, kPayload, Payload::kNone)
DYNET_PROPERTY(unsigned, outputs_of, kOutputs, 1)
DYNET_PROPERTY(unsigned, saved_of, kSaved, 0)
DYNET_PROPERTY(bool, is_summed, kSummed, false)
DYNET_PROPERTY(bool, is_alias, kAliases, false)
DYNET_PROPERTY(bool, stops_gradient, kStopsGradient, false)
DYNET_PROPERTY(bool, is_partial, kPartialGradient, false)
DYNET_PROPERTY(bool, is_random, kRandom, false)
DYNET_PROPERTY(Leaf, leaf_of, kLeaf, Leaf::kNo)
#undef DYNET_PROPERTY
}  // namespace detail

template <class Op>
inline constexpr std::size_t kArgCount = detail::count_names(Op::kInfo.args);

// ---- rules as loops ------------------------------------------------------------------------------

/// One operand of a rule's loop: a run of n numbers, or one number repeated.
struct Stream {
  enum Mode : std::uint8_t {
    kRun, kRepeat,               ///< inputs; kRepeat reads data[0] for every element
    kStore, kAdd, kSum, kSkip,   ///< results; kSum adds the sum of all n to data[0]; kSkip: not wanted
  };
  void* data;
  Mode mode;
};
/// Runs a rule over n elements. `op` is the operation, `in` and `out` its streams in contract order:
/// forward reads parts of the arguments (and the scalar payload) and writes outputs and saved
/// outputs; backward reads arguments, payload, outputs, saved, gradients of the outputs, and writes
/// the gradients of the arguments. Elements are processed in order; results of one element in order.
using RuleLoop = void (*)(const void* op, const Stream* in, const Stream* out, std::int64_t n);

/// A rule's loops and how its operands are cut. The float loops are replaced, for operations of the
/// list, by those of the best SIMD target (src/ops).
struct RuleLoops {
  RuleLoop forward_float, backward_float, forward_double, backward_double;
};
struct RuleInfo {
  RuleLoops* loops;
  std::uint8_t parts[kMaxArgs];            ///< pieces of each argument; 1 where broadcasting applies
  std::uint8_t out_parts[kMaxOutputs];
  std::uint8_t saved_parts[kMaxOutputs];
  bool has_scalar;                         ///< reads Call::values
  bool summed;
};

template <class Op>
concept UnaryRule = requires(const Op op) { op.value(1.0); op.slope(1.0, 1.0); };
template <class Op>
concept ScalarRule = requires(const Op op) { op.value(1.0, 1.0); op.slope(1.0, 1.0, 1.0); };
template <class Op>
concept BinaryRule = requires(const Op op) { op.value(1.0, 1.0); op.slopes(1.0, 1.0, 1.0); };
template <class Op>
concept CellRule = requires { Op::kParts; Op::kOutParts; };
template <class Op>
concept Rule = UnaryRule<Op> || ScalarRule<Op> || BinaryRule<Op> || CellRule<Op>;

namespace detail {
template <class Array>
constexpr std::size_t sum_of(const Array& a) {
  std::size_t n = 0;
  for (auto v : a) { n += static_cast<std::size_t>(v); }
  return n;
}
template <class Op> constexpr std::size_t saved_streams() {
  if constexpr (requires { Op::kSavedParts; }) { return sum_of(Op::kSavedParts); }
  else { return 0; }
}
}  // namespace detail

/// Number of streams of a rule: what value reads, what it writes, what backward reads and writes.
template <class Op>
struct RuleArity {
  static constexpr std::size_t inputs() {
    if constexpr (CellRule<Op>) { return detail::sum_of(Op::kParts); }
    else { return UnaryRule<Op> ? 1 : 2; }
  }
  static constexpr std::size_t outputs() {
    if constexpr (CellRule<Op>) { return detail::sum_of(Op::kOutParts); }
    else { return 1; }
  }
  static constexpr std::size_t results() { return outputs() + detail::saved_streams<Op>(); }
  static constexpr std::size_t gradients() {
    if constexpr (CellRule<Op>) { return detail::sum_of(Op::kParts); }
    else { return BinaryRule<Op> ? 2 : 1; }
  }
  static constexpr std::size_t backward_inputs() { return inputs() + results() + outputs(); }
};

/// Evaluates the forward rule: a tuple of outputs and saved outputs.
template <class Op, class... X>
DYNET_DEVICE_FN constexpr auto forward_rule(const Op& op, X... x) {
  if constexpr (CellRule<Op>) { return op.value(x...); }
  else { return rule::each(op.value(x...)); }
}
/// Evaluates the backward rule on (inputs..., outputs..., saved..., gradients of outputs...): a tuple
/// of the gradients of the inputs.
template <class Op, class... X>
DYNET_DEVICE_FN constexpr auto backward_rule(const Op& op, X... x) {
  if constexpr (CellRule<Op>) { return op.pull(x...); }
  else if constexpr (UnaryRule<Op>) {
    return [&](auto a, auto y, auto dy) { return rule::each(dy * op.slope(a, y)); }(x...);
  } else if constexpr (ScalarRule<Op>) {
    return [&](auto a, auto s, auto y, auto dy) { return rule::each(dy * op.slope(a, s, y)); }(x...);
  } else {
    return [&](auto a, auto b, auto y, auto dy) {
      const auto [da, db] = op.slopes(a, b, y);
      return rule::each(dy * da, dy * db);
    }(x...);
  }
}

namespace detail {
/// The plain loop: one element after the other, in T.
template <class T, std::size_t kIn, class Evaluate>
void plain_loop(const Stream* in, const Stream* out, std::int64_t n, Evaluate evaluate) {
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto results = evaluate(
          static_cast<const T*>(in[kI].data)[in[kI].mode == Stream::kRepeat ? 0 : i]...);
      const auto put = [&](const Stream& s, T value) {
        T* y = static_cast<T*>(s.data);
        if (s.mode == Stream::kStore) { y[i] = value; }
        else if (s.mode == Stream::kAdd) { y[i] += value; }
        else if (s.mode == Stream::kSum) { *y += value; }
      };
      [&]<std::size_t... kJ>(std::index_sequence<kJ...>) {
        (put(out[kJ], static_cast<T>(std::get<kJ>(results))), ...);
      }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(results)>>>{});
    }
  }(std::make_index_sequence<kIn>{});
}
template <class Op, class T>
void plain_forward(const void* op, const Stream* in, const Stream* out, std::int64_t n) {
  plain_loop<T, RuleArity<Op>::inputs()>(in, out, n, [op](auto... x) {
    return forward_rule(*static_cast<const Op*>(op), x...);
  });
}
template <class Op, class T>
void plain_backward(const void* op, const Stream* in, const Stream* out, std::int64_t n) {
  plain_loop<T, RuleArity<Op>::backward_inputs()>(in, out, n, [op](auto... x) {
    return backward_rule(*static_cast<const Op*>(op), x...);
  });
}
template <class Op> constexpr RuleLoops plain_loops() {
  return {plain_forward<Op, float>, plain_backward<Op, float>,
          plain_forward<Op, double>, plain_backward<Op, double>};
}
}  // namespace detail

/// The loops of one rule, shared by all of the program. Written once, before the first graph.
template <Rule Op>
inline constinit RuleLoops rule_loops = detail::plain_loops<Op>();

namespace detail {
template <class Op>
constexpr RuleInfo make_rule_info() {
  RuleInfo r{};
  r.loops = &rule_loops<Op>;
  for (auto& p : r.parts) { p = 1; }
  for (auto& p : r.out_parts) { p = 1; }
  for (auto& p : r.saved_parts) { p = 1; }
  if constexpr (CellRule<Op>) {
    for (std::size_t i = 0; i < Op::kParts.size(); ++i) { r.parts[i] = static_cast<std::uint8_t>(Op::kParts[i]); }
    for (std::size_t i = 0; i < Op::kOutParts.size(); ++i) { r.out_parts[i] = static_cast<std::uint8_t>(Op::kOutParts[i]); }
    if constexpr (requires { Op::kSavedParts; }) {
      for (std::size_t i = 0; i < Op::kSavedParts.size(); ++i) { r.saved_parts[i] = static_cast<std::uint8_t>(Op::kSavedParts[i]); }
    }
  }
  r.has_scalar = ScalarRule<Op>;
  r.summed = is_summed<Op>();
  return r;
}
}  // namespace detail
template <Rule Op>
inline constexpr RuleInfo kRuleInfo = detail::make_rule_info<Op>();

/// Cut the call into runs and hand them to the rule's loop (src/ops/rule_driver.cc).
void run_rule_forward(const RuleInfo& rule, const void* op, Call& call);
void run_rule_backward(const RuleInfo& rule, const void* op, Call& call);

// ---- the contract ---------------------------------------------------------------------------------

/// One sample call. Tests, benches and the reference page run it.
template <class Op>
struct Example {
  Op op;
  std::vector<Dim> inputs;        ///< shapes of one example each
  double low;                     ///< inputs are drawn uniformly from [low, high]
  double high;
  std::vector<unsigned> indices;  ///< payload
  std::vector<float> values;

  Example(Op o, std::vector<Dim> in, double from = -2.0, double to = 2.0)
      : op(o), inputs(std::move(in)), low(from), high(to) {}
  [[nodiscard]] Example with_indices(std::vector<unsigned> v) && { indices = std::move(v); return std::move(*this); }
  [[nodiscard]] Example with_values(std::vector<float> v) && { values = std::move(v); return std::move(*this); }
};

template <class Op>
concept HasShape = requires(const Op op, const Shapes& in) { { op.shape(in) } -> std::same_as<Dim>; } ||
                   requires(const Op op, const Shapes& in) { { op.shapes(in) } -> std::same_as<std::array<Dim, Op::kOutputs>>; };
template <class Op>
concept HasForwardBackward = requires(const Op op, Call& call) { op.forward(call); op.backward(call); };
template <class Op>
concept Computes = Rule<Op> || HasForwardBackward<Op> || detail::leaf_of<Op>() != Leaf::kNo ||
                   detail::is_alias<Op>();
template <class Op>
concept HasExamples = requires { { Op::examples() } -> std::same_as<std::vector<Example<Op>>>; };

/// The least an operation must say. Each part has its own message (kRecord), so that what is missing
/// is named where the operation is listed.
template <class Op>
concept Operation = std::is_aggregate_v<Op> && std::is_trivially_copyable_v<Op> &&
                    requires { { Op::kInfo } -> std::convertible_to<const Info&>; } &&
                    HasShape<Op> && Computes<Op> && HasExamples<Op>;

/// An operation with its type erased: what the graph and the executor use. Its address is the
/// operation's identity.
struct Record {
  const Info* info;
  std::uint16_t op_bytes;              ///< size of the struct
  std::uint16_t op_align;
  std::uint16_t attr_bytes;            ///< size of all members without padding
  std::uint8_t arg_count;
  std::uint8_t outputs;
  std::uint8_t saved;
  bool variadic, has_whole, aliases, stops_gradient, partial_gradient, random;
  Payload payload;
  Leaf leaf;
  Role roles[kMaxArgs];                ///< of argument i, or i % role_count when variadic
  std::uint8_t role_count;
  const RuleInfo* rule;                ///< null unless a rule
  void (*pack)(const void* op, std::byte* to);             ///< the members' bytes, in order
  void (*shapes)(const void* op, const Shapes& in, Dim* out);
  void (*saved_shapes)(const void* op, const Shapes& in, Dim* out);
  unsigned (*index_limit)(const void* op, const Shapes& in);  ///< null: indices are not limited
  void (*forward)(const void* op, Call& call);
  void (*backward)(const void* op, Call& call);
  std::string (*attrs_text)(const void* op);               ///< "alpha=2.5, d=1"

  [[nodiscard]] Role role(std::size_t arg) const { return roles[variadic ? arg % role_count : arg]; }
};

namespace detail {
std::string text_of(double v);
std::string text_of(const Dim& d);
template <class T>
std::string attr_text(const T& v) {
  if constexpr (std::is_same_v<T, bool>) { return v ? "true" : "false"; }
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) { return text_of(static_cast<double>(v)); }
  else if constexpr (std::is_same_v<T, Dim>) { return text_of(v); }
  else {
    std::string s = "[";
    for (const auto& item : v) { s += (s.size() > 1 ? ", " : "") + attr_text(item); }
    return s + "]";
  }
}
template <class Op>
constexpr std::size_t packed_bytes() {
  Op op{};
  return std::apply([](const auto&... a) { return (std::size_t{0} + ... + sizeof(a)); }, attributes(op));
}
template <class Op>
constexpr Record make_record() {
  static_assert(std::is_aggregate_v<Op>, "an operation is an aggregate: members, no constructor");
  static_assert(requires { { Op::kInfo } -> std::convertible_to<const Info&>; }, "the operation has no kInfo");
  static_assert(AllAttributes<decltype(attributes(std::declval<Op&>()))>::value,
                "an attribute is a plain value; what varies per node is payload or an argument");
  static_assert(count_names(Op::kInfo.attrs) == kAttrCount<Op>, "kInfo.attrs must name every member, and no more");
  static_assert(packed_bytes<Op>() <= kMaxAttrs * sizeof(Dim), "the attributes take too many bytes");
  static_assert(HasShape<Op>, "the operation has no shape(const Shapes&) (or shapes, with kOutputs > 1)");
  static_assert(Computes<Op>, "the operation has neither value and slope, nor forward and backward");
  static_assert(HasExamples<Op>, "the operation has no examples()");
  Record r{};
  r.info = &Op::kInfo;
  r.op_bytes = sizeof(Op);
  r.op_align = alignof(Op);
  r.attr_bytes = static_cast<std::uint16_t>(packed_bytes<Op>());
  r.arg_count = static_cast<std::uint8_t>(kArgCount<Op>);
  r.outputs = static_cast<std::uint8_t>(outputs_of<Op>());
  r.saved = static_cast<std::uint8_t>(saved_of<Op>());
  r.variadic = is_variadic<Op>();
  r.aliases = is_alias<Op>();
  r.stops_gradient = stops_gradient<Op>();
  r.partial_gradient = is_partial<Op>();
  r.random = is_random<Op>();
  r.payload = payload_of<Op>();
  r.leaf = leaf_of<Op>();
  r.role_count = 1;
  for (auto& role : r.roles) { role = Role::kStacked; }
  if constexpr (requires { Op::kRoles; }) {
    static_assert(is_variadic<Op>() || Op::kRoles.size() == kArgCount<Op>, "kRoles must have one role an argument");
    r.role_count = static_cast<std::uint8_t>(Op::kRoles.size());
    for (std::size_t i = 0; i < Op::kRoles.size(); ++i) {
      r.roles[i] = Op::kRoles[i];
      r.has_whole = r.has_whole || Op::kRoles[i] == Role::kWhole;
    }
  }
  r.pack = [](const void* op, std::byte* to) {
    std::apply([&](const auto&... a) { ((std::memcpy(to, &a, sizeof a), to += sizeof a), ...); },
               attributes(*static_cast<const Op*>(op)));
  };
  r.shapes = [](const void* op, const Shapes& in, Dim* out) {
    if constexpr (outputs_of<Op>() == 1) { out[0] = static_cast<const Op*>(op)->shape(in); }
    else {
      const auto all = static_cast<const Op*>(op)->shapes(in);
      for (std::size_t i = 0; i < all.size(); ++i) { out[i] = all[i]; }
    }
  };
  if constexpr (saved_of<Op>() > 0) {
    r.saved_shapes = [](const void* op, const Shapes& in, Dim* out) {
      const auto all = static_cast<const Op*>(op)->saved(in);
      for (std::size_t i = 0; i < all.size(); ++i) { out[i] = all[i]; }
    };
  }
  if constexpr (requires(const Op op, const Shapes& in) { op.index_limit(in); }) {
    r.index_limit = [](const void* op, const Shapes& in) { return static_cast<const Op*>(op)->index_limit(in); };
  }
  if constexpr (Rule<Op>) {
    r.rule = &kRuleInfo<Op>;
    r.forward = [](const void* op, Call& call) { run_rule_forward(kRuleInfo<Op>, op, call); };
    r.backward = [](const void* op, Call& call) { run_rule_backward(kRuleInfo<Op>, op, call); };
  } else if constexpr (HasForwardBackward<Op>) {
    r.forward = [](const void* op, Call& call) { static_cast<const Op*>(op)->forward(call); };
    r.backward = [](const void* op, Call& call) { static_cast<const Op*>(op)->backward(call); };
  }
  r.attrs_text = [](const void* op) {
    std::string s;
    std::size_t i = 0;
    std::apply([&](const auto&... a) {
      ((s += (i ? ", " : "") + std::string(Op::kInfo.attrs[i]) + "=" + attr_text(a), ++i), ...);
    }, attributes(*static_cast<const Op*>(op)));
    return s;
  };
  return r;
}
}  // namespace detail

/// The record of an operation. Programs' own operations get theirs the same way.
template <class Op>
inline constexpr Record kRecord = detail::make_record<Op>();

/// A list of operations.
template <class... Ops>
struct OpList {
  static constexpr std::size_t kSize = sizeof...(Ops);
  static void for_each(auto&& f) { (f.template operator()<Ops>(), ...); }
};
namespace detail {
template <class... Lists> struct Join;
template <class... Ops> struct Join<OpList<Ops...>> { using Type = OpList<Ops...>; };
template <class... A, class... B, class... Rest>
struct Join<OpList<A...>, OpList<B...>, Rest...> { using Type = typename Join<OpList<A..., B...>, Rest...>::Type; };
}  // namespace detail
template <class... Lists>
using JoinLists = typename detail::Join<Lists...>::Type;

}  // namespace dynet::ext
