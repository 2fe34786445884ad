#pragma once

// Kernels: loops over numbers, the implementations of ext::Kernels.
//
// In:  operands, lists of blocks of examples (ext/operand.h), and what to do with them.
// Out: numbers, stored or added as each block says.
//
// Two devices. double_kernels() is plain scalar code in double, written to be read: it is the
// oracle that gradients and the float kernels are tested against. cpu_kernels() computes in float
// with SIMD:
//
//   float_kernels.cc   walks blocks, examples and boxes, in plain C++
//   float_product.cc   the same for matrix products: gathers columns, scatters results
//   float_rows.cc      the same for rules over rows: gathers rows that do not lie evenly
//   simd_*.cc          the loops themselves, compiled once for each SIMD target (Highway) and
//                      collected in a table of function pointers (float_loops.h); targets.h says
//                      which target
//   simd_math-inl.h    exp, log, tanh, ... of our own on vectors, each with its error bound; sines,
//                      powers and the gamma function are in simd_functions-inl.h
//   simd_rule-inl.h    evaluates the scalar rules of operations (ext/rule.h) on vectors; src/ops
//                      instantiates it for every operation of the list
//   simd_rows-inl.h    the same for rules over rows (ext/over.h); the passes of a rule over some
//                      rows are in simd_passes-inl.h
//   simd_*_walk.cc     what is the same for all rules, and so is compiled once: which elements or
//                      rows are next, what is repeated, added, summed or not wanted. What a walk
//                      and a rule say to each other is in simd_elements-inl.h and simd_frame-inl.h
//
// Start reading at double_kernels.cc, then float_kernels.cc, then the loops.
//
// Surprising: an element's result never depends on where in a run it lies. What remains after whole
// vectors goes through the same vector code, padded, and no product is contracted with a sum unless
// the code says so (-ffp-contract=off). Nothing reads past the end of an operand.
//
// Scratch memory (scratch.h) is per thread and only grows, so that a step that was done before
// allocates nothing.

#include "dynet/ext/kernels.h"

namespace dynet::kernels {

/// The CPU in float, on the SIMD target of targets.h. Lives as long as the process.
[[nodiscard]] const ext::Kernels& cpu_kernels();
/// The CPU in double: plain loops, the oracle. Random draws are those of the float device, up to
/// rounding. Lives as long as the process.
[[nodiscard]] const ext::Kernels& double_kernels();

}  // namespace dynet::kernels
