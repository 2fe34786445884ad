#pragma once

// The operations that the library has compiled. An operation's struct becomes a record and loops
// (op.h, rule_loop.h, row_rule.h). Records and loops of dynet/ops are compiled once, in one source
// per family (compile.h), and all other sources see the declarations below: Tanh in the source of
// activation.h, and nowhere else. A program's own operations are compiled in the sources that use
// them.

namespace dynet::ext {

struct Record;
struct RuleLoops;
struct RowLoops;

/// Are the record and the loops of an operation compiled into the library?
template <class Op>
inline constexpr bool kIsCompiled = false;

/// The form of a rule without some arguments is compiled with the rule.
template <class Form>
  requires requires { typename Form::Whole; }
inline constexpr bool kIsCompiled<Form> = kIsCompiled<typename Form::Whole>;

/// The compiled record and loops of an operation.
template <class Op>
struct Compiled {
  static const Record kRecord;
  static RuleLoops rule_loops;
  static RowLoops row_loops;
};

namespace detail {
template <class Op, class List>
inline constexpr bool kIsListed = false;
template <class Op, template <class...> class List, class... Ops>
inline constexpr bool kIsListed<Op, List<Ops...>> = (__is_same(Op, Ops) || ...);
}  // namespace detail
/// One of the operations of an OpList.
template <class Op, class List>
concept Listed = detail::kIsListed<Op, List>;

}  // namespace dynet::ext

/// Stands at the end of a family's header: the library compiles the operations of this list. Before
/// this line nothing may use a record or a loop of one of them.
#define DYNET_COMPILED(List)               \
  template <::dynet::ext::Listed<List> Op> \
  inline constexpr bool ::dynet::ext::kIsCompiled<Op> = true;

// Clang warns if a variable that another source defines is used.
#ifdef __clang__
// clang-format off
#define DYNET_DEFINED_ELSEWHERE_BEGIN \
  _Pragma("clang diagnostic push") \
  _Pragma("clang diagnostic ignored \"-Wundefined-var-template\"")
// clang-format on
#define DYNET_DEFINED_ELSEWHERE_END _Pragma("clang diagnostic pop")
#else
#define DYNET_DEFINED_ELSEWHERE_BEGIN
#define DYNET_DEFINED_ELSEWHERE_END
#endif
