#include "support/observe.h"

#include <algorithm>

#include "api/graph_state.h"

namespace dynet::testing {

std::string Observed::combination(std::string_view operation, std::string_view pattern,
                                  std::size_t arg, bool shared) {
  std::string s(operation);
  s += ' ';
  s += pattern;
  s += " argument " + std::to_string(arg) + (shared ? " shared" : " per example");
  return s;
}

void Observed::count(const graph::Graph& graph, const execute::Hook::Call& call) {
  for (const graph::NodeId n : call.members) {
    const auto args = graph.args(n);
    const graph::Signature& signature = *graph[n].signature;
    std::string pattern(signature.arity, '-');  // an argument that is absent
    for (std::uint32_t a = 0; a < args.size(); ++a) {
      pattern[signature.argument(a)] = graph.dim(args[a]).bd == 1 ? '1' : 'n';
    }
    if (pattern.empty()) {
      pattern = graph.dim(n).bd == 1 ? "-1" : "-n";
    }
    const std::string_view name = graph[n].record().info->name;
    for (std::size_t a = 0; a < args.size(); ++a) {
      if (((call.args >> a) & 1) != 0) {
        ++(*counts_)[combination(name, pattern, signature.argument(static_cast<std::uint32_t>(a)),
                                 ((call.shared >> a) & 1) != 0)];
      }
    }
    if (args.empty()) {
      ++(*counts_)[combination(name, pattern, 0, false)];
    }
  }
}

void Observed::before_call(const graph::Graph& graph, const execute::Hook::Call& call) {
  calls_.push_back({{call.members.begin(), call.members.end()}, call.shared, call.backward});
  if (counts_ != nullptr && !call.backward && call.members.size() > 1) {
    count(graph, call);
  }
}

bool Observed::together(const Expression& a, const Expression& b) const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const Call& c) {
    const auto has = [&](graph::NodeId n) {
      return std::find(c.members.begin(), c.members.end(), n) != c.members.end();
    };
    return !c.backward && has(a.i) && has(b.i);
  });
}

std::size_t Observed::forward_calls() const {
  return static_cast<std::size_t>(
      std::count_if(calls_.begin(), calls_.end(), [](const Call& c) { return !c.backward; }));
}

void observe(ComputationGraph& cg, execute::Hook* hook) {
  execute::Hooks& hooks = cg.state().executor.hooks();
  hooks.remove_added();
  if (hook != nullptr) {
    hooks.add(*hook);
  }
}

std::size_t joined_sums(ComputationGraph& cg) {
  const execute::Executor& executor = cg.state().executor;
  const execute::History& history = executor.history();
  std::size_t count = 0;
  for (std::uint32_t g = 0; g < history.size(); ++g) {
    const auto members = history.members(g);
    const auto begun = [&](graph::NodeId n) { return executor.values().group_of(n); };
    if (history.group(g).part == schedule::Part::kRest) {
      count += static_cast<std::size_t>(
          std::count_if(members.begin(), members.end(),
                        [&](graph::NodeId n) { return begun(n) != begun(members[0]); }));
    }
  }
  return count;
}

std::size_t groups_of_many_shapes(ComputationGraph& cg) {
  const graph::Graph& graph = cg.state().graph;
  const execute::History& history = cg.state().executor.history();
  std::size_t count = 0;
  for (std::uint32_t g = 0; g < history.size(); ++g) {
    const auto members = history.members(g);
    const Dim first = graph.dim(members[0]).single_batch();
    count += std::any_of(members.begin(), members.end(),
                         [&](graph::NodeId n) { return graph.dim(n).single_batch() != first; });
  }
  return count;
}

unsigned key_of(const Expression& e) { return e.pg->state().graph[e.i].signature->key; }

}  // namespace dynet::testing
