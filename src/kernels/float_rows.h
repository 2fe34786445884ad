#pragma once

#include "dynet/ext/rows.h"

namespace dynet::kernels {

/// FloatKernels::run_rows. The loops of the SIMD targets want rows that lie evenly; others are
/// gathered first.
void float_rows(const ext::RowRule& rule, ext::Direction direction, const ext::RowCall& call);

}  // namespace dynet::kernels
