// Builders for trees: of numbered nodes with any number of children, and of nodes with two
// branches.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "arguments.h"
#include "binding.h"
#include "graph.h"
#include "made.h"
#include "quick.h"
#include "text_of.h"
#include "texts.h"
#include "where.h"

template <>
struct nanobind::detail::type_caster<dynet::TreeState> : NewObjectCaster<dynet::TreeState> {};

namespace dynet::python {
namespace {

// ---- two branches
// --------------------------------------------------------------------------------

struct PyTreeBuilder : Made {
  std::unique_ptr<BinaryTreeBuilder> builder;
  ReadyIn ready;

  void new_graph(bool update) {
    builder->new_graph(current_graph().cg, update);
    ready.note();
  }
  /// Ready in this thread's graph, as it is now.
  BinaryTreeBuilder& live() {
    if (!ready.is_ready()) {
      new_graph(true);
    }
    return *builder;
  }
};
struct PyBinaryTreeLSTMBuilder : PyTreeBuilder {};
struct PyTreeRNNBuilder : PyTreeBuilder {};

PyExpression vector_of(const TreeState* s) { return PyExpression(s->h); }

TreeState add_word(PyTreeBuilder* b, ExprArg x) {
  BinaryTreeBuilder& live = b->live();
  return live.add_input(x.node(), here());
}
TreeState add_above(PyTreeBuilder* b, const TreeState* left, const TreeState* right) {
  return b->live().add_input(*left, *right, here());
}

nb::list transduce(PyTreeBuilder* b, const ExprListArg& xs, const TreeNodesArg& left,
                   const TreeNodesArg& right) {
  return list_of(b->live().transduce(xs.nodes(), left.list, right.list, here()));
}

void bind_tree_state(nb::module_& m) {
  nb::class_<TreeState> c(m, "TreeState", nb::pooled(256), texts::TreeState);
  object_type<TreeState> = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.def_prop_ro("h", &vector_of, texts::TreeState_h)
      .def_prop_ro(
          "c",
          [](const TreeState& s) -> nb::object {
            return s.c.pg == nullptr ? nb::none() : make_expression(s.c);
          },
          nb::sig("def c(self) -> Expression | None"), texts::TreeState_c);
  add_quick_way<&vector_of>(c, "h");
}

void bind_tree_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PyTreeBuilder> c(m, "_BinaryTreeBuilder", texts::BinaryTreeBuilder);
  object_type<PyTreeBuilder> = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.def(
       "new_graph",
       [](PyTreeBuilder& b, const nb::object& /*cg*/, bool update) { b.new_graph(update); },
       arg("cg") = nb::none(), arg("update") = true, texts::BinaryTreeBuilder_new_graph)
      .def("add_input", &add_word, arg("x"), texts::BinaryTreeBuilder_add_input)
      .def("add_input", &add_above, arg("left"), arg("right"), texts::BinaryTreeBuilder_add_input_2)
      .def("transduce", &transduce, arg("xs"), arg("left"), arg("right"),
           nb::sig("def transduce(self, xs: collections.abc.Iterable[Expression], left: "
                   "collections.abc.Sequence[int], right: collections.abc.Sequence[int]) -> "
                   "list[Expression]"),
           texts::BinaryTreeBuilder_transduce)
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
      .def(
          "param_collection",
          [](PyTreeBuilder& b) { return b.builder->get_parameter_collection(); },
          texts::BinaryTreeBuilder_get_parameter_collection);
  add_quick_way<&add_word>(c, "add_input");
  add_quick_way<&add_above>(c, "add_input");
  add_quick_way<&transduce>(c, "transduce");
}

// ---- nodes with any number of children
// -------------------------------------------------------------

struct PyTreeNodesBuilder : Made {
  std::unique_ptr<TreeNodesBuilder> builder;
  ReadyIn ready;

  void new_graph(bool update) {
    builder->new_graph(current_graph().cg, update);
    ready.note();
  }
  void start_new_sequence(const std::optional<ExprListArg>& h_0) {
    if (!ready.is_ready()) {
      new_graph(true);
    }
    builder->start_new_sequence(h_0 ? h_0->nodes() : std::vector<Expression>(), here());
  }
  /// The builder. StaleExpression if the graph was renewed since.
  [[nodiscard]] TreeNodesBuilder& live() const {
    if (!ready.is_ready()) {
      throw errors::StaleExpression(
          "stale builder: the graph was renewed; call start_new_sequence() again");
    }
    return *builder;
  }
};
template <class Builder>
struct PyTreeNodesBuilderOf : PyTreeNodesBuilder {
  [[nodiscard]] Builder& get() const { return static_cast<Builder&>(*builder); }
};

void bind_nodes_states(nb::class_<PyTreeNodesBuilder>& c) {
  using nb::arg;
  c.def(
       "back", [](const PyTreeNodesBuilder& b) { return PyExpression(b.live().back()); },
       texts::TreeNodesBuilder_back)
      .def(
          "get_h", [](const PyTreeNodesBuilder& b, int i) { return list_of(b.live().get_h(i)); },
          arg("id"), nb::sig("def get_h(self, id: int) -> list[Expression]"),
          texts::TreeNodesBuilder_get_h)
      .def(
          "get_s", [](const PyTreeNodesBuilder& b, int i) { return list_of(b.live().get_s(i)); },
          arg("id"), nb::sig("def get_s(self, id: int) -> list[Expression]"),
          texts::TreeNodesBuilder_get_s)
      .def(
          "final_h", [](const PyTreeNodesBuilder& b) { return list_of(b.live().final_h()); },
          nb::sig("def final_h(self) -> list[Expression]"), texts::TreeNodesBuilder_final_h)
      .def(
          "final_s", [](const PyTreeNodesBuilder& b) { return list_of(b.live().final_s()); },
          nb::sig("def final_s(self) -> list[Expression]"), texts::TreeNodesBuilder_final_s);
}

void bind_nodes_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PyTreeNodesBuilder> c(m, "_TreeNodesBuilder", texts::TreeNodesBuilder);
  c.def(
       "new_graph",
       [](PyTreeNodesBuilder& b, const nb::object& /*cg*/, bool update) { b.new_graph(update); },
       arg("cg") = nb::none(), arg("update") = true, texts::RNNBuilder_new_graph)
      .def(
          "start_new_sequence",
          [](PyTreeNodesBuilder& b, const std::optional<ExprListArg>& h_0) {
            b.start_new_sequence(h_0);
          },
          arg("h_0") = nb::none(),
          "Begins a tree. `h_0`: an initial state, which leaves read (cells, if there are any, "
          "then hidden states).")
      .def(
          "set_num_elements",
          [](const PyTreeNodesBuilder& b, int num) { b.live().set_num_elements(num); }, arg("num"),
          texts::TreeNodesBuilder_set_num_elements)
      .def(
          "add_input",
          [](const PyTreeNodesBuilder& b, int id, const std::vector<int>& children,
             const ExprArg& x) {
            TreeNodesBuilder& live = b.live();
            return PyExpression(live.add_input(id, children, x.node(), here()));
          },
          arg("id"), arg("children"), arg("x"), texts::TreeNodesBuilder_add_input)
      .def(
          "set_dropout",
          [](PyTreeNodesBuilder& b, float f) {
            b.builder->set_dropout(f);
            b.set("dropout", "set_dropout", f);
          },
          arg("f"), "Share of the numbers that are set to 0, by masks that a tree's nodes share.")
      .def(
          "disable_dropout",
          [](PyTreeNodesBuilder& b) {
            b.builder->disable_dropout();
            b.unset("dropout");
          },
          texts::RNNBuilder_disable_dropout)
      .def(
          "num_h0_components",
          [](const PyTreeNodesBuilder& b) { return b.builder->num_h0_components(); },
          texts::RNNBuilder_num_h0_components)
      .def(
          "param_collection",
          [](PyTreeNodesBuilder& b) { return b.builder->get_parameter_collection(); },
          texts::TreeNodesBuilder_get_parameter_collection);
  bind_nodes_states(c);
}

/// One list per layer.
void append_parameters(nb::list& layers, const std::vector<std::vector<Parameter>>& params,
                       const ParameterCollection& owner) {
  for (const auto& layer : params) {
    nb::list list;
    for (const Parameter& p : layer) {
      list.append(PyParameters(p, owner));
    }
    layers.append(list);
  }
}
nb::list parameters_of(const LayeredTreeBuilder& b) {
  nb::list layers;
  append_parameters(layers, b.params, b.local_model);
  return layers;
}
nb::list parameters_of(const UnidirectionalTreeLSTMBuilder& b) {
  nb::list layers;
  append_parameters(layers, b.node_builder.params, b.local_model);
  return layers;
}
nb::list parameters_of(const BidirectionalTreeLSTMBuilder& b) {
  nb::list layers;
  append_parameters(layers, b.fwd_node_builder.params, b.local_model);
  append_parameters(layers, b.rev_node_builder.params, b.local_model);
  return layers;
}

template <class Builder>
auto define_nodes_builder(nb::module_& m, const char* name) {
  using Py = PyTreeNodesBuilderOf<Builder>;
  nb::class_<Py, PyTreeNodesBuilder> c(m, name, text_of(name));
  c.def(
       "get_parameters", [](const Py& b) { return parameters_of(b.get()); },
       nb::sig("def get_parameters(self) -> list[list[Parameters]]"),
       "One list per layer; for two directions the layers of the first, then of the second.")
      .def(
          "copy",
          [](Py& b, const Py& other) {
            b.get().copy(other.get());
            b.share(other);
          },
          nb::arg("other"), texts::RNNBuilder_copy);
  return c;
}

template <class Builder, class... Places>
std::unique_ptr<TreeNodesBuilder> make_tree(Places... places, unsigned layers, unsigned input_dim,
                                            unsigned hidden_dim, ParameterCollection& model) {
  return std::make_unique<Builder>(places..., layers, input_dim, hidden_dim, model);
}

/// A builder made from (layers, input_dim, hidden_dim, model).
template <class Builder>
auto bind_nodes_builder(nb::module_& m, const char* name) {
  using nb::arg;
  auto c = define_nodes_builder<Builder>(m, name);
  def_init(c, &make_tree<Builder>, arg("layers"), arg("input_dim"), arg("hidden_dim"),
           arg("model"));
  return c;
}

template <class Class>
void add_rates(Class& c) {
  using Py = typename Class::Type;
  c.def(
      "set_dropouts",
      [](Py& b, float d, float d_h) {
        b.get().set_dropout(d, d_h);
        b.set("dropout", "set_dropouts", d, d_h);
      },
      nb::arg("d"), nb::arg("d_h"), texts::LayeredTreeBuilder_set_dropout);
}

void bind_nodes_builders(nb::module_& m) {
  using nb::arg;
  bind_nodes_base(m);
  auto nary = define_nodes_builder<NaryTreeLSTMBuilder>(m, "NaryTreeLSTMBuilder");
  def_init(nary, &make_tree<NaryTreeLSTMBuilder, unsigned>, arg("N"), arg("layers"),
           arg("input_dim"), arg("hidden_dim"), arg("model"));
  add_rates(nary);
  auto child_sum = bind_nodes_builder<ChildSumTreeLSTMBuilder>(m, "ChildSumTreeLSTMBuilder");
  add_rates(child_sum);
  auto gru = bind_nodes_builder<TreeGRUBuilder>(m, "TreeGRUBuilder");
  add_rates(gru);
  bind_nodes_builder<UnidirectionalTreeLSTMBuilder>(m, "UnidirectionalTreeLSTMBuilder");
  bind_nodes_builder<BidirectionalTreeLSTMBuilder>(m, "BidirectionalTreeLSTMBuilder");
}

}  // namespace

void bind_tree_builders(nb::module_& m) {
  using nb::arg;
  bind_nodes_builders(m);
  bind_tree_state(m);
  bind_tree_base(m);
  nb::class_<PyBinaryTreeLSTMBuilder, PyTreeBuilder> lstm(m, "BinaryTreeLSTMBuilder",
                                                          texts::BinaryTreeLSTMBuilder);
  def_init(
      lstm,
      +[](unsigned input_dim, unsigned hidden_dim,
          ParameterCollection& model) -> std::unique_ptr<BinaryTreeBuilder> {
        return std::make_unique<BinaryTreeLSTMBuilder>(input_dim, hidden_dim, model);
      },
      arg("input_dim"), arg("hidden_dim"), arg("model"));
  nb::class_<PyTreeRNNBuilder, PyTreeBuilder> rnn(m, "TreeRNNBuilder", texts::TreeRNNBuilder);
  def_init(
      rnn,
      +[](unsigned hidden_dim, ParameterCollection& model) -> std::unique_ptr<BinaryTreeBuilder> {
        return std::make_unique<TreeRNNBuilder>(hidden_dim, model);
      },
      arg("hidden_dim"), arg("model"));
}

}  // namespace dynet::python
