#pragma once

#include <cstdint>
#include <vector>

#include "execute/gradients.h"
#include "execute/weight_gradients.h"
#include "util/stamped.h"

namespace dynet::execute {

/// The gradients of weights that are no parameters: rows of a table, and what other nodes computed
/// (a matrix behind a mask). Their products are left as those of parameters are, until the pass
/// comes to the node of the weight, or to its end. A matrix that every step of a sequence
/// multiplies with gets one product instead of one for each step. Not thread-safe.
class ComputedWeights {
 public:
  explicit ComputedWeights(Gradients& gradients) : gradients_(gradients) {}
  ComputedWeights(const ComputedWeights&) = delete;
  ComputedWeights& operator=(const ComputedWeights&) = delete;
  ~ComputedWeights() = default;

  /// Begins a pass: forgets all products.
  void begin();
  /// Where products for the gradient of node `n` are left, which needs one.
  [[nodiscard]] ext::ProductSink& sink(NodeId n);
  /// Whether products may be left for some node.
  [[nodiscard]] bool has_any() const { return !nodes_.empty(); }
  /// Whether products were left for `n`.
  [[nodiscard]] bool has(NodeId n) const {
    const std::uint32_t place = place_[n];
    return place != 0 && products_.has(place - 1);
  }
  /// Adds the products that were left for `n` to its gradient.
  void finish(NodeId n);
  void finish_all();

 private:
  Gradients& gradients_;
  WeightGradients products_;            ///< by place in `nodes_`
  std::vector<NodeId> nodes_;           ///< for which a sink was asked in this pass
  util::Stamped<std::uint32_t> place_;  ///< of a node, + 1
};

}  // namespace dynet::execute
