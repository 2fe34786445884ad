// Builders for trees with two branches.

#include <memory>
#include <utility>

#include "dynet/treelstm.h"

#include "binding.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

struct PyTreeBuilder {
  std::unique_ptr<BinaryTreeBuilder> builder;
  const PyGraph* graph = nullptr;  ///< where new_graph was called last, only compared
  unsigned version = 0;
  std::size_t nodes = 0;

  void new_graph(bool update) {
    PyGraph& now = current_graph();
    builder->new_graph(now.cg, update);
    graph = &now;
    version = now.version();
    nodes = now.cg.nodes.size();
  }
  /// Ready in this thread's graph, as it is now.
  BinaryTreeBuilder& live() {
    const PyGraph& now = current_graph();
    if (graph != &now || version != now.version() || now.cg.nodes.size() < nodes) {
      new_graph(true);
    }
    return *builder;
  }
};
struct PyBinaryTreeLSTMBuilder : PyTreeBuilder {};
struct PyTreeRNNBuilder : PyTreeBuilder {};

void bind_state(nb::module_& m) {
  nb::class_<TreeState>(m, "TreeState", nb::pooled(256), "A node of a tree.")
      .def_prop_ro(
          "h", [](const TreeState& s) { return PyExpression(s.h); }, "Its vector.")
      .def_prop_ro(
          "c",
          [](const TreeState& s) -> nb::object {
            return s.c.pg == nullptr ? nb::none() : make_expression(s.c);
          },
          nb::sig("def c(self) -> Expression | None"), "Its cell; None without.");
}

void bind_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PyTreeBuilder>(m, "_BinaryTreeBuilder", "Base of the builders for binary trees.")
      .def(
          "new_graph",
          [](PyTreeBuilder& b, const nb::object& /*cg*/, bool update) { b.new_graph(update); },
          arg("cg") = nb::none(), arg("update") = true,
          "Adds the parameters to this thread's graph; without `update` they get no gradient. "
          "Without this call, the first `add_input` in a graph does it.")
      .def(
          "add_input",
          [](PyTreeBuilder& b, const ExprArg& x) {
            BinaryTreeBuilder& live = b.live();
            return live.add_input(x.node(), here());
          },
          arg("x"), "A word with vector x.")
      .def(
          "add_input",
          [](PyTreeBuilder& b, const TreeState& left, const TreeState& right) {
            BinaryTreeBuilder& live = b.live();
            return live.add_input(left, right, here());
          },
          arg("left"), arg("right"), "A node over two others.")
      .def(
          "get_parameters",
          [](const PyTreeBuilder& b) {
            nb::list list;
            for (const Parameter& p : b.builder->params) {
              list.append(PyParameters(p, b.builder->local_model));
            }
            return list;
          },
          nb::sig("def get_parameters(self) -> list[Parameters]"))
      .def("param_collection",
           [](PyTreeBuilder& b) { return b.builder->get_parameter_collection(); });
}

}  // namespace

void bind_tree_builders(nb::module_& m) {
  using nb::arg;
  bind_state(m);
  bind_base(m);
  nb::class_<PyBinaryTreeLSTMBuilder, PyTreeBuilder>(
      m, "BinaryTreeLSTMBuilder",
      "The tree LSTM of the DyNet paper's benchmark (Tai et al., 2015).")
      .def(
          "__init__",
          [](PyBinaryTreeLSTMBuilder* self, unsigned input_dim, unsigned hidden_dim,
             ParameterCollection& model) {
            auto builder = std::make_unique<BinaryTreeLSTMBuilder>(input_dim, hidden_dim, model);
            (new (self) PyBinaryTreeLSTMBuilder)->builder = std::move(builder);
          },
          arg("input_dim"), arg("hidden_dim"), arg("model"));
  nb::class_<PyTreeRNNBuilder, PyTreeBuilder>(
      m, "TreeRNNBuilder",
      "The recursive network h = tanh(W [h1; h2]); a word's vector is its own state.")
      .def(
          "__init__",
          [](PyTreeRNNBuilder* self, unsigned hidden_dim, ParameterCollection& model) {
            auto builder = std::make_unique<TreeRNNBuilder>(hidden_dim, model);
            (new (self) PyTreeRNNBuilder)->builder = std::move(builder);
          },
          arg("hidden_dim"), arg("model"));
}

}  // namespace dynet::python
