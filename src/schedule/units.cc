// From wanted nodes to units, the types they belong to, who waits for whom, and levels.
//
// A unit's level is the number of units of its type on the longest path above it. A lane holds, for
// one type, the level that the users of each node get from it: the maximum over its arguments, and
// one more if it is of the type. Only types that may stand on a path more than once have a lane,
// that is those on a cycle of "some unit of this type waits for one of that type"; sums of terms
// have a second one, for the parts of them that come second.

#include "units.h"

#include <algorithm>
#include <span>

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kMaxLanes = 64;
constexpr std::uint32_t kTypeBits = 64;
constexpr std::uint16_t kMaxLevel = 0xFFFF;  // deeper chains count as one level: never a safe pick

std::uint16_t& level(std::uint32_t lane, std::uint32_t i, Units& s) {
  return s.levels[lane * s.type.size() + i];
}

/// In Type::above; the last bit stands for all types that have none of their own.
std::uint64_t type_bit(std::uint32_t type) {
  return std::uint64_t{1} << std::min(type, kTypeBits - 1);
}

/// A new one for each key, and for each node that runs alone.
std::uint32_t type_of(const graph::Signature& signature, Units& s) {
  if (!signature.alone && s.type_of_key[signature.key] != 0) {
    return s.type_of_key[signature.key] - 1;
  }
  s.types.push_back({.key = signature.key, .is_sum = signature.record->term_args != 0});
  const auto count = static_cast<std::uint32_t>(s.types.size());
  if (!signature.alone) {
    s.type_of_key[signature.key] = count;
  }
  return count - 1;
}

/// Notes which wanted nodes node `i` waits for. Returns the bits of their types.
std::uint64_t list_waits(const graph::Node& node, std::uint32_t i, Units& s) {
  std::uint32_t count = s.first_wait[i];
  s.waits.resize(std::max<std::size_t>(s.waits.size(), count + node.arity));
  std::uint64_t bits = 0;
  for (std::uint32_t a = 0; a < node.arity; ++a) {
    const std::uint32_t arg = s.local[node.args[a]];
    if (arg != 0) {
      s.waits[count++] = arg - 1;
      bits |= type_bit(s.type[arg - 1]);
    }
  }
  s.first_wait[i + 1] = count;
  return bits;
}

std::span<const std::uint32_t> waits_of(std::uint32_t i, const Units& s) {
  return {s.waits.data() + s.first_wait[i], s.first_wait[i + 1] - s.first_wait[i]};
}

/// Every wanted node's type and waits; every type's number of nodes and what stands directly above.
void find_types(const graph::Graph& graph, const std::vector<NodeId>& wanted, Units& s) {
  s.local.resize(graph.size());
  s.type_of_key.resize(std::max(s.type_of_key.size(), graph.interner().key_count()), 0);
  s.type.resize(wanted.size());
  s.first_wait.resize(wanted.size() + 1);
  s.first_wait[0] = 0;
  s.types.clear();
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    const graph::Node& node = graph[wanted[i]];
    s.type[i] = type_of(*node.signature, s);
    Type& type = s.types[s.type[i]];
    ++type.unrun;
    type.above |= list_waits(node, i, s);
    for (std::uint32_t k = 0; k < node.record().outputs; ++k) {
      s.local[wanted[i] + k] = i + 1;
    }
  }
  for (const Type& t : s.types) {
    s.type_of_key[t.key] = 0;
  }
}

/// From the types that a type's units wait for to all that stand above them (Warshall).
void close_above(Units& s) {
  for (std::uint32_t k = 0; k < std::min<std::size_t>(s.types.size(), kTypeBits); ++k) {
    std::uint64_t beyond = s.types[k].above;
    for (std::size_t t = kTypeBits; k == kTypeBits - 1 && t < s.types.size(); ++t) {
      beyond |= s.types[t].above;
    }
    for (Type& t : s.types) {
      t.above |= (t.above & type_bit(k)) != 0 ? beyond : 0;
    }
  }
}

void give_lanes(Units& s) {
  close_above(s);
  std::uint32_t lanes = 0;
  std::uint32_t counts = 0;
  for (std::uint32_t i = 0; i < s.types.size(); ++i) {
    Type& t = s.types[i];
    if (t.unrun > 1 && (t.above & type_bit(i)) != 0 && lanes + 2 <= kMaxLanes) {
      t.lane = lanes;
      lanes += t.is_sum ? 2 : 1;
      t.counts = counts;
      t.levels = 0;
      counts += t.unrun;
    }
  }
  s.lanes = lanes;
  s.level_counts.assign(counts, 0);
}

/// What the users of node `i` get from its arguments. Returns the number of nodes above it on the
/// longest path.
std::uint32_t merge_arguments(std::uint32_t i, Units& s) {
  const std::span<const std::uint32_t> waits = waits_of(i, s);
  const std::size_t count = s.type.size();
  std::uint16_t* of = s.levels.data();
  for (std::uint32_t lane = 0; lane < s.lanes; ++lane, of += count) {
    std::uint16_t most = 0;
    for (const std::uint32_t arg : waits) {
      most = std::max(most, of[arg]);
    }
    of[i] = most;
  }
  std::uint32_t depth = 0;
  for (const std::uint32_t arg : waits) {
    depth = std::max(depth, s.depth[arg] + 1);
  }
  s.depth[i] = depth;
  return depth;
}

/// What the users of node `i` get in a lane; returns what the node itself has.
std::uint32_t raise(std::uint32_t lane, std::uint32_t i, Units& s) {
  std::uint16_t& at = level(lane, i, s);
  const std::uint32_t own = at;
  at = at == kMaxLevel ? at : static_cast<std::uint16_t>(at + 1);
  return own;
}

/// Counts node `i` at its level, which is returned, and raises the level for its users.
std::uint32_t count_level(Type& type, std::uint32_t i, Units& s) {
  if (type.lane == kNone) {
    return 0;
  }
  const std::uint32_t level = raise(type.lane, i, s);
  ++s.level_counts[type.counts + level];
  type.levels = std::max(type.levels, level + 1);
  return level;
}

/// The arguments of a sum that do not wait for another node of its type, where others do; 0 where
/// the node is not to be split.
std::uint64_t first_terms(const graph::Node& node, const Type& type, std::uint32_t i, Units& s) {
  const std::uint32_t each = node.record().term_args;
  if (each == 0 || node.arity <= 1 + each || node.arity > kMaxMaskedArgs || type.lane == kNone ||
      level(type.lane, i, s) == 0) {
    return 0;
  }
  const auto waits = [&](std::uint32_t a) {
    const std::uint32_t arg = s.local[node.args[a]];
    return arg != 0 && level(type.lane, arg - 1, s) != 0;
  };
  if (waits(0)) {
    return 0;
  }
  std::uint64_t mask = 1;
  for (std::uint32_t term = 1; term < node.arity; term += each) {
    bool all_there = true;
    for (std::uint32_t a = term; a < term + each; ++a) {
      all_there = all_there && !waits(a);
    }
    if (all_there) {
      mask |= ((std::uint64_t{1} << each) - 1) << term;
    }
  }
  return mask == 1 ? 0 : mask;
}

/// Users stand in the order in which they were added.
void add_edge(std::uint32_t from, std::uint32_t user, Units& s) {
  const auto e = static_cast<std::uint32_t>(s.edges.size());
  s.edges.emplace_back(user, kNone);
  Unit& unit = s.units[from];
  (unit.users == kNone ? unit.users : s.edges[unit.last_user].next) = e;
  unit.last_user = e;
  ++s.units[user].waiting;
}

/// Waits for nothing so far.
std::uint32_t add_unit(NodeId node, std::uint32_t type, std::uint32_t depth, std::uint32_t level,
                       Units& s) {
  s.units.emplace_back(node, type, 0U, depth, kNone, kNone, kNone, level);
  s.types[type].depth_sum += depth;
  return static_cast<std::uint32_t>(s.units.size() - 1);
}

/// Makes `unit` wait for the arguments in `mask`.
void wait_for_some(const graph::Node& node, std::uint64_t mask, std::uint32_t unit, Units& s) {
  for (std::uint32_t a = 0; a < node.arity; ++a) {  // at most kMaxMaskedArgs
    const std::uint32_t arg = s.local[node.args[a]];
    if (arg != 0 && ((mask >> a) & 1) != 0) {
      add_edge(s.unit[arg - 1], unit, s);
    }
  }
}

/// The type of the first terms of `whole`'s nodes; the type of their other terms follows it. Nodes
/// whose first terms are others than those of the first such node are not split (kNone).
std::uint32_t first_part_type(std::uint32_t whole, std::uint64_t mask, Units& s) {
  std::uint32_t found = s.types[whole].first_part;
  if (found == kNone) {
    found = static_cast<std::uint32_t>(s.types.size());
    const Type& t = s.types[whole];
    const Type first{.key = t.key, .part = Part::kFirst, .args = mask};
    const Type rest{.lane = t.lane + 1,
                    .counts = static_cast<std::uint32_t>(s.level_counts.size()),
                    .levels = 0,
                    .key = t.key,
                    .part = Part::kRest,
                    .args = ~mask};
    s.level_counts.resize(s.level_counts.size() + t.unrun, 0);
    s.types[whole].first_part = found;
    s.types.push_back(first);
    s.types.push_back(rest);
  }
  return s.types[found].args == mask ? found : kNone;
}

/// The two units of wanted node `i`.
void add_parts(const graph::Node& node, NodeId id, std::uint32_t i, std::uint32_t first,
               std::uint32_t depth, Units& s) {
  const std::uint64_t mask = s.types[first].args;
  --s.types[s.type[i]].unrun;
  ++s.types[first].unrun;
  ++s.types[first + 1].unrun;
  raise(s.types[s.type[i]].lane, i, s);  // first_terms asks for it
  const std::uint32_t level = count_level(s.types[first + 1], i, s);
  const std::uint32_t u = add_unit(id, first, 0, level, s);
  wait_for_some(node, mask, u, s);
  s.unit[i] = add_unit(id, first + 1, depth, level, s);
  wait_for_some(node, ~mask, s.unit[i], s);
  add_edge(u, s.unit[i], s);
}

}  // namespace

bool make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted, Units& s) {
  find_types(graph, wanted, s);
  if (s.types.size() == wanted.size()) {
    return false;
  }
  give_lanes(s);
  s.unit.resize(wanted.size());
  s.depth.resize(wanted.size());
  s.units.clear();
  s.edges.clear();
  s.levels.resize(wanted.size() * s.lanes);
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    const graph::Node& node = graph[wanted[i]];
    const std::uint32_t type = s.type[i];
    const std::uint32_t depth = merge_arguments(i, s);
    const std::uint64_t mask = first_terms(node, s.types[type], i, s);
    const std::uint32_t first = mask == 0 ? kNone : first_part_type(type, mask, s);
    if (first != kNone) {
      add_parts(node, wanted[i], i, first, depth, s);
      continue;
    }
    const std::uint32_t level = count_level(s.types[type], i, s);
    s.unit[i] = add_unit(wanted[i], type, depth, level, s);
    for (const std::uint32_t arg : waits_of(i, s)) {
      add_edge(s.unit[arg], s.unit[i], s);
    }
  }
  return true;
}

void recount_levels(const std::vector<NodeId>& wanted, Units& s) {
  std::fill(s.level_counts.begin(), s.level_counts.end(), 0);
  for (Type& t : s.types) {
    t.level = 0;
  }
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    if (s.units[s.unit[i]].waiting == kNone) {
      for (std::uint32_t lane = 0; lane < s.lanes; ++lane) {
        level(lane, i, s) = 0;
      }
      continue;
    }
    merge_arguments(i, s);
    count_level(s.types[s.units[s.unit[i]].type], i, s);
  }
}

void forget_units(const graph::Graph& graph, const std::vector<NodeId>& wanted, Units& s) {
  for (const NodeId n : wanted) {
    for (std::uint32_t k = 0; k < graph[n].record().outputs; ++k) {
      s.local[n + k] = 0;
    }
  }
}

}  // namespace dynet::schedule
