#pragma once

// Rules over rows that are steps of an operation, and no operation by themselves. Such a rule is a
// struct as in over.h, without shapes and texts; its operation names it in `Steps`, so that the
// SIMD targets and CUDA have its loops:
//
//   using Steps = ext::OpList<BelowTop, SparsemaxThreshold, AboveThreshold>;
//
// A list of all steps of a header stands before its operations, with DYNET_COMPILED.

#include <cstdint>
#include <initializer_list>
#include <span>

#include "dynet/ext/op.h"
#include "dynet/ops/parts.h"

namespace dynet::ops {

/// An operand of this shape that is not there: it reads 0, and nothing is written.
inline ext::Operand nothing(const Dim& dim) { return {.dim = dim}; }

using Operands = std::initializer_list<ext::Operand>;

/// The values of a rule over rows. `out`: all its results; unwanted ones may be absent.
template <class Rule>
void forward_step(const Rule& rule, const ext::Call& of, Operands in, Operands out) {
  ext::Call call(of.kernels, of.memory);
  call.examples = of.examples;
  call.in = {in.begin(), in.size()};
  call.out = {out.begin(), out.size()};
  of.kernels.run_rows_call(ext::kRowRule<Rule>, ext::Direction::kForward, &rule, call);
}

/// Adds `value` at each of the indices of a call that has a list per node, to zeros; an index
/// that stands twice counts twice. One example if all nodes have the same list.
inline void mark_indices(const ext::Call& call, double value, const ScratchOperand& to) {
  const ScratchOperand one(call, {1}, 1);
  to.fill(call.kernels, 0.0);
  one.fill(call.kernels, value);
  ext::Move m;
  m.box = call.indices.dim;
  m.index = call.indices;
  m.index_axis = 0;
  m.to_index_stride = 1;
  call.kernels.move(m, one, to, ext::Write::kAdd);
}

}  // namespace dynet::ops
