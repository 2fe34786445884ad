#pragma once

// Operations that are several loops one after the other: memory between them, and rules over rows
// that are no operation by themselves. Such a rule is a struct as in over.h, without shapes and
// texts; its operation names it in `Steps`, so that the SIMD targets and CUDA have its loops:
//
//   using Steps = ext::OpList<BelowTop, SparsemaxThreshold, AboveThreshold>;
//
// A list of all steps of a header stands before its operations, with DYNET_COMPILED.

#include <cstdint>
#include <initializer_list>
#include <span>

#include "dynet/ext/op.h"

namespace dynet::ops {

/// Numbers, or unsigned integers, for the length of a call: `examples` tensors of shape `dim`.
class Between {
 public:
  Between(const ext::Call& call, const Dim& dim, std::int64_t examples,
          ext::SavedAs as = ext::SavedAs::kNumbers)
      : block_{call.scratch(dim.example_elements() * examples *
                            ext::saved_bytes(as, call.kernels.number())),
               examples, true},
        all_{.dim = dim, .examples = examples, .blocks = &block_, .block_count = 1} {}
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): it is an operand
  operator const ext::Operand&() const { return all_; }
  [[nodiscard]] void* data() const { return block_.data; }

 private:
  ext::Block block_;
  ext::Operand all_;
};

/// An operand of this shape that is not there: it reads 0, and nothing is written.
inline ext::Operand nothing(const Dim& dim) { return {.dim = dim}; }

using Operands = std::initializer_list<ext::Operand>;

/// The values of a rule over rows. `out`: all its results; those not wanted may be absent.
template <class Rule>
void forward_step(const Rule& rule, const ext::Call& of, Operands in, Operands out) {
  ext::Call call(of.kernels, of.memory);
  call.examples = of.examples;
  call.in = {in.begin(), in.size()};
  call.out = {out.begin(), out.size()};
  ext::run_rows_forward(ext::kRowRule<Rule>, &rule, call);
}
/// The gradients of a rule over rows, of one output. `results`: all its results.
template <class Rule>
void backward_step(const Rule& rule, const ext::Call& of, Operands in, Operands results,
                   const ext::Operand& d_out, Operands d_in) {
  ext::Call call(of.kernels, of.memory);
  call.examples = of.examples;
  call.in = {in.begin(), in.size()};
  call.out = {results.begin(), results.size()};
  call.d_out = {&d_out, 1};
  call.d_in = {d_in.begin(), d_in.size()};
  ext::run_rows_backward(ext::kRowRule<Rule>, &rule, call);
}

/// Adds `value` at each of the indices of a call that has a list per node, to zeros; an index
/// that stands twice counts twice. One example where all nodes have the same list.
inline void mark_indices(const ext::Call& call, double value, const Between& to) {
  const ext::Operand& marks = to;
  const Between one(call, {1}, 1);
  call.kernels.fill(to.data(), 0.0, marks.size() * marks.examples);
  call.kernels.fill(one.data(), value, 1);
  ext::Move m;
  m.box = call.indices.dim;
  m.index = call.indices;
  m.index_axis = 0;
  m.to_index_stride = 1;
  call.kernels.move(m, one, to, ext::Write::kAdd);
}

}  // namespace dynet::ops
