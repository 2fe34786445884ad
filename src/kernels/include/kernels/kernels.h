#pragma once

// Kernels: loops over numbers, the implementations of ext::Kernels.
//
// In:  operands, lists of blocks of examples (ext/operand.h), and the arithmetic to do with them.
// Out: numbers, stored or added as each block says.
//
// Two devices. double_kernels() is plain scalar code in double, written to be read: the oracle of
// tests of gradients and float kernels. cpu_kernels() computes in float with SIMD:
//
//   float_kernels.cc   walks blocks, examples and boxes, in plain C++
//   float_product.cc   the same for matrix products: gathers columns, scatters results
//   float_rows.cc      the same for rules over rows: gathers rows that are not evenly spaced
//   simd_*.cc          the loops themselves, compiled once for each SIMD target (Highway) and
//                      collected in a table of function pointers (float_loops.h); targets.h chooses
//                      the target
//   simd_math-inl.h    exp, log, tanh, ... of our own on vectors, each with its error bound; sines,
//                      powers and the gamma function are in simd_functions-inl.h
//   simd_rule-inl.h    evaluates the scalar rules of operations (ext/rule.h) on vectors; src/ops
//                      instantiates it for every operation of the list
//   simd_rows-inl.h    the same for rules over rows (ext/over.h); the passes of a rule over some
//                      rows are in simd_passes-inl.h
//   simd_*_walk.cc     the code that is equal for all rules, compiled once: next elements or rows,
//                      and numbers repeated, added, summed or not wanted. The interfaces of walk
//                      and rule are in simd_elements-inl.h and simd_frame-inl.h
//
// Start reading at double_kernels.cc, then float_kernels.cc, then the loops.
//
// Surprising: an element's result never depends on its place in a run. The rest after whole vectors
// goes through the same vector code, padded, and no product is contracted with a sum unless the
// code says so (-ffp-contract=off). Nothing reads past the end of an operand. Example: of 10
// elements on 8 lanes, the last two go through the code of a whole vector.
//
// Scratch memory (scratch.h) is per thread and only grows, so that a repeated step allocates
// nothing.

#include "dynet/ext/kernels.h"

namespace dynet::kernels {

/// The CPU in float, on the SIMD target of targets.h. Lives as long as the process.
[[nodiscard]] const ext::Kernels& cpu_kernels();
/// The CPU in double: plain loops, the oracle. Random draws equal the draws of the float device, up
/// to rounding. Lives as long as the process.
[[nodiscard]] const ext::Kernels& double_kernels();

}  // namespace dynet::kernels
