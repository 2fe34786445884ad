#pragma once

// Gradients as nodes: the work of dynet::gradient (dynet/expr/gradient.h).
//
// In:  the nodes between some expressions and a loss, each with an operation that describes its
//      backward in operations (ext/gradient.h).
// Out: new nodes of the same graph, made in the order of backward, from the loss to its arguments.
//
// GradientNodes has one node in hand at a time: it adds the nodes that the operation asks for, and
// keeps for each node of the path the parts of its gradient, one from each user. All parts have the
// node's own shape and batch, so that their sum is one node. Example: for y = x * w the node * adds
// dy * w as a part of dx, and dy * x as a part of dw. gradient_formula.cc does the same for rules,
// whose gradients are formulas. Start reading at gradient.cc.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dynet/expression.h"
#include "dynet/ext/gradient.h"
#include "dynet/ext/op.h"
#include "dynet/ext/payload.h"

#include "api/gradient_path.h"
#include "api/graph_state.h"
#include "ops/program.h"

namespace dynet::api {

/// Both shapes side by side: each dimension, and the batch, is from the shape that has not 1.
[[nodiscard]] Dim broadcast(const Dim& a, const Dim& b);

/// Invariant: all parts of a node's gradient have its shape and batch. Thread rule: as the graph.
class GradientNodes final : public ext::GradientBuilder {
 public:
  /// `path`: the nodes whose gradients are wanted. It outlives this.
  GradientNodes(ComputationGraph& graph, const GradientPath& path, const Where& where);

  /// Takes node `n` in hand, which is no projection, and adds the nodes of its backward.
  void go_through(graph::NodeId n);
  /// Adds a part to the gradient of `n`, of its shape; does nothing if the gradient is not wanted.
  void add_part(graph::NodeId n, Node part);
  [[nodiscard]] bool has_parts(graph::NodeId n) const {
    const std::size_t place = path_.place(n);
    return place != GradientPath::kNone && !parts_[place].empty();
  }
  /// Has one of the results of node `n` a gradient, and elements?
  [[nodiscard]] bool is_reached(graph::NodeId n) const {
    bool any = false;
    for (graph::NodeId k = 0; k < graph_[n].record().outputs; ++k) {
      any = any || (has_parts(n + k) && graph_.elements(n + k) != 0);
    }
    return any;
  }
  /// The sum of all parts; empty if there are none.
  std::optional<Node> sum_of_parts(graph::NodeId n);
  /// The sum of nodes of equal shapes, one at least.
  Node sum(const std::vector<Node>& all);
  [[nodiscard]] Expression expression(Node n) const;
  /// Where constants are made.
  void set_device(const Device& device) { device_ = &device; }

  [[nodiscard]] std::size_t args() const override { return places_.size(); }
  [[nodiscard]] bool wants(std::size_t i) const override;
  [[nodiscard]] Node in(std::size_t i) const override { return {places_[i]}; }
  [[nodiscard]] Node out(std::size_t k) const override;
  Node d_out(std::size_t k) override;
  [[nodiscard]] Dim dim(Node n) const override { return graph_.dim(n.id); }
  [[nodiscard]] std::uint32_t index_count() const override;
  Node add(const ext::Record& record, const void* op, std::span<const Node> args,
           const Indices& indices) override;
  using GradientBuilder::add;
  using GradientBuilder::give;
  Node drawn_again(const ext::Record& record, const void* op, Node x) override;
  using GradientBuilder::drawn_again;
  Node constant(const Dim& shape, double value) override;
  Node indices_as_numbers(const Dim& shape) override;
  Node scaled(Node x, double factor) override;
  Node reshaped(Node x, const Dim& shape) override;
  void give(std::size_t i, Node gradient) override;
  void give(const ext::Formula& formula) override;
  /// All gradients of a program.
  void give(const ops::Program& program);

  // For formulas.

  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  [[nodiscard]] graph::NodeId node() const { return node_; }
  [[nodiscard]] bool has(std::size_t i) const { return places_[i] != graph::kAbsent; }
  /// A node with a payload and one argument at most.
  Node add_with(const ext::Record& record, const void* op, std::span<const Node> args,
                const ext::NodePayload& payload);
  /// The gradient `g` of an argument of shape `to`, for an operation in shape `work`: summed over
  /// dimensions that `to` repeats, and repeated if `g` has one number for several. Missing
  /// dimensions count as 1.
  Node fitted(Node g, const Dim& work, const Dim& to);
  /// 0, 1, ... in the order of the elements.
  Node number_line(const Dim& shape);
  /// Repeats x along dimensions that are 1 in x and larger in `shape`; the dimensions of x that are
  /// 1 in `shape` stay.
  Node broadcast_to(Node x, const Dim& shape);
  /// Sums over the dimensions of the mask, which become 1, and over the batch.
  Node summed(Node x, std::uint32_t mask, bool over_batch);

 protected:
  void add_slopes(const RuleAt& at, const ext::Formula& formula, std::span<Node> d_in) override;

 private:
  void add_steps(const ops::ProgramContent& program, std::vector<Node>& values);

  ComputationGraph& owner_;
  const graph::Graph& graph_;
  const GradientPath& path_;
  Where where_;
  const Device* device_;
  graph::NodeId node_ = 0;
  std::vector<graph::NodeId> places_;     ///< arguments of the node in hand
  std::vector<std::vector<Node>> parts_;  ///< by place on the path
};

/// Gives the gradients of a program: ext::Record::gradient of its nodes.
void add_gradient_of_program(const void* op, unsigned absent, ext::GradientBuilder& to);
/// Gives the gradients that a formula says to the arguments of the node that `to` has in hand.
void give_formula(GradientNodes& to, const ext::Formula& formula);
/// Adds the nodes of all gradients that a formula says, for a rule at other nodes.
void add_formula(GradientNodes& to, const ext::GradientBuilder::RuleAt& at,
                 const ext::Formula& formula, std::span<ext::GradientBuilder::Node> d_in);

}  // namespace dynet::api
