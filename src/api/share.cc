#include "dynet/share.h"

#include "dynet/dynet.h"

#include "api/graph_state.h"
#include "api/nan.h"

namespace dynet {

SharedValue share_value(const Expression& e) {
  const graph::NodeId n = api::checked_node(e, "share_value");
  api::GraphState& state = e.pg->state();
  return api::exclusively(state, [&] {
    const Tensor& value = api::checked_value(state, n);
    return SharedValue{value, state.executor.share(n)};
  });
}

}  // namespace dynet
