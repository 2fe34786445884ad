#pragma once

// The hierarchical softmax (cfsm-builder.h has the interface).

#include <iosfwd>
#include <string>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// A node of the tree of a hierarchical softmax.
using Cluster = detail::Cluster;

/// The softmax as a walk down a tree, from the top to the word (Morin and Bengio, 2005): the cost
/// of a loss grows with the choices on the way, which are 14 for 16,384 words in a binary tree.
///
///   p(word) = product of p(outcome | node) over the nodes on the way
///
/// A line of the file is `<symbol> ... <symbol>\t<word>`, a space between symbols, and perhaps more
/// after a space or tab; lines with the same first symbols have the same nodes. Parameters, in the
/// collection `hsm-builder`, a node before its children and these as they first appear: none for
/// one outcome; for two w {1,rep_dim}, b {1}, p(first) = logistic(w rep + b); for k > 2
/// w {k,rep_dim}, b {k}, a softmax; biases are 0.
///
/// Python: The file may be a list of its lines. `dict` maps words to ids 0, 1, 2, ..., and gets the
/// words that it lacks.
class HierarchicalSoftmaxBuilder final : public detail::TreeSoftmaxBuilder {
 public:
  HierarchicalSoftmaxBuilder() = default;
  explicit HierarchicalSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file,
                                      Dict& word_dict, ParameterCollection& model);
  /// Reads the lines of such a file from a stream, named `called` in messages.
  explicit HierarchicalSoftmaxBuilder(unsigned rep_dim, std::istream& clusters, Dict& word_dict,
                                      ParameterCollection& model,
                                      const std::string& called = "the clusters");
  /// Replaces the parameters by new ones in `model` itself.
  void initialize(ParameterCollection& model);

 protected:
  [[nodiscard]] const char* name() const override { return "HierarchicalSoftmaxBuilder"; }
};

}  // namespace dynet
