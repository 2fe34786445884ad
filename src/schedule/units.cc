#include "units.h"

#include <algorithm>

#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

/// Asks whether to go on, once for so many nodes, which take some microseconds.
constexpr std::uint32_t kNodesAtOnce = 256;
void look(util::Interrupt& interrupt, std::uint32_t i) {
  if (i % kNodesAtOnce == 0) {
    interrupt.pass(kNodesAtOnce / 16);
  }
}

}  // namespace

bool Units::make(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const bool is_worth_it = find_types(graph, wanted);
  if (is_worth_it) {
    levels.begin(types, wanted.size());
    make_units(graph, wanted);
  }
  for (const Type& t : types) {
    type_of_key_[t.key] = 0;
  }
  waits_.forget(graph, wanted);
  return is_worth_it;
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

/// The type, the waits and the site of every wanted node. Is there anything to merge?
bool Units::find_types(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  const std::size_t count = wanted.size();
  type_of_key_.resize(std::max(type_of_key_.size(), graph.interner().key_count()), 0);
  type_.resize(count);
  types.clear();
  waits_.begin(graph, count);
  split_.begin(count);
  util::Interrupt interrupt;
  for (std::uint32_t i = 0; i < count; ++i) {
    look(interrupt, i);
    const NodeId id = wanted[i];
    const graph::Node& node = graph[id];
    const std::uint32_t t = type_of(*node.signature);
    type_[i] = t;
    Above above = waits_.add(node, i);
    Type& type = types[t];
    above.sites |= split_.add(graph, waits_, id, i, t, type, above.sites);
    ++type.unrun;
    type.repeats = type.repeats || (above.types & Above::bit_of(t)) != 0;
    above.types |= Above::bit_of(t);
    waits_.finish(node, id, i, above);
  }
  return types.size() != count;
}

void Units::make_units(const graph::Graph& graph, const std::vector<NodeId>& wanted) {
  unit_.resize(wanted.size());
  // A node that is split has two units, and an edge between them.
  units.resize(std::max(units.size(), wanted.size() + split_.sums()));
  unit_count = 0;
  edges.resize(std::max<std::size_t>(edges.size(), waits_.count(wanted.size()) + split_.sums()));
  edge_count_ = 0;
  util::Interrupt interrupt;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    look(interrupt, i);
    const graph::Node& node = graph[wanted[i]];
    levels.merge(i, waits_.of(i));
    const bool repeats = types[type_[i]].counter != kNone;
    const std::uint64_t mask = repeats ? split_.first_terms(graph, waits_, node, i, type_[i]) : 0;
    const std::uint32_t first = mask == 0 ? kNone : first_part_type(type_[i], mask);
    if (first != kNone) {
      add_parts(node, wanted[i], i, first);
      continue;
    }
    const std::uint32_t level = levels.count(types[type_[i]], i);
    unit_[i] = add_unit(wanted[i], type_[i], level, waits_.users(i));
    const std::uint32_t* const unit_of = unit_.data();
    for (const std::uint32_t arg : waits_.of(i)) {
      add_edge(unit_of[arg], unit_of[i]);
    }
  }
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
    rest.counter = t.counter + 1;
    rest.levels = 0;
    rest.counts = t.counts + t.unrun;  // of which none has become a part so far
  }
  return types[found].args == mask ? found : kNone;
}

/// The two units of wanted node `i`.
void Units::add_parts(const graph::Node& node, NodeId id, std::uint32_t i, std::uint32_t first) {
  const std::uint64_t mask = types[first].args;
  --types[type_[i]].unrun;
  ++types[first].unrun;
  ++types[first + 1].unrun;
  const std::uint32_t level = levels.count(types[first + 1], i);
  const std::uint32_t part = add_unit(id, first, level, 1);
  unit_[i] = add_unit(id, first + 1, level, waits_.users(i));
  node.visit_own_arguments([&](std::uint32_t a, NodeId n) {  // at most kMaxMaskedArgs
    const std::uint32_t arg = waits_.number(n);
    if (arg != 0) {
      add_edge(unit_[arg - 1], ((mask >> a) & 1) != 0 ? part : unit_[i]);
    }
  });
  add_edge(part, unit_[i]);
}

}  // namespace dynet::schedule
