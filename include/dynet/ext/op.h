#pragma once

// The contract of an operation: one aggregate struct defines all of it. Example:
//
// clang-format off
//   struct Elu {
//     float alpha = 1.0F;  // members are attributes: they are the identity
//     static constexpr ext::Info kInfo{.name = "elu", .args = {"x"}, .attrs = {"alpha"}, ...};
//     Dim shape(const ext::Shapes& in) const { return in[0]; }
//     DYNET_DEVICE_FN auto value(auto x) const { return select(x > 0, x, alpha * expm1(x)); }
//     DYNET_DEVICE_FN auto slope(auto x, auto y) const { return select(x > 0, 1.0, y + alpha); }
//     static std::vector<ext::Example<Elu>> examples() { return {{{1.0F}, {{4, 3}}}}; }
//   };
//
// The struct is enough for the batch key, merging, printing, the CPU loop, the CUDA kernel, the
// Python function, the documentation and the suite of tests. For an operation of the library, three
// tables want a line each (CONTRIBUTING.md, "Adding an operation").
//
// The arithmetic is one of
//   value(x), slope(x, y)           elementwise, one argument
//   value(x, s), slope(x, s, y)     the same with a number s per node, which is payload (kPayload =
//                                   kValues, and a name in kInfo.payload)
//   value(a, b), slopes(a, b, y)    elementwise, broadcasting; slopes returns each(dy/da, dy/db)
//   value(parts...), pull(parts..., outs..., saved..., d_outs...)
//                                   a cell: arguments cut into kParts pieces, several results; both
//                                   return each(...); pull gives the gradient of each part
//   value(args...), pull(args..., outs..., saved..., d_outs...)
//                                   over rows (over.h): with kAlong and row_axes(); both return
//                                   each(...); a payload follows the arguments
//   forward(Call&), gradient(to)    anything else, over the loops of kernels.h; the gradients in
//                                   operations (gradient.h), or backward(Call&), or both
//
// clang-format on
//
// Optional members (properties.h) say the rest, such as any number of arguments, several results or
// a payload.
//
// A struct that contradicts itself does not compile; the message names the operation and the member
// (contract.h). While forward or backward runs, Call::scratch gives memory. Operands and scratch
// memory are the device's: only an operation that says kOnHost may follow a pointer into them.
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
#include "dynet/ext/attributes.h"
#include "dynet/ext/compiled.h"
#include "dynet/ext/contract.h"
#include "dynet/ext/gradient.h"
#include "dynet/ext/gradient_run.h"
#include "dynet/ext/info.h"
#include "dynet/ext/properties.h"
#include "dynet/ext/row_rule.h"
#include "dynet/ext/rule_loop.h"

namespace dynet::ext {

/// The arguments of an operation in an example.
struct ExampleCall {
  std::vector<Dim> inputs;  ///< shapes of one example each
  double low;               ///< inputs are drawn uniformly from [low, high]
  double high;
  std::vector<unsigned> indices = {};  ///< payload
  std::vector<float> values = {};
};
/// One sample call. Tests, benches and the reference page run it.
template <class Op>
struct Example : ExampleCall {
  Op op;

  Example(Op o, std::vector<Dim> in, double from = -2.0, double to = 2.0)
      : ExampleCall{std::move(in), from, to}, op(o) {}
  [[nodiscard]] Example with_indices(std::vector<unsigned> v) && {
    indices = std::move(v);
    return std::move(*this);
  }
  [[nodiscard]] Example with_values(std::vector<float> v) && {
    values = std::move(v);
    return std::move(*this);
  }
};

/// An operation with its type erased, for the graph and the executor. The address of the record is
/// the operation's identity.
struct Record {
  const Info* info;
  std::uint16_t op_bytes;  ///< size of the struct
  std::uint16_t op_align;
  std::uint16_t attr_bytes;  ///< size of all members without padding
  std::uint8_t arg_count;
  std::uint8_t outputs;
  std::uint8_t saved;
  std::uint8_t term_args;              ///< sums: arguments of each term; 0: no sum
  std::uint8_t head_args, state_args;  ///< sums: arguments before the terms, in this order
  std::uint32_t state_vectors;         ///< bit i: state argument i is no weight
  bool saves_sums;                     ///< the sums are saved outputs, not results
  bool variadic, has_whole, has_shared, aliases, stops_gradient, partial_gradient, random;
  bool for_training;
  bool surrogate_gradient;
  bool adds_arguments;
  bool minus_infinity;
  Payload payload;
  IndicesPer indices_per;
  SavedAs saved_as[kMaxSaved];
  bool payload_is_value;
  Storage reads_storage;
  GradientTo gradient_goes_to;
  bool has_optional;
  std::uint8_t optional[kMaxArgs];  ///< group of argument i; 0: it is always there
  Role roles[kMaxArgs];             ///< of argument i; variadic: the pattern, repeated
  std::uint8_t role_count;
  const RuleInfo* rule;                         ///< null unless a rule
  const RowRule* row_rule;                      ///< null unless a rule over rows
  void (*pack)(const void* op, std::byte* to);  ///< the members' bytes, in order
  void (*shapes)(const void* op, const Shapes& in, Dim* out);
  void (*saved_shapes)(const void* op, const Shapes& in, Dim* out);
  unsigned (*index_limit)(const void* op, const Shapes& in);  ///< null: indices are not limited
  unsigned (*index_count)(const void* op);                    ///< indices per example; null: one
  /// Whether it reads argument `arg` of this shape column by column; null: it never does.
  bool (*by_columns)(const void* op, std::size_t arg, const Dim& shape);
  bool (*trainable)(const void* op);  ///< null: there is nothing to train
  void (*forward)(const void* op, Call& call);
  void (*backward)(const void* op, Call& call);
  detail::AddGradient gradient;               ///< adds backward as nodes; null: nothing can
  std::string (*attrs_text)(const void* op);  ///< "alpha=2.5, d=1"

  /// Does a number enter the graph here? The library writes the value; there is no forward.
  [[nodiscard]] constexpr bool is_leaf() const {
    return payload_is_value || reads_storage != Storage::kNone;
  }
  /// May argument `arg` be absent?
  [[nodiscard]] bool is_optional(std::size_t arg) const {
    return has_optional && arg < arg_count && optional[arg] != 0;
  }
  [[nodiscard]] Role role(std::size_t arg) const {
    return roles[arg < kMaxArgs ? arg : arg % role_count];
  }
};

namespace detail {
std::string text_of(double v);
std::string text_of(const Dim& d);
template <class T>
std::string attr_text(const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return text_of(static_cast<double>(v));
  } else if constexpr (std::is_same_v<T, Dim>) {
    return text_of(v);
  } else {
    std::string s = "[";
    for (const auto& item : v) {
      s += (s.size() > 1 ? ", " : "") + attr_text(item);
    }
    return s + "]";
  }
}
/// The elements of each saved output.
template <class Op>
std::span<const SavedAs> saved_kinds() {
  static constexpr std::array<SavedAs, kMaxSaved> kNumbers{};
  if constexpr (requires { Op::kSavedAs; }) {
    return Op::kSavedAs;
  } else {
    return kNumbers;
  }
}
template <class Op>
constexpr void fill_properties(Record& r) {
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
  r.surrogate_gradient = has_surrogate_gradient<Op>();
  r.partial_gradient = is_partial<Op>();
  r.random = is_random<Op>();
  r.for_training = is_for_training<Op>();
  r.term_args = static_cast<std::uint8_t>(term_args<Op>());
  r.head_args =
      static_cast<std::uint8_t>(head_args<Op>() != 0 ? head_args<Op>() : outputs_of<Op>());
  r.saves_sums = head_args<Op>() != 0;
  r.state_args = static_cast<std::uint8_t>(state_args<Op>());
  r.state_vectors = state_vectors<Op>();
  r.adds_arguments = adds_arguments<Op>();
  r.minus_infinity = gives_minus_infinity<Op>();
  r.payload = payload_of<Op>();
  r.indices_per = indices_per<Op>();
  if constexpr (requires { Op::kSavedAs; }) {
    for (std::size_t k = 0; k < Op::kSavedAs.size(); ++k) {
      r.saved_as[k] = Op::kSavedAs[k];
    }
  }
  r.payload_is_value = payload_is_value<Op>();
  r.reads_storage = reads_storage<Op>();
  r.gradient_goes_to = gradient_goes_to<Op>();
  if constexpr (requires(const Op op) { op.is_trainable(); }) {
    r.trainable = [](const void* op) { return static_cast<const Op*>(op)->is_trainable(); };
  }
  r.role_count = 1;
  for (auto& role : r.roles) {
    role = Role::kStacked;
  }
  if constexpr (requires { Op::kRoles; }) {
    r.role_count = static_cast<std::uint8_t>(Op::kRoles.size());
    for (std::size_t i = 0; i < (is_variadic<Op>() ? kMaxArgs : Op::kRoles.size()); ++i) {
      const Role role = Op::kRoles[i % Op::kRoles.size()];
      r.roles[i] = role;
      r.has_whole = r.has_whole || role == Role::kWhole;
      r.has_shared = r.has_shared || role == Role::kShared || role == Role::kEither;
    }
  }
}
template <class Op>
constexpr void fill_optional(Record& r) {
  if constexpr (requires { Op::kOptional; }) {
    r.has_optional = true;
    for (std::size_t i = 0; i < Op::kOptional.size(); ++i) {
      r.optional[i] = static_cast<std::uint8_t>(Op::kOptional[i]);
    }
  }
}
template <class Op>
constexpr void fill_shapes(Record& r) {
  r.pack = [](const void* op, std::byte* to) {
    std::apply([&](const auto&... a) { ((std::memcpy(to, &a, sizeof a), to += sizeof a), ...); },
               attributes(*static_cast<const Op*>(op)));
  };
  r.shapes = [](const void* op, const Shapes& in, Dim* out) {
    if constexpr (outputs_of<Op>() == 1) {
      out[0] = static_cast<const Op*>(op)->shape(in);
    } else {
      const auto all = static_cast<const Op*>(op)->shapes(in);
      for (std::size_t i = 0; i < all.size(); ++i) {
        out[i] = all[i];
      }
    }
  };
  if constexpr (saved_of<Op>() > 0) {
    r.saved_shapes = [](const void* op, const Shapes& in, Dim* out) {
      const auto all = static_cast<const Op*>(op)->saved(in);
      for (std::size_t i = 0; i < all.size(); ++i) {
        out[i] = all[i];
      }
    };
  }
  if constexpr (requires(const Op op, const Shapes& in) { op.index_limit(in); }) {
    r.index_limit = [](const void* op, const Shapes& in) {
      return static_cast<const Op*>(op)->index_limit(in);
    };
  }
  if constexpr (requires(const Op op) { op.index_count(); }) {
    r.index_count = [](const void* op) { return static_cast<const Op*>(op)->index_count(); };
  }
  if constexpr (requires(const Op op, const Dim& d) { op.by_columns(0, d); }) {
    r.by_columns = [](const void* op, std::size_t arg, const Dim& shape) {
      return static_cast<const Op*>(op)->by_columns(arg, shape);
    };
  }
}
/// Backward of an operation that is no rule: `backward`, or else the run of gradient(to).
template <class Op>
void run_backward(const Op& op, Call& call) {
  if constexpr (HasBackward<Op>) {
    op.backward(call);
  } else {
    GradientRun<Op> to(call);
    op.gradient(to);
  }
}
template <class Op>
constexpr void fill_computing(Record& r) {
  if constexpr (Rule<Op>) {
    r.rule = &kRuleInfo<Op>;
    r.forward = [](const void* op, Call& call) {
      call.kernels.run_call(*kForms<Op>[call.absent], Direction::kForward, op, call);
    };
    r.backward = [](const void* op, Call& call) {
      call.kernels.run_call(*kForms<Op>[call.absent], Direction::kBackward, op, call);
    };
  } else if constexpr (RowOperation<Op>) {
    r.row_rule = &kRowRule<Op>;
    r.forward = [](const void* op, Call& call) {
      call.kernels.run_rows_call(kRowRule<Op>, Direction::kForward, op, call);
    };
    r.backward = [](const void* op, Call& call) {
      call.kernels.run_rows_call(kRowRule<Op>, Direction::kBackward, op, call);
    };
  } else if constexpr (HasForwardBackward<Op>) {
    if constexpr (computes_on_host<Op>()) {
      r.forward = [](const void* op, Call& call) {
        call_on_host(call, Direction::kForward, saved_kinds<Op>(), op,
                     [](const void* of, Call& c) { static_cast<const Op*>(of)->forward(c); });
      };
      r.backward = [](const void* op, Call& call) {
        call_on_host(call, Direction::kBackward, saved_kinds<Op>(), op,
                     [](const void* of, Call& c) { run_backward(*static_cast<const Op*>(of), c); });
      };
    } else {
      r.forward = [](const void* op, Call& call) { static_cast<const Op*>(op)->forward(call); };
      r.backward = [](const void* op, Call& call) {
        run_backward(*static_cast<const Op*>(op), call);
      };
    }
  }
}
template <class Op>
constexpr void fill_text(Record& r) {
  r.attrs_text = [](const void* op) {
    std::string s;
    std::size_t i = 0;
    std::apply(
        [&](const auto&... a) {
          ((s += (i ? ", " : "") + std::string(Op::kInfo.attrs[i]) + "=" + attr_text(a), ++i), ...);
        },
        attributes(*static_cast<const Op*>(op)));
    return s;
  };
}
template <class Op>
constexpr Record make_record() {
  static_assert(contract::holds<Op>(), "the operation does not keep the contract of ext/op.h");
  Record r{};
  fill_properties<Op>(r);
  fill_optional<Op>(r);
  fill_shapes<Op>(r);
  fill_computing<Op>(r);
  r.gradient = gradient_of<Op>();
  fill_text<Op>(r);
  return r;
}
}  // namespace detail

namespace detail {
template <class Op>
inline constexpr Record kOwnRecord = make_record<Op>();
DYNET_DEFINED_ELSEWHERE_BEGIN
template <class Op>
constexpr const Record& record_of() {
  if constexpr (kIsCompiled<Op>) {
    return Compiled<Op>::kRecord;
  } else {
    return kOwnRecord<Op>;
  }
}
DYNET_DEFINED_ELSEWHERE_END
}  // namespace detail

/// The record of an operation: compiled in the library, or the record of a program's own operation.
template <class Op>
inline constexpr const Record& kRecord = detail::record_of<Op>();

/// A list of operations.
template <class... Ops>
struct OpList {
  static constexpr std::size_t kSize = sizeof...(Ops);
  static void for_each(auto&& f) { (f.template operator()<Ops>(), ...); }
};
namespace detail {
template <class... Lists>
struct Join;
template <class... Ops>
struct Join<OpList<Ops...>> {
  using Type = OpList<Ops...>;
};
template <class... A, class... B, class... Rest>
struct Join<OpList<A...>, OpList<B...>, Rest...> {
  using Type = typename Join<OpList<A..., B...>, Rest...>::Type;
};
}  // namespace detail
template <class... Lists>
using JoinLists = typename detail::Join<Lists...>::Type;

namespace detail {
template <class Op>
auto steps_of() {
  if constexpr (requires { typename Op::Steps; }) {
    return typename Op::Steps();
  } else {
    return OpList<>();
  }
}
template <class List>
struct AddSteps;
template <class... Ops>
struct AddSteps<OpList<Ops...>> {
  using Type = JoinLists<OpList<Ops...>, decltype(steps_of<Ops>())...>;
};
}  // namespace detail
/// A list with the rules over rows that its operations run as steps. A rule may be in the list
/// twice.
template <class List>
using WithSteps = typename detail::AddSteps<List>::Type;

}  // namespace dynet::ext
