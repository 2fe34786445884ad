#include "execute/lifetimes.h"

#include <algorithm>

namespace dynet::execute {
namespace {

thread_local int depth = 0;

/// Calls `f` for each node of the plan once.
template <class F>
void for_each_node(const schedule::Plan& plan, F f) {
  for (const schedule::Group& group : plan.groups) {
    for (std::uint32_t i = 0; i < group.members && group.part != schedule::Part::kRest; ++i) {
      f(plan.members[group.first + i]);
    }
  }
}

}  // namespace

bool is_in_inference_scope() { return depth > 0; }
void enter_inference_scope() { ++depth; }
void leave_inference_scope() { --depth; }

bool Lifetimes::keeps_all(const Wanted& wanted, bool all) {
  keeps_all_ = keeps_all_ || all;
  for (std::size_t i = 0; !keeps_all_ && i < wanted.nodes().size(); ++i) {
    const NodeId n = wanted.nodes()[i];
    keeps_all_ = n < entries_.size() && entries_[n].was_dropped;
  }
  return keeps_all_;
}

/// Counts the arguments of nodes that are new since the last request.
void Lifetimes::count_new(const graph::Graph& graph, const Values& values) {
  const auto first = static_cast<NodeId>(entries_.size());
  entries_.resize(graph.size());
  for (NodeId n = first; n < graph.size(); ++n) {
    if (graph[n].output != 0) {
      continue;  // a result of the node before, which is no user of it
    }
    for (const NodeId a : graph.args(n)) {
      entries_[a].has_user = true;
      entries_[a].waiting += values.has(n) ? 0 : 1;
    }
  }
}

util::Stamped<std::uint8_t>& Lifetimes::decide(const graph::Graph& graph, const Values& values,
                                               const schedule::Plan& plan,
                                               std::span<const NodeId> asked) {
  count_new(graph, values);
  stays_.begin(graph.size());
  for (const NodeId n : asked) {
    stays_.set(n, 1);
  }
  for_each_node(plan, [&](NodeId n) {
    for (const NodeId a : graph.args(n)) {
      entries_[a].waiting -= entries_[a].waiting == 0 ? 0 : 1;
    }
  });
  for_each_node(plan, [&](NodeId n) {
    const std::uint32_t outputs = graph[n].record().outputs;
    bool is_open = false;
    for (std::uint32_t k = 0; k < outputs; ++k) {
      is_open = is_open || !entries_[n + k].has_user;
    }
    for (std::uint32_t k = 0; k < outputs; ++k) {
      if (is_open || entries_[n + k].waiting != 0) {
        stays_.set(n + k, 1);
      }
    }
  });
  return stays_;
}

void Lifetimes::undo(const graph::Graph& graph, const schedule::Plan& plan) {
  for_each_node(plan, [&](NodeId n) {
    for (const NodeId a : graph.args(n)) {
      ++entries_[a].waiting;
    }
  });
}

void Lifetimes::note_dropped(const graph::Graph& graph, const schedule::Plan& plan) {
  for_each_node(plan, [&](NodeId n) {
    bool was_dropped = false;
    for (std::uint32_t k = 0; k < graph[n].record().outputs; ++k) {
      was_dropped = was_dropped || stays_[n + k] == 0;
    }
    entries_[n].was_dropped = was_dropped;
  });
}

void Lifetimes::truncate(NodeId first_removed) {
  entries_.resize(std::min<std::size_t>(entries_.size(), first_removed));
}

void Lifetimes::forget() {
  entries_.clear();
  keeps_all_ = false;
}

}  // namespace dynet::execute
