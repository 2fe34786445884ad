#include "builders/gate_products.h"

#include "dynet/ext/add_node.h"

namespace dynet::builders {

template <unsigned kGates>
std::array<Expression, kGates> gate_products(std::span<const Expression> list, Where where) {
  const Expression first = ext::add_node(GateProducts<kGates>{}, list, where);
  std::array<Expression, kGates> gates;
  for (unsigned g = 0; g < kGates; ++g) {
    gates[g] = Expression(first.pg, first.i + g, first.graph_id);
  }
  return gates;
}

template std::array<Expression, 2> gate_products<2>(std::span<const Expression>, Where);
template std::array<Expression, 3> gate_products<3>(std::span<const Expression>, Where);

}  // namespace dynet::builders
