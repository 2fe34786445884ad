// Cutting a group into kernel calls by the storage of its weights.

#include "groups.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "places.h"
#include "terms.h"
#include "util/reserve.h"

namespace dynet::schedule {
namespace {

/// So many calls are worth it for a weight that is read once in each.
constexpr std::size_t kFewWeights = 8;

/// Is Graph::identity that of a node, and not of a storage?
constexpr bool is_node(std::uint64_t identity) { return (identity >> 63) != 0; }

/// Must this argument, which may, be one storage within a call? Weights, and one example beside a
/// batch.
[[gnu::always_inline]] inline bool must_share(const graph::Graph& graph, const graph::Node& node,
                                              std::uint32_t a) {
  const graph::Node& arg = graph[node.args[a]];
  if (node.signature->role(a) == ext::Role::kShared) {
    return arg.examples == 1;
  }  // with a batch: one an example
  return arg.record().reads_storage == ext::Storage::kWhole || arg.examples < node.signature->batch;
}

/// The mask of a node that runs by itself.
[[gnu::always_inline]] inline std::uint64_t mask_of_one(const graph::Graph& graph,
                                                        const graph::Node& node) {
  const graph::Signature& signature = *node.signature;
  std::uint64_t mask = signature.may_share & signature.parameters;
  for (std::uint64_t m = signature.may_share & ~mask; m != 0; m &= m - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
    mask |= std::uint64_t{must_share(graph, node, a)} << a;
  }
  return mask;
}

/// Bit a: the argument has to be one storage within a segment of some member. Others may have a
/// computed value there, which is stacked in segments of its own.
std::uint64_t sharing_mask(const graph::Graph& graph, std::span<const NodeId> group,
                           std::uint64_t args) {
  const std::uint64_t asked = graph[group[0]].signature->may_share & args;
  std::uint64_t mask = 0;
  for (std::size_t i = 0; asked != 0 && i < group.size(); ++i) {
    const graph::Node& node = graph[group[i]];
    mask |= node.signature->parameters & asked;
    for (std::uint64_t m = asked & ~mask; m != 0; m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
      // Mostly the very node that the member before has.
      const bool is_known = i > 0 && node.args[a] == graph[group[i - 1]].args[a];
      mask |= std::uint64_t{!is_known && must_share(graph, node, a)} << a;
    }
  }
  return mask;
}

/// Bit a: the members have a computed weight there, a matrix that is not in `must`.
std::uint64_t computed_weights(const graph::Graph& graph, const graph::Node& first,
                               std::uint64_t must, std::uint64_t args) {
  const std::uint32_t arity = std::min(first.arity, kMaxMaskedArgs);
  std::uint64_t mask = 0;
  if (arity == 0) {
    return mask;
  }
  const std::uint64_t all = ~std::uint64_t{0} >> (kMaxMaskedArgs - arity);
  const std::uint64_t weights = Terms(first.record()).weights() & all;
  for (std::uint64_t m = weights & ~must & args; m != 0; m &= m - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
    if (graph[first.args[a]].examples == 1 && graph.dim(first.args[a]).nd == 2) {
      mask |= std::uint64_t{1} << a;
    }
  }
  return mask;
}

/// Adds to the mask the `either` arguments that happen to be one storage in the whole segment.
std::uint64_t widen(const graph::Graph& graph, std::span<const NodeId> members, std::uint64_t mask,
                    std::uint64_t args) {
  const graph::Node& first = graph[members[0]];
  const std::uint64_t asked = first.signature->may_share & args & ~mask;
  for (std::uint64_t m = members.size() == 1 ? 0 : asked; m != 0; m &= m - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
    // A shared operand has one example.
    if (first.signature->role(a) != ext::Role::kEither || graph.dim(first.args[a]).bd != 1) {
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
  util::reserve_more(plan.members, members.size());
  for (const NodeId m : members) {  // most groups are so small that a call would cost more
    plan.members.push_back(m);
  }
  plan.segments.push_back(
      {begin, static_cast<std::uint32_t>(members.size()), widen(graph, members, mask, args)});
}

}  // namespace

/// Finds for each member its class: the number of the first member with the same shared operands,
/// among such first members. A class becomes a segment. `weights` are computed and count as shared.
class GroupMaker::Classes {
 public:
  Classes(const graph::Graph& graph, std::span<const NodeId> nodes, std::uint64_t must,
          std::uint64_t weights, GroupMaker& buffers)
      : graph_(graph),
        nodes_(nodes),
        mask_(must | weights),
        weights_(weights),
        heads_(buffers.class_heads_),
        table_(buffers.class_table_) {
    heads_.clear();
    table_.clear();
  }

  /// The class of the member before is the likeliest, and the class behind it comes next, because
  /// gates stand in turns. Few classes are compared in this order, of many only these two.
  std::uint32_t of(std::uint32_t member, std::uint32_t before) {
    if (member != 0 && same(member, heads_[before])) {
      return before;
    }
    const auto count = static_cast<std::uint32_t>(heads_.size());
    const std::uint32_t most = count < kFew ? count : 2;
    std::uint32_t c = before;
    for (std::uint32_t compared = 1; compared < most; ++compared) {
      c = c + 1 < count ? c + 1 : 0;
      if (same(member, heads_[c])) {
        return c;
      }
    }
    if (count < kFew) {
      heads_.push_back(member);
      return count;
    }
    return find(member);
  }

 private:
  static constexpr std::uint32_t kFew = 8;

  [[nodiscard]] bool same(std::uint32_t x, std::uint32_t y) const {
    const graph::Node& node_x = graph_[nodes_[x]];
    const graph::Node& node_y = graph_[nodes_[y]];
    const NodeId* of_x = node_x.args;
    const NodeId* of_y = node_y.args;
    const bool shares = node_x.shares_parameters(node_y);
    for (std::uint64_t m = mask_ & (shares ? node_x.signature->own_args : kAllArgs); m != 0;
         m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
      if (of_x[a] == of_y[a]) {
        continue;
      }
      const std::uint64_t id_x = graph_.identity(of_x[a]);
      const std::uint64_t id_y = graph_.identity(of_y[a]);
      if (id_x != id_y && (!is_node(id_x) || !is_node(id_y) || !stack(x, y, a))) {
        return false;
      }
    }
    return true;
  }

  /// Members that both stack their argument may stand together.
  [[nodiscard, gnu::noinline]] bool stack(std::uint32_t x, std::uint32_t y, std::uint32_t a) const {
    return !is_shared(graph_[nodes_[x]], a) && !is_shared(graph_[nodes_[y]], a);
  }
  [[nodiscard]] bool is_shared(const graph::Node& node, std::uint32_t a) const {
    return ((weights_ >> a) & 1) != 0 || must_share(graph_, node, a);
  }

  [[nodiscard]] std::uint64_t hash(std::uint32_t member) const {
    std::uint64_t h = 0;
    const graph::Node& node = graph_[nodes_[member]];
    for (std::uint64_t m = mask_; m != 0; m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
      if (is_shared(node, a)) {
        h = (h ^ graph_.identity(node.args[a])) * 0x9E3779B97F4A7C15ULL;
      }
    }
    return h >> 20;
  }

  /// By a table of the heads, once there are many.
  std::uint32_t find(std::uint32_t member) {
    if (table_.size() == 0) {
      for (std::uint32_t c = 0; c < heads_.size(); ++c) {
        table_.insert(hash(heads_[c]), c);
      }
    }
    const std::uint64_t h = hash(member);
    std::uint32_t c = table_.find(h, [&](std::uint32_t k) { return same(member, heads_[k]); });
    if (c == util::IndexTable::kNone) {
      c = static_cast<std::uint32_t>(heads_.size());
      table_.insert(h, c);
      heads_.push_back(member);
    }
    return c;
  }

  const graph::Graph& graph_;
  std::span<const NodeId> nodes_;
  std::uint64_t mask_;
  std::uint64_t weights_;
  std::vector<std::uint32_t>& heads_;
  util::IndexTable& table_;
};

/// Fills `order_` so that members with the same shared operands stand together, classes in order of
/// first appearance, members of a class as they stood, and `places_` with where each class ends.
/// False, with nothing filled, if all members are of one class. For computed weights also if each
/// member is a class of its own, or if there are more than kFewWeights classes and more than half
/// the number of members: so many calls would cost more than they save.
bool GroupMaker::order_by_class(const graph::Graph& graph, std::span<const NodeId> nodes,
                                std::uint64_t must, std::uint64_t weights) {
  const std::size_t count = nodes.size();
  Classes classes(graph, nodes, must, weights, *this);
  classes_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    classes_[i] = classes.of(i, i == 0 ? 0 : classes_[i - 1]);
    if (weights != 0 && class_heads_.size() > std::max(kFewWeights, count / 2)) {
      return false;
    }
  }
  const std::size_t class_count = class_heads_.size();
  if (class_count == 1 || (weights != 0 && class_count == count)) {
    return false;
  }
  find_places(classes_, class_count, [](std::uint32_t c) { return c; }, places_);
  order_.resize(count);
  sorted_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t to = places_[classes_[i]]++;
    order_[to] = i;
    sorted_[to] = nodes[i];
  }
  places_.resize(class_count);
  return true;
}

/// order_by_class, by computed weights too where they repeat.
bool GroupMaker::order_by_weights(const graph::Graph& graph, std::span<const NodeId> nodes,
                                  std::uint64_t must, std::uint64_t args) {
  const std::uint64_t weights = computed_weights(graph, graph[nodes[0]], must, args);
  if (weights != 0) {
    if (order_by_class(graph, nodes, must, weights)) {
      return true;
    }
    if (class_heads_.size() == 1) {
      return false;
    }
  }
  return must != 0 && order_by_class(graph, nodes, must, 0);
}

std::span<const std::uint32_t> GroupMaker::add(const graph::Graph& graph,
                                               std::span<const NodeId> nodes, Part part,
                                               std::uint64_t args, Plan& plan) {
  const auto first_segment = static_cast<std::uint32_t>(plan.segments.size());
  const auto first_member = static_cast<std::uint32_t>(plan.members.size());
  const bool masked = graph[nodes[0]].arity <= kMaxMaskedArgs;
  const std::uint64_t must = sharing_mask(graph, nodes, args);
  std::span<const std::uint32_t> order;
  if (!masked && nodes.size() > 1) {
    for (const NodeId n : nodes) {
      add_segment(graph, {&n, 1}, 0, args, plan);
    }
  } else if (nodes.size() == 1 || !order_by_weights(graph, nodes, must, args)) {
    add_segment(graph, nodes, must, args, plan);
  } else {
    order = order_;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : places_) {
      const std::uint64_t mask = must & mask_of_one(graph, graph[sorted_[begin]]);
      add_segment(graph, std::span(sorted_).subspan(begin, end - begin), mask, args, plan);
      begin = end;
    }
  }
  plan.groups.push_back(
      {first_segment, static_cast<std::uint32_t>(plan.segments.size()) - first_segment,
       first_member, static_cast<std::uint32_t>(plan.members.size()) - first_member, part, args});
  return order;
}

void GroupMaker::add_one_by_one(const graph::Graph& graph, std::span<const NodeId> nodes,
                                Plan& plan) {
  const auto first_segment = static_cast<std::uint32_t>(plan.segments.size());
  const auto first_member = static_cast<std::uint32_t>(plan.members.size());
  util::reserve_more(plan.members, nodes.size());
  util::reserve_more(plan.segments, nodes.size());
  util::reserve_more(plan.groups, nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    plan.members.push_back(nodes[i]);
    plan.segments.push_back({first_member + i, 1, mask_of_one(graph, graph[nodes[i]])});
    plan.groups.push_back({first_segment + i, 1, first_member + i, 1, Part::kWhole, kAllArgs});
  }
}

}  // namespace dynet::schedule
