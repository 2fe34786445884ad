#pragma once

// The computation graph as users see it. A function of expr.h adds a node and computes nothing; a
// request for a value computes all nodes that are needed, groups of equal nodes together. Example:
// 16 sentences with a tanh each make 16 nodes, which run as one kernel call.

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/expression.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet/tensor.h"

namespace dynet {

namespace api {
struct GraphState;
}
namespace detail {
class NodeArguments;
}

/// A computation graph: nodes appended by functions and operators, values computed on request,
/// gradients by `backward`. Any number may live at once.
///
/// C++: Thread rule: one thread at a time (a second thread gets GraphError); graphs of different
/// threads may share parameters.
///
/// Python: Each thread has one, in which functions make nodes. Within `with ComputationGraph():`
/// they make nodes in a graph of the block's own; afterwards the graph of before is the current one
/// again, whatever was raised. The graph's expressions live as long as the graph does: as long as
/// the program holds it, as by `with ComputationGraph() as g:`. Blocks nest. Options: see
/// `renew_cg`.
struct ComputationGraph {
  /// The graph's device, for inputs and constants that name none, is the default device. The option
  /// `--dynet-autobatch` sets batching (on unless switched off).
  ComputationGraph();
  explicit ComputationGraph(bool batched);
  ~ComputationGraph();
  ComputationGraph(const ComputationGraph&) = delete;
  ComputationGraph& operator=(const ComputationGraph&) = delete;

  /// Removes all nodes; their expressions become stale. Marks are forgotten.
  void clear();
  /// Pushes a mark. Computes all nodes built so far; no group of nodes crosses a mark.
  void checkpoint();
  /// Removes the nodes above the last mark and the mark; without a mark does nothing.
  void revert();

  /// The shape of a node; valid until the graph is cleared or destroyed. (DyNet 2.1 gives a
  /// writable reference; here nodes share their shapes.) IndexError.
  [[nodiscard]] const Dim& get_dimension(VariableIndex index) const;
  /// Forgets all values and computes up to `last`; random nodes draw anew.
  const Tensor& forward(const Expression& last);
  const Tensor& forward(VariableIndex i);
  /// Computes only missing values.
  const Tensor& incremental_forward(const Expression& last);
  const Tensor& incremental_forward(VariableIndex i);
  const Tensor& get_value(VariableIndex i);
  const Tensor& get_value(const Expression& e);
  /// The gradient of the last `backward`. GraphError if `backward` did not reach the node.
  const Tensor& get_gradient(VariableIndex i);
  const Tensor& get_gradient(const Expression& e);
  /// Forgets computed values, for a program that changed numbers behind a pointer.
  void invalidate();
  /// Adds the gradient of scalar node `i` to the parameters. `full`: also computes gradients of
  /// nodes that do not depend on a parameter. ShapeError unless the value has one element.
  void backward(const Expression& last, bool full = false);
  void backward(VariableIndex i, bool full = false);

  /// Whether each node is computed when it is added.
  void set_immediate_compute(bool ic);
  /// From now on, NumericError if computed values have NaN or infinity: the error names the first
  /// such node and its line. Within an InferenceScope only requested values are checked.
  void set_check_validity(bool cv);
  /// Switches batching for later computations.
  void set_batching(bool on);
  [[nodiscard]] bool batching() const;
  /// The stream of this graph's random nodes, for programs with threads; otherwise the next of the
  /// process is drawn at the first random node.
  void set_random_stream(std::uint64_t stream);

  /// Writes DOT text to the standard error stream.
  void print_graphviz() const;
  /// The DOT text of print_graphviz().
  [[nodiscard]] std::string to_dot() const;
  /// The graph as an SVG picture, with a box for each group of a plan of all nodes: "3: 16 x tanh".
  /// Point at a node for its operation, shape and line.
  ///
  /// Python: A notebook shows the picture if a cell ends with `dy.cg()`.
  [[nodiscard]] std::string to_svg() const;
  /// Writes all nodes to a file, or to the standard output if `filename` is empty, with values
  /// (missing values are computed) and with the gradients of the last `backward`; nodes made after
  /// its root have none. `nan_check_only`: says whether the numbers are finite instead of printing
  /// them. IoError.
  void dump(const std::string& filename, bool show_values, bool show_gradients,
            bool nan_check_only);
  [[nodiscard]] unsigned get_id() const;

  // Inputs by index, as programs of 2.1 add them; expr.h has the functions.
  VariableIndex add_input(real s, Device* device = nullptr);
  VariableIndex add_input(const real* ps, Device* device = nullptr);
  VariableIndex add_input(const Dim& d, const std::vector<float>& data, Device* device = nullptr);
  VariableIndex add_input(const Dim& d, const std::vector<float>* pdata, Device* device = nullptr);
  VariableIndex add_input(const Dim& d, const std::vector<unsigned>& ids,
                          const std::vector<float>& data, Device* device = nullptr,
                          float defdata = 0.0F);
  VariableIndex add_parameters(const Parameter& p);
  VariableIndex add_parameters(const LookupParameter& p);
  VariableIndex add_const_parameters(const Parameter& p);
  VariableIndex add_const_parameters(const LookupParameter& p);
  VariableIndex add_lookup(const LookupParameter& p, unsigned index);
  VariableIndex add_lookup(const LookupParameter& p, const unsigned* pindex);
  VariableIndex add_lookup(const LookupParameter& p, const std::vector<unsigned>& indices);
  VariableIndex add_lookup(const LookupParameter& p, const std::vector<unsigned>* pindices);
  VariableIndex add_const_lookup(const LookupParameter& p, unsigned index);
  VariableIndex add_const_lookup(const LookupParameter& p, const unsigned* pindex);
  VariableIndex add_const_lookup(const LookupParameter& p, const std::vector<unsigned>& indices);
  VariableIndex add_const_lookup(const LookupParameter& p, const std::vector<unsigned>* pindices);

  /// An operation by the name of its node class in 2.1, with the arguments of that class's
  /// constructor: `cg.add_function<Softmax>({x.i}, 0)`. dynet/nodes.h has the names and this
  /// function's definition. Errors: as the operation; ValueError for another number of arguments.
  template <class Function, class... Side>
  VariableIndex add_function(const detail::NodeArguments& arguments, Side&&... side);

  /// A read-only view of the nodes: `cg.nodes.size()`, `cg.nodes[i]->dim`, `cg.nodes[i]->device`.
  struct NodeView {
    Dim dim;
    const Device* device;
    const NodeView* operator->() const { return this; }
  };
  class NodeList {
   public:
    explicit NodeList(const ComputationGraph& graph) : graph_(graph) {}
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// IndexError if there is no node `i`.
    NodeView operator[](std::size_t i) const;
    /// The node added last. IndexError if there is none.
    [[nodiscard]] NodeView back() const { return (*this)[size() - 1]; }

    /// Goes over the nodes in the order in which they were added.
    class Iterator {
     public:
      // NOLINTBEGIN(readability-identifier-naming): names of the standard
      using iterator_category = std::input_iterator_tag;
      using value_type = NodeView;
      using difference_type = std::ptrdiff_t;
      using pointer = NodeView;
      using reference = NodeView;
      // NOLINTEND(readability-identifier-naming)

      /// An iterator of no list, to be assigned to.
      Iterator() = default;
      Iterator(const NodeList& list, std::size_t at) : list_(&list), at_(at) {}
      NodeView operator*() const { return (*list_)[at_]; }
      NodeView operator->() const { return **this; }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      Iterator operator++(int) {
        const Iterator before = *this;
        ++at_;
        return before;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const NodeList* list_ = nullptr;
      std::size_t at_ = 0;
    };
    [[nodiscard]] Iterator begin() const { return {*this, 0}; }
    [[nodiscard]] Iterator end() const { return {*this, size()}; }

   private:
    const ComputationGraph& graph_;
  };
  const NodeList nodes{*this};

  /// The library's own.
  [[nodiscard]] api::GraphState& state() const { return *state_; }

 private:
  api::GraphState* state_;  ///< borrowed from the pool of workspaces, given back by the destructor
};

/// The reason why batching does not run two nodes of a graph together: the first difference of
/// their keys, such as "attributes: d=0 != d=1", "argument 1: {3} != {4}" or "argument 0: one
/// example, as the node has != one example for the node's 2", or another reason, such as that one
/// node waits for the other. "equal keys": nodes that are requested together and become ready
/// together share a group. Computes nothing. StaleExpression; GraphError if the nodes are of
/// different graphs.
template <int = 0>
[[nodiscard]] std::string explain_batch(const Expression& a, const Expression& b);

/// Exchanges two indices, for programs that do so by an unqualified name.
inline void swap(VariableIndex& n1, VariableIndex& n2) noexcept {
  const VariableIndex kept = n1;
  n1 = n2;
  n2 = kept;
}

/// Number of graphs alive in the process.
[[nodiscard]] int get_number_of_active_graphs();
/// Epoch of the newest graph.
[[nodiscard]] unsigned get_current_graph_id();

}  // namespace dynet
