// Cutting a group into kernel calls by the storage of its weights.

#include <algorithm>
#include <cstddef>

#include "schedule/plan.h"

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kMaxMaskedArgs = 64;  // bits of Segment::shared

/// Must this argument be one storage within a call? Weights, and one example beside a batch.
bool must_share(const graph::Graph& graph, const graph::Node& node, std::uint32_t a) {
  const ext::Role role = node.record().role(a);
  const NodeId arg = node.args[a];
  if (role == ext::Role::kShared) {
    return graph.dim(arg).bd == 1;
  }  // with a batch: one an example
  if (role != ext::Role::kEither) {
    return false;
  }
  return graph[arg].record().leaf == ext::Leaf::kParameter ||
         graph.dim(arg).bd < node.signature->batch;
}

/// Bit a: the argument has to be equal within a segment. Which arguments have to may differ between
/// members (one has a parameter where another has a computed value), so the mask is the union.
std::uint64_t sharing_mask(const graph::Graph& graph, const std::vector<NodeId>& group) {
  std::uint64_t mask = 0;
  const std::uint32_t arity = std::min(graph[group[0]].arity, kMaxMaskedArgs);
  for (const NodeId n : group) {
    for (std::uint32_t a = 0; a < arity; ++a) {
      if (must_share(graph, graph[n], a)) {
        mask |= std::uint64_t{1} << a;
      }
    }
  }
  return mask;
}

/// Sorts the group so that members with the same shared operands stand together, in order of first
/// appearance; fills `identities` with one number a member that tells the segments apart.
void order_by_identity(const graph::Graph& graph, std::uint64_t mask, Scratch& s) {
  const std::size_t count = s.group.size();
  const auto same = [&](NodeId x, NodeId y) {
    for (std::uint64_t m = mask; m != 0; m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(__builtin_ctzll(m));
      if (graph.identity(graph[x].args[a]) != graph.identity(graph[y].args[a])) {
        return false;
      }
      if (graph.dim(graph[x].args[a]).bd != 1) {
        return false;
      }  // a shared operand has one example
    }
    return true;
  };
  s.identities.assign(count, 0);
  std::uint64_t classes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Few distinct weights in a group: looking back over the heads of the classes is cheap, and the
    // last class is the likeliest.
    std::size_t j = i;
    while (j > 0 && !same(s.group[i], s.group[j - 1])) {
      --j;
    }
    s.identities[i] = j > 0 ? s.identities[j - 1] : classes++;
  }
  if (classes == 1) {
    return;
  }
  std::vector<std::uint32_t>& rank = s.rank;
  rank.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    rank[i] = i;
  }
  std::sort(rank.begin(), rank.end(), [&](std::uint32_t x, std::uint32_t y) {
    return s.identities[x] != s.identities[y] ? s.identities[x] < s.identities[y] : x < y;
  });
  s.sorted.clear();
  s.sorted_identities.clear();
  for (const std::uint32_t i : rank) {
    s.sorted.push_back(s.group[i]);
    s.sorted_identities.push_back(s.identities[i]);
  }
  s.group.swap(s.sorted);
  s.identities.swap(s.sorted_identities);
}

/// Adds to the mask the `either` arguments that happen to be one storage in the whole segment.
std::uint64_t widen(const graph::Graph& graph, std::span<const NodeId> members,
                    std::uint64_t mask) {
  const graph::Node& first = graph[members[0]];
  if (members.size() == 1) {
    return mask;
  }
  const std::uint32_t arity = std::min(first.arity, kMaxMaskedArgs);
  for (std::uint32_t a = 0; a < arity; ++a) {
    if (first.record().role(a) != ext::Role::kEither || ((mask >> a) & 1) != 0) {
      continue;
    }
    // A shared operand has one example.
    if (graph.dim(first.args[a]).bd != 1) {
      continue;
    }
    const std::uint64_t identity = graph.identity(first.args[a]);
    const bool all = std::all_of(members.begin(), members.end(), [&](NodeId n) {
      return graph.identity(graph[n].args[a]) == identity;
    });
    if (all) {
      mask |= std::uint64_t{1} << a;
    }
  }
  return mask;
}

void add_segment(const graph::Graph& graph, std::span<const NodeId> members, std::uint64_t mask,
                 Plan& plan) {
  const auto begin = static_cast<std::uint32_t>(plan.members.size());
  plan.members.insert(plan.members.end(), members.begin(), members.end());
  plan.segments.push_back(
      {begin, static_cast<std::uint32_t>(members.size()), widen(graph, members, mask)});
}

}  // namespace

void add_group(const graph::Graph& graph, Scratch& s, Plan& plan) {
  const auto first_segment = static_cast<std::uint32_t>(plan.segments.size());
  const auto first_member = static_cast<std::uint32_t>(plan.members.size());
  const bool masked = graph[s.group[0]].arity <= kMaxMaskedArgs;
  const std::uint64_t mask = sharing_mask(graph, s.group);
  if (s.group.size() == 1) {
    add_segment(graph, s.group, mask, plan);
  } else if (!masked) {
    for (const NodeId n : s.group) {
      add_segment(graph, {&n, 1}, 0, plan);
    }
  } else {
    if (mask != 0) {
      order_by_identity(graph, mask, s);
    }
    const std::span<const NodeId> all = s.group;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= all.size(); ++i) {
      if (i == all.size() || (mask != 0 && s.identities[i] != s.identities[begin])) {
        add_segment(graph, all.subspan(begin, i - begin), mask, plan);
        begin = i;
      }
    }
  }
  plan.groups.push_back(
      {first_segment, static_cast<std::uint32_t>(plan.segments.size()) - first_segment,
       first_member, static_cast<std::uint32_t>(plan.members.size()) - first_member});
}

}  // namespace dynet::schedule
