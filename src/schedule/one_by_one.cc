#include "schedule/plan.h"

namespace dynet::schedule {

void plan_one_by_one(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& scratch,
                     Plan& plan) {
  for (const NodeId n : wanted) {
    scratch.group.assign(1, n);
    add_group(graph, scratch, plan);
  }
}

void make_plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Policy policy,
               Scratch& scratch, Plan& plan) {
  plan.clear();
  if (policy == Policy::kOneByOne || wanted.size() == 1) {
    plan_one_by_one(graph, wanted, scratch, plan);
  } else {
    plan_by_frontier(graph, wanted, scratch, plan);
  }
}

}  // namespace dynet::schedule
