#pragma once

#include <optional>

#include "operands.h"

namespace dynet::kernels {

/// ext::Kernels::product in float.
void float_product(const Operand& a, bool a_transposed, const Operand& b, bool b_transposed,
                   const Operand& c, Write write);
/// ext::Kernels::product_with_norm in float.
std::optional<double> float_product_with_norm(const Operand& a, const Operand& b, const Operand& c);
/// ext::Kernels::product_plus where `a` and `start` are shared by all examples.
void float_product_plus(const float* start, const Operand& a, const Operand& b, const Operand& c);

}  // namespace dynet::kernels
