#pragma once

// `Expression`: a handle of 16 bytes to a node of a computation graph. User code copies it freely.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dynet/dim.h"
#include "dynet/gradient_mode.h"
#include "dynet/tensor.h"
#include "dynet/where.h"

namespace dynet {

struct ComputationGraph;
using VariableIndex = unsigned;

/// A node of a computation graph. Operators and functions of expressions make further nodes;
/// nothing is computed until a value is requested. The use of an expression after its graph was
/// cleared, destroyed, or reverted past the node throws StaleExpression.
///
/// C++: Thread rule: as its graph.
struct Expression {
  ComputationGraph* pg = nullptr;  ///< null: unset
  VariableIndex i = 0;
  unsigned graph_id = 0;  ///< the epoch

  Expression() = default;
  /// The node `index` of a live graph.
  Expression(ComputationGraph* graph, VariableIndex index);
  Expression(ComputationGraph* graph, VariableIndex index, unsigned epoch)
      : pg(graph), i(index), graph_id(epoch) {}

  /// Name of the device that the node is on.
  [[nodiscard]] std::string get_device_name() const;
  /// Whether the graph has gone on without it.
  [[nodiscard]] bool is_stale() const;
  /// The value. Computes missing values.
  ///
  /// C++: The view stays valid until the graph is computed anew or cleared.
  ///
  /// Python: A float for one element, a list for a vector (the examples of a batch one after the
  /// other), an array for two dimensions or more. `recalculate`: computes everything anew.
  const Tensor& value() const;
  /// The gradient of the last `backward`; zeros if no gradient flowed here.
  [[nodiscard]] const Tensor& gradient() const;
  /// The shape of one example, and the number of examples.
  [[nodiscard]] const Dim& dim() const;
};

namespace detail {
/// An expression together with the place in the user's source where it was passed.
struct Located {
  const Expression& e;
  Where where;
  // NOLINTNEXTLINE(google-explicit-constructor): an argument of a function becomes one
  Located(const Expression& x, Where at = Where::here()) : e(x), where(at) {}
};
/// A graph together with the place where it was passed: first argument of inputs and constants.
struct LocatedGraph {
  ComputationGraph& graph;
  Where where;
  // NOLINTNEXTLINE(google-explicit-constructor): an argument of a function becomes one
  LocatedGraph(ComputationGraph& g, Where at = Where::here()) : graph(g), where(at) {}
};
}  // namespace detail

namespace expr {
using namespace dynet;  // NOLINT(google-build-using-namespace): programs of 2016 say dynet::expr::
}

}  // namespace dynet
