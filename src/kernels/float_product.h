#pragma once

#include <optional>
#include <span>

#include "operands.h"

namespace dynet::kernels {

/// ext::Kernels::product in float.
void float_product(const Operand& a, bool a_transposed, const Operand& b, bool b_transposed,
                   const Operand& c, Write write);
/// ext::Kernels::transposed_products in float, if one walk can do it; else false, and nothing is
/// done.
[[nodiscard]] bool float_transposed_products(std::span<const ext::Factors> all, const Operand& c,
                                             Write write);
/// ext::Kernels::product_with_norm in float.
std::optional<double> float_product_with_norm(const Operand& a, const Operand& b, const Operand& c);
/// ext::Kernels::product_plus for `a` and `start` shared by all examples.
void float_product_plus(const float* start, const Operand& a, const Operand& b, const Operand& c);

}  // namespace dynet::kernels
