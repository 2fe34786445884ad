#include "execute/path.h"

#include "params/gradient.h"

namespace dynet::execute {

bool is_trained(const graph::Graph& graph, NodeId n) {
  const graph::Node& node = graph[n];
  const ext::Leaf leaf = node.record().leaf;
  if (leaf != ext::Leaf::kParameter && leaf != ext::Leaf::kLookup) {
    return false;
  }
  return graph.is_trainable(n) && params::storage_base(node.payload->storage).is_updated();
}

void Path::find(NodeId root, bool full, bool shares, Gradients& gradients) {
  collect(root);
  parameters_.clear();
  lookups_.clear();
  if (!groups_.empty()) {  // the pass before failed
    groups_.clear();
  }
  groups_.grow(history_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const NodeId n = nodes_[i];
    const graph::Node& node = context_.graph[n];
    bool needs = full;
    if (node.record().leaf != ext::Leaf::kNo) {
      needs = note_leaf(n, full, shares, gradients);
    } else {
      for (std::uint32_t a = 0; a < node.arity && !needs && !node.record().stops_gradient; ++a) {
        needs = gradients.needs(node.args[a]);
      }
      gradients.note(n, needs, false);
    }
    if (needs) {
      add_groups_of(n);
    }
  }
}

/// The nodes that `root` depends on, descending.
void Path::collect(NodeId root) {
  nodes_.clear();
  if (!open_.empty()) {
    open_.clear();
  }
  open_.grow(context_.graph.size());
  open_.insert(root);
  while (!open_.empty()) {
    const NodeId n = open_.take_largest();
    nodes_.push_back(n);
    const graph::Node& node = context_.graph[n];
    for (std::uint32_t a = 0; a < node.arity && !node.record().stops_gradient; ++a) {
      open_.insert(node.args[a]);
    }
  }
  visits_ += nodes_.size();
}

bool Path::note_leaf(NodeId n, bool full, bool shares, Gradients& gradients) {
  const graph::Node& node = context_.graph[n];
  const bool trained = is_trained(context_.graph, n);
  bool follows = false;
  if (node.record().leaf == ext::Leaf::kParameter) {
    const graph::StorageUse& use = context_.graph.storages()[node.payload->storage_slot];
    follows = shares && use.nodes > 1 && n != use.first;
    // The first node of a parameter may be no part of the path, and yet has its gradient.
    const NodeId owner = shares ? use.first : n;
    if (!gradients.is_noted(owner)) {
      gradients.note(owner, trained || full, false);
      if (trained && shares) {
        parameters_.push_back(owner);
      }
    }
    if (owner == n) {
      return trained || full;
    }
  } else if (trained) {
    lookups_.push_back(n);
  }
  gradients.note(n, trained || full, follows);
  return trained || full;
}

void Path::add_groups_of(NodeId n) {
  const std::uint32_t group = values_.group_of(n);
  if (group == Values::kNoGroup) {
    return;
  }
  groups_.insert(group);
  if (history_.group(group).part == schedule::Part::kFirst) {
    groups_.insert(values_.rest_of(n));
  }
}

}  // namespace dynet::execute
