#include "builders/gate_products.h"

#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet::builders {

template <unsigned kGates>
std::array<Expression, kGates> gate_products(std::span<Expression> list, Where where) {
  // shapes() refuses a list that ends in the middle of a term; so such a list is left as it is.
  for (std::size_t term = kGates; term + kGates <= list.size();
       term += GateProducts<kGates>::kTermArgs) {
    for (std::size_t g = 0; g < kGates; ++g) {
      if (list[term + g].pg == nullptr) {
        list[term + g] = list[g];
      }
    }
  }
  return api::outputs<kGates>(
      ext::add_node(GateProducts<kGates>{}, std::span<const Expression>(list), where));
}

template std::array<Expression, 2> gate_products<2>(std::span<Expression>, Where);
template std::array<Expression, 3> gate_products<3>(std::span<Expression>, Where);
template std::array<Expression, 4> gate_products<4>(std::span<Expression>, Where);

}  // namespace dynet::builders
