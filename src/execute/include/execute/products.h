#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dynet/ext/kernels.h"

#include "graph/graph.h"
#include "util/stamped.h"

namespace dynet::execute {

using graph::NodeId;

/// The products that make the gradients of weights, dW += dy * transpose(x): noted during a
/// backward pass, by the node of the weight, and done as one product for each weight. A matrix that
/// every step of a sequence multiplies with gets one product instead of one for each step. routes.h
/// says which weights, and when. Holds no memory of numbers; the operands' memory outlives the
/// pass. Not thread-safe.
class Products {
 public:
  /// Begins a pass over a graph with so many nodes: forgets all products.
  void begin(std::size_t nodes) {
    weights_.clear();
    place_.begin(nodes);
    has_computed_ = false;
  }
  /// Where products for a weight are left; valid until `begin`. `is_computed`: the weight is no
  /// parameter, and its products are done within the pass.
  [[nodiscard]] ext::ProductSink& sink(NodeId weight, bool is_computed);
  [[nodiscard]] bool has(NodeId weight) const {
    const std::uint32_t place = place_[weight];
    return place != 0 && !sinks_[place - 1]->dy.blocks.empty();
  }
  /// Whether a sink was asked for a weight that is no parameter.
  [[nodiscard]] bool has_computed() const { return has_computed_; }
  /// The weights that a sink was asked for, in the order of their first calls.
  [[nodiscard]] const std::vector<NodeId>& weights() const { return weights_; }
  /// Does the products of a weight, which has some, as one, into `destination`. Returns the squared
  /// norm of the result if that came with it. Takes scratch memory of the thread alone.
  std::optional<double> add(const ext::Kernels& kernels, NodeId weight,
                            const ext::Operand& destination);
  /// Forgets the products of one weight.
  void drop(NodeId weight) { sinks_[place_[weight] - 1]->clear(); }

 private:
  /// One side of the products of a weight, side by side: {rows}, an example for each column.
  struct Columns {
    ext::Operand all;
    std::vector<ext::Block> blocks;

    void append(const ext::Operand& o, std::int64_t columns_each);
    void clear();
    const ext::Operand& operand();
  };
  struct Sink final : ext::ProductSink {
    Columns dy, x;

    void push(const ext::Operand& dy_more, const ext::Operand& x_more) override;
    void clear() {
      dy.clear();
      x.clear();
    }
  };

  std::vector<NodeId> weights_;               ///< of this pass
  std::vector<std::unique_ptr<Sink>> sinks_;  ///< of `weights_`; more were used in other passes
  util::Stamped<std::uint32_t> place_;        ///< of a node in `weights_`, plus one
  bool has_computed_ = false;
};

}  // namespace dynet::execute
