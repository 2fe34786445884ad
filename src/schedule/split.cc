#include "split.h"

#include <bit>

#include "terms.h"

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kMaxSites = 16;  // of one type; further ones count as the last
// More numbers than the first cache of a core holds are read anew at each step of a recurrence, and
// a product of few columns waits for them.
constexpr std::int64_t kLargeWeights = 1 << 13;
constexpr std::uint32_t kFewColumns = 2;

/// Have two nodes of one key, of type number `t`, the same weights and heads? An argument that
/// waits for a node of the key is no weight.
bool is_same_site(const graph::Graph& graph, const Waits& waits, const graph::Node& x,
                  const graph::Node& y, std::uint32_t t) {
  std::uint64_t compared = ~Terms(x.record()).ends() & bits_below(x.arity);
  compared &= x.shares_parameters(y) ? x.signature->own_args : kAllArgs;
  for (std::uint64_t m = compared; m != 0; m &= m - 1) {
    const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
    if (x.args[a] == y.args[a]) {
      continue;
    }
    const std::uint32_t arg = waits.number(y.args[a]);
    const bool does_wait = arg != 0 && (waits.above(arg - 1).types & Above::bit_of(t)) != 0;
    if (!does_wait && graph.identity(x.args[a]) != graph.identity(y.args[a])) {
      return false;
    }
  }
  return true;
}

/// Does a step of a recurrence read more weights than it computes with, in the term at `term`?
bool reads_much(const graph::Graph& graph, const graph::Node& node, const Site& site,
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

}  // namespace

bool Split::may_split(const graph::Node& node) {
  const Terms terms(node.record());
  return terms.each() != 0 && node.arity > terms.heads() + terms.each() &&
         node.arity <= kMaxMaskedArgs;
}

std::uint64_t Split::visit_site(const graph::Graph& graph, const Waits& waits, NodeId id,
                                std::uint32_t i, std::uint32_t t, Type& type, std::uint64_t above) {
  ++sums_;
  const std::uint32_t site = find_site(graph, waits, id, t, type);
  site_[i] = site;
  const std::uint64_t bit = Above::bit_of(site);
  const graph::Node& node = graph[id];
  if ((above & bit) == 0) {
    sites_[site].columns += node.examples;
  } else {
    node.visit_own_arguments([&](std::uint32_t a, NodeId argument) {
      const std::uint32_t arg = waits.number(argument);
      if (arg != 0 && (waits.above(arg - 1).sites & bit) != 0) {
        sites_[site].recurrent |= std::uint64_t{1} << a;
      }
    });
  }
  return bit;
}

/// The sites of a type are met in the same order again and again: the likeliest is the next one.
std::uint32_t Split::find_site(const graph::Graph& graph, const Waits& waits, NodeId id,
                               std::uint32_t t, Type& type) {
  for (std::uint32_t n = 0; n < type.sites; ++n) {
    type.site = sites_[type.site].next;
    if (is_same_site(graph, waits, graph[sites_[type.site].example], graph[id], t)) {
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

std::uint64_t Split::terms_that_leave(const graph::Graph& graph, const Waits& waits,
                                      const graph::Node& node, std::uint32_t i,
                                      std::uint32_t t) const {
  const Terms terms(node.record());
  const Site& site = sites_[site_[i]];
  const std::uint64_t own_key = Above::bit_of(t);
  const std::uint64_t own_site = Above::bit_of(site_[i]);
  std::uint64_t stay = site.recurrent;
  std::uint64_t wait = 0;  // for a node of its key, which may be the key of another layer
  node.visit_own_arguments([&](std::uint32_t a, NodeId id) {
    const std::uint32_t arg = waits.number(id);
    if (arg != 0) {
      stay |= std::uint64_t{(waits.above(arg - 1).sites & own_site) != 0} << a;
      wait |= std::uint64_t{(waits.above(arg - 1).types & own_key) != 0} << a;
    }
  });
  const std::uint64_t only_heads = bits_below(terms.heads());
  if (((site.recurrent | wait) & only_heads) != 0) {
    return 0;
  }
  bool waits_for_its_like = (wait & terms.state()) != 0;
  std::uint64_t mask = only_heads;
  for (std::uint32_t term = terms.begin(); term < node.arity; term += terms.each()) {
    const std::uint64_t args = bits_below(terms.each()) << term;
    const bool does_wait = (wait & args) != 0;
    if ((stay & args) == 0 && (!does_wait || reads_much(graph, node, site, term))) {
      mask |= args;
    } else {
      waits_for_its_like = waits_for_its_like || does_wait;
    }
  }
  return mask == only_heads || !waits_for_its_like ? 0 : mask;
}

}  // namespace dynet::schedule
