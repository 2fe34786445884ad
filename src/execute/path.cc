#include "execute/path.h"

#include <algorithm>

#include "dynet/except.h"

#include "params/gradient.h"

namespace dynet::execute {

bool is_trained(const graph::Graph& graph, NodeId n) {
  const graph::Node& node = graph[n];
  return graph.is_trainable(n) && params::storage_base(node.payload->storage).is_updated();
}

namespace {
bool has_needing_argument(const graph::Node& node, const Gradients::Notes& notes) {
  bool needs = false;
  for (std::uint32_t a = 0; a < node.arity && !needs; ++a) {
    needs = notes.needs(node.args[a]);
  }
  return needs;
}
}  // namespace

void Path::find(NodeId root, bool full, bool shares, Gradients& gradients) {
  const std::span<const NodeId> found = collect(root);
  const graph::Node* const nodes = &context_.graph[0];
  const Gradients::Notes notes = gradients.notes();
  parameters_.clear();
  lookups_.clear();
  if (!groups_.empty()) {  // the pass before failed
    groups_.clear();
  }
  groups_.grow(history_.size());
  for (std::size_t i = found.size(); i-- > 0;) {
    const NodeId n = found[i];
    const graph::Node& node = nodes[n];
    bool needs = full;
    if (node.record().is_leaf()) {
      needs = note_leaf(n, full, shares, gradients);
    } else {
      needs = needs || (!node.record().stops_gradient && has_needing_argument(node, notes));
      notes.note(n, needs);
      for (std::uint32_t k = 1; k < node.record().outputs; ++k) {
        notes.note(n + k, needs);
      }
    }
    if (!needs) {
      continue;
    }
    if (values_.group_of(n) == Values::kNoGroup) {
      refuse_kept(n);
      continue;
    }
    groups_.insert(values_.group_of(n));
    if (values_.rest_of(n) != Values::kNoGroup) {
      groups_.insert(values_.rest_of(n));
    }
  }
}

/// The nodes that `root` depends on, descending; of projections the node that computes them.
std::span<const NodeId> Path::collect(NodeId root) {
  if (!open_.empty()) {
    open_.clear();
  }
  open_.grow(context_.graph.size());
  found_.resize(std::max<std::size_t>(found_.size(), context_.graph.size()));
  NodeId* next = found_.data();
  open_.insert(context_.graph.owner(root));
  const graph::Node* const nodes = &context_.graph[0];
  seen_.begin(context_.graph.parameter_lists().size());
  open_.take_all([&next, nodes, this](NodeId n) {
    *next++ = n;
    const graph::Node& node = nodes[n];
    if (!node.record().stops_gradient) {
      context_.graph.visit_unseen_arguments(
          node, seen_, [nodes, this](NodeId a) { open_.insert(a - nodes[a].output); });
    }
  });
  found_count_ = static_cast<std::size_t>(next - found_.data());
  visits_ += found_count_;
  return found();
}

bool Path::note_leaf(NodeId n, bool full, bool shares, Gradients& gradients) {
  const graph::Node& node = context_.graph[n];
  const bool trained = is_trained(context_.graph, n);
  bool follows = false;
  if (node.record().gradient_goes_to == ext::GradientTo::kStorage) {
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

/// A node on the way that no group computed: a parameter, or what an inference scope kept.
void Path::refuse_kept(NodeId n) const {
  const graph::Node& node = context_.graph[n];
  if (node.output != 0 || node.record().reads_storage != ext::Storage::kWhole) {
    throw errors::GraphError(
        "backward: a node on the way was computed in an inference scope, which keeps nothing for "
        "gradients; call invalidate() and ask for values outside the scope\n  " +
        context_.graph.describe(n));
  }
}

}  // namespace dynet::execute
