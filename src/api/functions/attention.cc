// Written by tools/generate-api from the operations in dynet/ops/attention.h. Not to be edited.

#include "dynet/ops/attention.h"

#include "dynet/expr/attention.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

template <int>
Expression attention(const Expression& q, const Expression& k, const Expression& v, unsigned heads,
                     bool causal, Where where) {
  return ext::add_node(ops::Attend<false>{heads, causal}, {q, where}, k, v);
}
template Expression attention<>(const Expression& q, const Expression& k, const Expression& v,
                                unsigned heads, bool causal, Where where);

}  // namespace dynet
