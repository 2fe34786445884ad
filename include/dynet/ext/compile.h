#pragma once

// Compiles the records and the plain loops of operations that other sources see as declarations
// (compiled.h). The source of a family includes this; so does a program that has added operations
// to a family of dynet/ops without building the library again.

#include <array>

#include "dynet/ext/op.h"

namespace dynet::ext {

/// Whether the source that includes this also compiles the loops of an operation for all SIMD
/// targets (src/ops/simd_families.cc.in). Then plain loops over floats would never run.
template <class Op>
inline constexpr bool kHasVectorLoops = false;

template <class Op>
constinit const Record Compiled<Op>::kRecord = detail::make_record<Op>();
template <class Op>
constinit RuleLoops Compiled<Op>::rule_loops = detail::plain_loops<Op, !kHasVectorLoops<Op>>();
template <class Op>
constinit RowLoops Compiled<Op>::row_loops = detail::plain_row_loops<Op, !kHasVectorLoops<Op>>();

/// The records of a family's operations.
template <class... Ops>
constexpr std::array<const Record*, sizeof...(Ops)> records_of(OpList<Ops...> /*list*/) {
  static_assert((kIsCompiled<Ops> && ...), "the family's header must end with DYNET_COMPILED");
  return {&kRecord<Ops>...};
}

}  // namespace dynet::ext
