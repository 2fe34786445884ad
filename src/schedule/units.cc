// From wanted nodes to units, in two sweeps over the nodes.
//
// The first finds each node's type, the nodes that it waits for and the types above it. (A node is
// above those that wait for it, directly or through others.) A type of which some unit waits for
// another one *repeats*, and has a lane: a unit's level is the number of units of its type on the
// longest path above it, and a lane holds for one type the level that the users of each node get
// from it, the maximum over its arguments, and one more if it is of the type.
//
// The second sweep counts levels and makes units. Here sums of terms are split. A term leaves its
// node where it does not wait for the recurrence that the node stands on. Recurrences are those of
// the program, not of one node: a left child that happens to be a leaf waits for nothing, but its
// place is that of children, and splitting the node would only cost a call. So an argument counts
// as recurrent where in any node of the same *site* it waits for another node of the site. The
// input of a second layer waits for a node of the same key in the first. Mostly it stays, so that
// both layers run side by side in the fewest groups. Where large weights would be read for a few
// columns at each step, which takes longer than a group does, it leaves: all steps have one product
// when the first layer is done. The state, which makes results of complete sums, is read with the
// terms that stay.

#include "units.h"

#include <algorithm>
#include <bit>

#include "terms.h"
#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kMaxLanes = 64;
constexpr std::uint32_t kMaxSites = 16;      // of one type; further ones count as the last
constexpr std::uint16_t kMaxLevel = 0xFFFF;  // deeper chains count as one level
// More numbers than the first cache of a core holds are read anew at each step of a recurrence, and
// a product of few columns waits for them.
constexpr std::int64_t kLargeWeights = 1 << 13;
constexpr std::uint32_t kFewColumns = 2;

/// In Units::Above.
std::uint64_t bit_of(std::uint32_t number) {
  return std::uint64_t{1} << std::min(number, std::uint32_t{63});
}

/// Asks whether to go on, once for so many nodes, which take some microseconds.
constexpr std::uint32_t kNodesAtOnce = 256;
void look(util::Interrupt& interrupt, std::uint32_t i) {
  if (i % kNodesAtOnce == 0) {
    interrupt.pass(kNodesAtOnce / 16);
  }
}

bool may_split(const graph::Node& node) {
  const Terms terms(node.record());
  return terms.each() != 0 && node.arity > terms.heads() + terms.each() &&
         node.arity <= kMaxMaskedArgs;
}

}  // namespace

bool Units::make(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const bool is_worth_it = find_types(graph, wanted);
  if (is_worth_it) {
    give_lanes();
    make_units(graph, wanted);
  }
  forget(graph, wanted);
  return is_worth_it;
}

/// Makes the tables by node and key ready for the next plan.
void Units::forget(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  for (const Type& t : types) {
    type_of_key_[t.key] = 0;
  }
  for (const NodeId n : wanted) {
    for (std::uint32_t k = 0; k < graph[n].record().outputs; ++k) {
      local_[n + k] = 0;
    }
  }
}

/// A new one for each key, and for each node that runs alone.
std::uint32_t Units::type_of(const graph::Signature& signature) {
  if (!signature.alone && type_of_key_[signature.key] != 0) {
    return type_of_key_[signature.key] - 1;
  }
  types.emplace_back().key = signature.key;
  const auto count = static_cast<std::uint32_t>(types.size());
  if (!signature.alone) {
    type_of_key_[signature.key] = count;
  }
  return count - 1;
}

/// Notes which wanted nodes node `i` waits for. Returns what stands above it.
Units::Above Units::list_waits(const graph::Node& node, std::uint32_t i) {
  std::uint32_t count = first_wait_[i];
  if (waits_.size() < count + node.arity) {
    waits_.resize(2 * (count + std::size_t{node.arity}));
  }
  Above above{0, 0};
  // Pointers of their own: what is written may alias everything.
  const std::uint32_t* const local = local_.data();
  const Above* const of = above_.data();
  std::uint32_t* const waits = waits_.data();
  std::uint32_t* const users = users_.data();
  node.visit_own_arguments([&](std::uint32_t, NodeId id) {
    const std::uint32_t arg = local[id];
    if (arg != 0) {
      waits[count++] = arg - 1;
      ++users[arg - 1];
      above.types |= of[arg - 1].types;
      above.sites |= of[arg - 1].sites;
    }
  });
  first_wait_[i + 1] = count;
  return above;
}

/// The type, the waits and the site of every wanted node. Is there anything to merge?
bool Units::find_types(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const std::size_t count = wanted.size();
  local_.resize(std::max<std::size_t>(local_.size(), graph.size()), 0);
  type_of_key_.resize(std::max(type_of_key_.size(), graph.interner().key_count()), 0);
  type_.resize(count);
  site_.resize(count);
  above_.resize(count);
  users_.assign(count, 0);
  first_wait_.resize(count + 1);
  first_wait_[0] = 0;
  sums_ = 0;
  types.clear();
  sites_.clear();
  util::Interrupt interrupt;
  for (std::uint32_t i = 0; i < count; ++i) {
    look(interrupt, i);
    const graph::Node& node = graph[wanted[i]];
    const std::uint32_t t = type_of(*node.signature);
    type_[i] = t;
    Above above = list_waits(node, i);
    site_[i] = kNone;
    if (may_split(node)) {
      ++sums_;
      above.sites |= visit_site(graph, wanted[i], i, above.sites);
    }
    Type& type = types[t];
    ++type.unrun;
    type.repeats = type.repeats || (above.types & bit_of(t)) != 0;
    above_[i] = {above.types | bit_of(t), above.sites};
    for (std::uint32_t k = 0; k < node.record().outputs; ++k) {
      local_[wanted[i] + k] = i + 1;
    }
  }
  return types.size() != count;
}

/// Finds the site of wanted node `i`, and which of its arguments wait for a node of the site.
/// Returns the site's bit.
std::uint64_t Units::visit_site(const graph::Graph& graph, NodeId id, std::uint32_t i,
                                std::uint64_t above) {
  const std::uint32_t site = find_site(graph, id, type_[i]);
  site_[i] = site;
  const std::uint64_t bit = bit_of(site);
  const graph::Node& node = graph[id];
  if ((above & bit) == 0) {
    sites_[site].columns += node.examples;
  } else {
    node.visit_own_arguments([&](std::uint32_t a, NodeId argument) {
      const std::uint32_t arg = local_[argument];
      if (arg != 0 && (above_[arg - 1].sites & bit) != 0) {
        sites_[site].recurrent |= std::uint64_t{1} << a;
      }
    });
  }
  return bit;
}

/// Have two nodes of one key the same weights, and heads? One that waits for a node of the key is
/// no weight.
bool Units::is_same_site(const graph::Graph& graph, const graph::Node& x, const graph::Node& y,
                         std::uint64_t own_key) const {
  std::uint64_t compared = ~Terms(x.record()).ends() & bits_below(x.arity);
  compared &= x.shares_parameters(y) ? x.signature->own_args : kAllArgs;
  for (std::uint64_t m = compared; m != 0; m &= m - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
    if (x.args[a] == y.args[a]) {
      continue;
    }
    const std::uint32_t arg = local_[y.args[a]];
    const bool waits = arg != 0 && (above_[arg - 1].types & own_key) != 0;
    if (!waits && graph.identity(x.args[a]) != graph.identity(y.args[a])) {
      return false;
    }
  }
  return true;
}

/// The sites of a type are met in the same order again and again: the likeliest is the next one.
std::uint32_t Units::find_site(const graph::Graph& graph, NodeId id, std::uint32_t number) {
  Type& type = types[number];
  for (std::uint32_t n = 0; n < type.sites; ++n) {
    type.site = sites_[type.site].next;
    if (is_same_site(graph, graph[sites_[type.site].example], graph[id], bit_of(number))) {
      return type.site;
    }
  }
  if (type.sites == kMaxSites) {
    return type.site;
  }
  const auto found = static_cast<std::uint32_t>(sites_.size());
  sites_.push_back({id, type.sites == 0 ? found : sites_[type.site].next, 0});
  if (type.sites != 0) {
    sites_[type.site].next = found;
  }
  ++type.sites;
  return type.site = found;
}

/// Sums of terms have a second lane, for the parts of them that come second.
void Units::give_lanes() {
  std::uint32_t lanes = 0;
  std::uint32_t counts = 0;
  for (Type& t : types) {
    if (t.repeats && lanes + 2 <= kMaxLanes) {
      const std::uint32_t parts = t.sites != 0 ? 2 : 1;
      t.lane = lanes;
      lanes += parts;
      t.counts = counts;
      t.levels = 0;
      counts += parts * t.unrun;
    }
  }
  width_ = (lanes + kLanesAtOnce - 1) / kLanesAtOnce;
  level_counts.assign(counts, 0);
}

void Units::make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  unit_.resize(wanted.size());
  // A node that is split has two units, and an edge between them.
  units.resize(std::max(units.size(), wanted.size() + sums_));
  unit_count = 0;
  edges.resize(std::max<std::size_t>(edges.size(), first_wait_[wanted.size()] + sums_));
  edge_count_ = 0;
  levels_.resize(wanted.size() * width_);
  util::Interrupt interrupt;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    look(interrupt, i);
    const graph::Node& node = graph[wanted[i]];
    merge_levels(i);
    const std::uint64_t mask = site_[i] == kNone ? 0 : first_terms(graph, node, i);
    const std::uint32_t first = mask == 0 ? kNone : first_part_type(type_[i], mask);
    if (first != kNone) {
      add_parts(node, wanted[i], i, first);
      continue;
    }
    const std::uint32_t level = count_level(types[type_[i]], i);
    unit_[i] = add_unit(wanted[i], type_[i], level, users_[i]);
    const std::uint32_t* const unit_of = unit_.data();
    for (const std::uint32_t arg : waits_of(i)) {
      add_edge(unit_of[arg], unit_of[i]);
    }
  }
}

/// What the users of node `i` get from its arguments.
void Units::merge_levels(std::uint32_t i) {
  const std::span<const std::uint32_t> waits = waits_of(i);
  Lanes* const levels = levels_.data();
  const std::size_t width = width_;
  for (std::size_t k = 0; k < width; ++k) {
    Lanes most{};
    for (const std::uint32_t arg : waits) {
      const Lanes of = levels[arg * width + k];
      most = of > most ? of : most;
    }
    levels[i * width + k] = most;
  }
}

/// Counts node `i` at its level, which is returned, and raises the level for its users.
std::uint32_t Units::count_level(Type& type, std::uint32_t i) {
  if (type.lane == kNone) {
    return 0;
  }
  Lanes& lanes = levels_[i * width_ + type.lane / kLanesAtOnce];
  const std::uint16_t level = lanes[type.lane % kLanesAtOnce];
  lanes[type.lane % kLanesAtOnce] =
      level == kMaxLevel ? level : static_cast<std::uint16_t>(level + 1);
  ++level_counts[type.counts + level];
  type.levels = std::max(type.levels, level + 1U);
  return level;
}

/// Does a step of a recurrence read more weights than it computes with, in the term at `term`?
bool Units::reads_much(const graph::Graph& graph, const graph::Node& node, const Site& site,
                       std::uint32_t term) {
  if (site.columns > kFewColumns) {
    return false;
  }
  std::int64_t numbers = 0;
  for (std::uint32_t a = term; a + 1 < term + Terms(node.record()).each(); ++a) {
    numbers += graph.dim(node.args[a]).example_elements();
  }
  return numbers >= kLargeWeights;
}

/// The arguments of a sum that leave its recurrence; 0 where the node is not to be split.
std::uint64_t Units::first_terms(const graph::Graph& graph, const graph::Node& node,
                                 std::uint32_t i) {
  const Terms terms(node.record());
  const std::uint64_t recurrent = sites_[site_[i]].recurrent;
  const std::uint64_t own_key = bit_of(type_[i]);
  const std::uint64_t own_site = bit_of(site_[i]);
  if (recurrent == 0 || types[type_[i]].lane == kNone) {
    return 0;
  }
  std::uint64_t stay = recurrent;
  std::uint64_t wait = 0;  // for a node of its key, which may be that of another layer
  node.visit_own_arguments([&](std::uint32_t a, NodeId id) {
    const std::uint32_t arg = local_[id];
    if (arg != 0) {
      stay |= std::uint64_t{(above_[arg - 1].sites & own_site) != 0} << a;
      wait |= std::uint64_t{(above_[arg - 1].types & own_key) != 0} << a;
    }
  });
  const std::uint64_t only_heads = bits_below(terms.heads());
  if (((recurrent | wait) & only_heads) != 0) {
    return 0;
  }
  bool waits_for_its_like = (wait & terms.state()) != 0;
  std::uint64_t mask = only_heads;
  for (std::uint32_t term = terms.begin(); term < node.arity; term += terms.each()) {
    const std::uint64_t args = bits_below(terms.each()) << term;
    const bool waits = (wait & args) != 0;
    if ((stay & args) == 0 && (!waits || reads_much(graph, node, sites_[site_[i]], term))) {
      mask |= args;
    } else {
      waits_for_its_like = waits_for_its_like || waits;
    }
  }
  return mask == only_heads || !waits_for_its_like ? 0 : mask;
}

/// The type of the first terms of `whole`'s nodes; the type of their other terms follows it. Nodes
/// whose first terms are others than those of the first such node are not split (kNone).
std::uint32_t Units::first_part_type(std::uint32_t whole, std::uint64_t mask) {
  std::uint32_t found = types[whole].first_part;
  if (found == kNone) {
    found = static_cast<std::uint32_t>(types.size());
    types[whole].first_part = found;
    const Type t = types[whole];
    Type& first = types.emplace_back();
    first.key = t.key;
    first.part = Part::kFirst;
    first.args = mask;
    Type& rest = types.emplace_back();
    rest.key = t.key;
    rest.part = Part::kRest;
    rest.args = ~mask;
    rest.lane = t.lane + 1;
    rest.levels = 0;
    rest.counts = t.counts + t.unrun;  // of which none has become a part so far
  }
  return types[found].args == mask ? found : kNone;
}

/// Waits for nothing so far, and has room for its users.
std::uint32_t Units::add_unit(NodeId node, std::uint32_t type, std::uint32_t level,
                              std::uint32_t users) {
  units[unit_count] = {node, type, 0, edge_count_, edge_count_, kNone, level};
  edge_count_ += users;
  return unit_count++;
}

/// Users stand in the order in which they were added.
void Units::add_edge(std::uint32_t from, std::uint32_t user) {
  edges[units[from].users_end++] = user;
  ++units[user].waiting;
}

/// The two units of wanted node `i`.
void Units::add_parts(const graph::Node& node, NodeId id, std::uint32_t i, std::uint32_t first) {
  const std::uint64_t mask = types[first].args;
  --types[type_[i]].unrun;
  ++types[first].unrun;
  ++types[first + 1].unrun;
  const std::uint32_t level = count_level(types[first + 1], i);
  const std::uint32_t part = add_unit(id, first, level, 1);
  unit_[i] = add_unit(id, first + 1, level, users_[i]);
  node.visit_own_arguments([&](std::uint32_t a, NodeId n) {  // at most kMaxMaskedArgs
    const std::uint32_t arg = local_[n];
    if (arg != 0) {
      add_edge(unit_[arg - 1], ((mask >> a) & 1) != 0 ? part : unit_[i]);
    }
  });
  add_edge(part, unit_[i]);
}

}  // namespace dynet::schedule
