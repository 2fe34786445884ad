#pragma once

#include "operands.h"

namespace dynet::kernels {

/// ext::Kernels::product in float.
void float_product(const Operand& a, bool a_transposed, const Operand& b, bool b_transposed,
                   const Operand& c, Write write);

}  // namespace dynet::kernels
