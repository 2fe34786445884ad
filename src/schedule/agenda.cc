// The batching policy: run, of all keys that have ready nodes, the one whose remaining nodes lie at
// the lowest mean depth. Neubig et al., 2017 ("On-the-fly operation batching in dynamic computation
// graphs"). A frontier policy with fewer groups comes with the scheduler's own issue.

#include <algorithm>

#include "schedule/plan.h"

namespace dynet::schedule {
namespace {

/// Index among the wanted nodes of the node that computes `n`, + 1; 0 where it is computed already.
std::uint32_t local_of(const graph::Graph& graph, const Scratch& s, NodeId n) {
  return s.local[graph.owner(n)];
}

/// Types (one a key, one a node that runs alone), depths, and for each node its users.
void collect(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& s) {
  const std::size_t count = wanted.size();
  s.local.resize(graph.size());
  s.type_of_key.resize(std::max(s.type_of_key.size(), graph.interner().key_count()), 0);
  s.waiting.assign(count, 0);
  s.depth.assign(count, 0);
  s.type.assign(count, 0);
  s.users_begin.assign(count + 1, 0);
  s.types.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    s.local[wanted[i]] = i + 1;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const graph::Node& node = graph[wanted[i]];
    for (const NodeId a : graph.args(wanted[i])) {
      const std::uint32_t arg = local_of(graph, s, a);
      if (arg == 0) {
        continue;
      }
      ++s.waiting[i];
      ++s.users_begin[arg];  // counts now, offsets after the prefix sum
      s.depth[i] = std::max(s.depth[i], s.depth[arg - 1] + 1);
    }
    const graph::KeyId key = node.signature->key;
    if (s.type_of_key[key] == 0 || node.signature->alone) {
      s.types.push_back({.key = key, .alone = node.signature->alone});
      if (!node.signature->alone) {
        s.type_of_key[key] = static_cast<std::uint32_t>(s.types.size());
      }
      s.type[i] = static_cast<std::uint32_t>(s.types.size() - 1);
    } else {
      s.type[i] = s.type_of_key[key] - 1;
    }
    ++s.types[s.type[i]].unrun;
    s.types[s.type[i]].depth_sum += s.depth[i];
  }
  for (const Scratch::Type& t : s.types) {
    s.type_of_key[t.key] = 0;
  }
}

void list_users(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& s) {
  const std::size_t count = wanted.size();
  for (std::size_t i = 0; i < count; ++i) {
    s.users_begin[i + 1] += s.users_begin[i];
  }
  s.users.resize(s.users_begin[count]);
  s.next.assign(s.users_begin.begin(), s.users_begin.end());  // where the next user of each goes
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const NodeId a : graph.args(wanted[i])) {
      const std::uint32_t arg = local_of(graph, s, a);
      if (arg != 0) {
        s.users[s.next[arg - 1]++] = i;
      }
    }
  }
}

void make_ready(Scratch& s, std::uint32_t node) {
  Scratch::Type& t = s.types[s.type[node]];
  s.next[node] = t.ready_head;
  t.ready_head = node + 1;
  ++t.ready;
}

/// The type to run next: lowest mean depth; all its ready nodes form a group.
std::uint32_t best_type(const Scratch& s, const std::vector<std::uint32_t>& candidates) {
  std::uint32_t best = 0;
  for (std::uint32_t c = 1; c < candidates.size(); ++c) {
    const Scratch::Type& a = s.types[candidates[c]];
    const Scratch::Type& b = s.types[candidates[best]];
    if (a.depth_sum * b.unrun < b.depth_sum * a.unrun) {
      best = c;
    }
  }
  return best;
}

/// Takes the ready nodes of a type into `group`, ascending, as ids.
void take_ready(const std::vector<NodeId>& wanted, Scratch& s, Scratch::Type& t) {
  s.group.clear();
  for (std::uint32_t i = t.ready_head; i != 0; i = s.next[i - 1]) {
    s.group.push_back(wanted[i - 1]);
  }
  std::sort(s.group.begin(), s.group.end());
  for (const NodeId n : s.group) {
    t.depth_sum -= s.depth[s.local[n] - 1];
  }
  t.unrun -= static_cast<std::uint32_t>(s.group.size());
  t.ready_head = 0;
  t.ready = 0;
}

}  // namespace

void plan_by_agenda(const graph::Graph& graph, const std::vector<NodeId>& wanted, Scratch& s,
                    Plan& plan) {
  collect(graph, wanted, s);
  if (s.types.size() == wanted.size()) {  // nothing to merge: no price for looking further
    for (const NodeId n : wanted) {
      s.local[n] = 0;
    }
    plan_one_by_one(graph, wanted, s, plan);
    return;
  }
  list_users(graph, wanted, s);
  s.next.assign(wanted.size(), 0);
  std::vector<std::uint32_t>& candidates = s.order;
  candidates.clear();
  const auto ready = [&](std::uint32_t node) {
    if (s.types[s.type[node]].ready == 0) {
      candidates.push_back(s.type[node]);
    }
    make_ready(s, node);
  };
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    if (s.waiting[i] == 0) {
      ready(i);
    }
  }
  while (!candidates.empty()) {
    const std::uint32_t at = best_type(s, candidates);
    Scratch::Type& t = s.types[candidates[at]];
    candidates[at] = candidates.back();
    candidates.pop_back();
    take_ready(wanted, s, t);
    const std::size_t first = plan.members.size();
    add_group(graph, s, plan);
    for (std::size_t m = first; m < plan.members.size(); ++m) {
      const std::uint32_t node = s.local[plan.members[m]] - 1;
      for (std::uint32_t u = s.users_begin[node]; u < s.users_begin[node + 1]; ++u) {
        if (--s.waiting[s.users[u]] == 0) {
          ready(s.users[u]);
        }
      }
    }
  }
  for (const NodeId n : wanted) {
    s.local[n] = 0;
  }
}

}  // namespace dynet::schedule
