// Cutting a group into kernel calls by the storage of its weights.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "places.h"
#include "schedule/plan.h"

namespace dynet::schedule {
namespace {

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
std::uint64_t sharing_mask(const graph::Graph& graph, const std::vector<NodeId>& group,
                           std::uint64_t args) {
  const graph::Node& first = graph[group[0]];
  if (!first.record().has_shared) {
    return 0;
  }
  std::uint64_t mask = 0;
  const std::uint32_t arity = std::min(first.arity, kMaxMaskedArgs);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const graph::Node& node = graph[group[i]];
    for (std::uint32_t a = 0; a < arity; ++a) {
      // Mostly the very node that the member before has.
      const bool is_known = i > 0 && node.args[a] == graph[group[i - 1]].args[a];
      if (((args >> a) & 1) != 0 && !is_known && must_share(graph, node, a)) {
        mask |= std::uint64_t{1} << a;
      }
    }
  }
  return mask;
}

/// Finds for each member the first one with the same shared operands.
class Classes {
 public:
  Classes(const graph::Graph& graph, std::uint64_t mask, Scratch& s)
      : graph_(graph), mask_(mask), s_(s) {
    s_.class_heads.clear();
    s_.class_table.clear();
  }

  std::uint32_t of(std::uint32_t member, std::uint32_t before) {
    if (member != 0 && same(member, s_.class_heads[before])) {
      return before;  // the class of the member before is the likeliest
    }
    if (s_.class_heads.size() < kFew) {
      for (std::uint32_t c = 0; c < s_.class_heads.size(); ++c) {
        if (same(member, s_.class_heads[c])) {
          return c;
        }
      }
      s_.class_heads.push_back(member);
      return static_cast<std::uint32_t>(s_.class_heads.size() - 1);
    }
    return find(member);
  }

 private:
  static constexpr std::size_t kFew = 8;

  /// A shared operand has one example.
  [[nodiscard]] bool same(std::uint32_t x, std::uint32_t y) const {
    const NodeId* of_x = graph_[s_.group[x]].args;
    const NodeId* of_y = graph_[s_.group[y]].args;
    for (std::uint64_t m = mask_; m != 0; m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(__builtin_ctzll(m));
      if ((of_x[a] != of_y[a] && graph_.identity(of_x[a]) != graph_.identity(of_y[a])) ||
          graph_.dim(of_x[a]).bd != 1) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t hash(std::uint32_t member) const {
    std::uint64_t h = 0;
    for (std::uint64_t m = mask_; m != 0; m &= m - 1) {
      const NodeId arg = graph_[s_.group[member]].args[__builtin_ctzll(m)];
      h = (h ^ graph_.identity(arg)) * 0x9E3779B97F4A7C15ULL;
    }
    return h >> 20;
  }

  /// Open addressing over the heads, once there are many.
  std::uint32_t find(std::uint32_t member) {
    if (s_.class_table.empty()) {
      s_.class_table.assign(std::bit_ceil(s_.group.size() * 2), kNone);
      for (std::uint32_t c = 0; c < s_.class_heads.size(); ++c) {
        s_.class_table[slot(s_.class_heads[c])] = c;
      }
    }
    const std::size_t at = slot(member);
    if (s_.class_table[at] == kNone) {
      s_.class_table[at] = static_cast<std::uint32_t>(s_.class_heads.size());
      s_.class_heads.push_back(member);
    }
    return s_.class_table[at];
  }
  /// Where the member's class is, or would go.
  [[nodiscard]] std::size_t slot(std::uint32_t member) const {
    const std::size_t mask = s_.class_table.size() - 1;
    std::size_t at = hash(member) & mask;
    while (s_.class_table[at] != kNone && !same(member, s_.class_heads[s_.class_table[at]])) {
      at = (at + 1) & mask;
    }
    return at;
  }

  const graph::Graph& graph_;
  std::uint64_t mask_;
  Scratch& s_;
};

/// Orders the group so that members with the same shared operands stand together, classes in order
/// of first appearance, members of a class as they stood; `running` along with it. `places` tells
/// where each class ends.
void order_by_class(const graph::Graph& graph, std::uint64_t mask, Scratch& s) {
  const std::size_t count = s.group.size();
  Classes classes(graph, mask, s);
  s.classes.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    s.classes[i] = classes.of(i, i == 0 ? 0 : s.classes[i - 1]);
  }
  const std::size_t class_count = s.class_heads.size();
  if (class_count == 1) {
    s.places.assign(1, static_cast<std::uint32_t>(count));
    return;
  }
  find_places(s.classes, class_count, [](std::uint32_t c) { return c; }, s.places);
  s.sorted.resize(count);
  s.sorted_running.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t to = s.places[s.classes[i]]++;
    s.sorted[to] = s.group[i];
    s.sorted_running[to] = s.running[i];
  }
  s.places.resize(class_count);
  s.group.swap(s.sorted);
  s.running.swap(s.sorted_running);
}

/// Adds to the mask the `either` arguments that happen to be one storage in the whole segment.
std::uint64_t widen(const graph::Graph& graph, std::span<const NodeId> members, std::uint64_t mask,
                    std::uint64_t args) {
  const graph::Node& first = graph[members[0]];
  if (members.size() == 1 || !first.record().has_shared) {
    return mask;
  }
  const std::uint32_t arity = std::min(first.arity, kMaxMaskedArgs);
  for (std::uint32_t a = 0; a < arity; ++a) {
    if (first.record().role(a) != ext::Role::kEither || ((mask >> a) & 1) != 0 ||
        ((args >> a) & 1) == 0) {
      continue;
    }
    // A shared operand has one example.
    if (graph.dim(first.args[a]).bd != 1) {
      continue;
    }
    const std::uint64_t identity = graph.identity(first.args[a]);
    const bool all = std::all_of(members.begin(), members.end(), [&](NodeId n) {
      return graph[n].args[a] == first.args[a] || graph.identity(graph[n].args[a]) == identity;
    });
    if (all) {
      mask |= std::uint64_t{1} << a;
    }
  }
  return mask;
}

void add_segment(const graph::Graph& graph, std::span<const NodeId> members, std::uint64_t mask,
                 std::uint64_t args, Plan& plan) {
  const auto begin = static_cast<std::uint32_t>(plan.members.size());
  plan.members.insert(plan.members.end(), members.begin(), members.end());
  plan.segments.push_back(
      {begin, static_cast<std::uint32_t>(members.size()), widen(graph, members, mask, args)});
}

}  // namespace

void add_group(const graph::Graph& graph, Scratch& s, Plan& plan, Part part, std::uint64_t args) {
  const auto first_segment = static_cast<std::uint32_t>(plan.segments.size());
  const auto first_member = static_cast<std::uint32_t>(plan.members.size());
  const bool masked = graph[s.group[0]].arity <= kMaxMaskedArgs;
  const std::uint64_t mask = sharing_mask(graph, s.group, args);
  if (s.group.size() == 1 || (masked && mask == 0)) {
    add_segment(graph, s.group, mask, args, plan);
  } else if (!masked) {
    for (const NodeId n : s.group) {
      add_segment(graph, {&n, 1}, 0, args, plan);
    }
  } else {
    order_by_class(graph, mask, s);
    std::uint32_t begin = 0;
    for (const std::uint32_t end : s.places) {
      add_segment(graph, std::span(s.group).subspan(begin, end - begin), mask, args, plan);
      begin = end;
    }
  }
  plan.groups.push_back(
      {first_segment, static_cast<std::uint32_t>(plan.segments.size()) - first_segment,
       first_member, static_cast<std::uint32_t>(plan.members.size()) - first_member, part, args});
}

}  // namespace dynet::schedule
