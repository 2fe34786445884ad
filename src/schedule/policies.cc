// The table of policies, from the words in CMakeLists.txt, and who chooses from it.

#include <string>

#include "dynet/except.h"

#include "schedule/policy.h"

namespace dynet::schedule {

#define DYNET_POLICY(name) std::unique_ptr<Policy> make_##name();
DYNET_POLICIES
#undef DYNET_POLICY

namespace {
#define DYNET_POLICY(name) PolicyEntry{#name, make_##name},
constexpr PolicyEntry kPolicies[] = {DYNET_POLICIES};
#undef DYNET_POLICY
}  // namespace

std::span<const PolicyEntry> policies() { return kPolicies; }

const PolicyEntry& find_policy(std::string_view name) {
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.name == name) {
      return entry;
    }
  }
  std::string known;
  for (const PolicyEntry& entry : kPolicies) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw errors::ValueError("batching policy \"" + std::string(name) +
                           "\": there is none of this name; " + "want one of " + known);
}

Scheduler::Scheduler() : made_(policies().size()) { choose(kBatching); }

void Scheduler::choose(std::string_view name) {
  chosen_ = static_cast<std::size_t>(&find_policy(name) - kPolicies);
}

void Scheduler::plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) {
  plan.clear();
  std::unique_ptr<Policy>& policy = made_[chosen_];
  if (policy == nullptr) {
    policy = policies()[chosen_].make();
  }
  try {
    policy->plan(graph, wanted, plan);
  } catch (...) {
    policy.reset();
    throw;
  }
  if (graph.interner().spans_devices()) {
    device_order_.arrange(graph, plan);
  }
}

}  // namespace dynet::schedule
