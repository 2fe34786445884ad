#pragma once

#include "operands.h"

namespace dynet::kernels {

/// ext::Kernels::move in float.
void float_move(const ext::Move& m, const Operand& x, const Operand& y, Write write);

}  // namespace dynet::kernels
