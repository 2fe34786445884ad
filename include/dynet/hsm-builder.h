#pragma once

// The hierarchical softmax (cfsm-builder.h has the interface).

#include <iosfwd>
#include <string>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// A node of the tree of a hierarchical softmax.
using Cluster = detail::Cluster;

/// The softmax as a walk down a tree, from the top to the word (Morin and Bengio, 2005): a loss
/// costs as much as the choices on the way, in a binary tree as much as the logarithm of the number
/// of words.
///
///   p(word) = product of p(outcome | node) over the nodes on the way
///
/// A line of the file is `<symbol> ... <symbol>\t<word>`, a space between symbols, and perhaps more
/// after a space or tab; lines with the same first symbols have the same nodes. Parameters, in the
/// collection `hsm-builder`, a node before its children and these as they first appear: none for
/// one outcome; for two w {1,rep_dim}, b {1}, p(first) = logistic(w rep + b); for k > 2
/// w {k,rep_dim}, b {k}, a softmax; biases are 0.
class HierarchicalSoftmaxBuilder final : public detail::TreeSoftmaxBuilder {
 public:
  HierarchicalSoftmaxBuilder() = default;
  explicit HierarchicalSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file,
                                      Dict& word_dict, ParameterCollection& model);
  /// From a stream of what stands in such a file, which messages call `called`.
  explicit HierarchicalSoftmaxBuilder(unsigned rep_dim, std::istream& clusters, Dict& word_dict,
                                      ParameterCollection& model,
                                      const std::string& called = "the clusters");
  /// Makes new parameters, in `model` itself, in the place of those it has.
  void initialize(ParameterCollection& model);

 protected:
  [[nodiscard]] const char* name() const override { return "HierarchicalSoftmaxBuilder"; }
};

}  // namespace dynet
