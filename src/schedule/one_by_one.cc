#include "groups.h"
#include "schedule/policy.h"

namespace dynet::schedule {
namespace {

/// Every node is a group, in the order in which the program made them.
class OneByOne final : public Policy {
 public:
  void plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) override {
    groups_.add_one_by_one(graph, wanted, plan);
  }

 private:
  GroupMaker groups_;
};

}  // namespace

std::unique_ptr<Policy> make_one_by_one() { return std::make_unique<OneByOne>(); }

}  // namespace dynet::schedule
