// Recurrent builders and their states.
//
// A state is a handle (builder, step); the steps are the builder's. `initial_state()` adds the
// parameters to this thread's graph when it is called in it for the first time.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"

#include "binding.h"
#include "graph.h"
#include "inputs.h"
#include "lock.h"
#include "made.h"
#include "quick.h"
#include "where.h"

namespace dynet::python {
namespace {

template <class Builder>
constexpr bool kHasOptions =
    std::is_same_v<Builder, VanillaLSTMBuilder> || std::is_same_v<Builder, SparseLSTMBuilder>;

struct PyRNNBuilder : Made {
  std::unique_ptr<RNNBuilder> builder;
  ReadyIn ready;
  nb::object initial;            ///< a weak reference to the initial state that was given out last
  unsigned initial_made_in = 0;  ///< its `made_in`

  /// Ready in this thread's graph, as it is now.
  void make_ready(bool update) {
    if (!ready.is_ready()) {
      builder->new_graph(current_graph().cg, update);
      builder->start_new_sequence({}, Where());  // of no line of the program's
      ready.note();
    }
  }
};
template <class Builder>
struct PyRNNBuilderOf : PyRNNBuilder {
  [[nodiscard]] Builder& get() const { return static_cast<Builder&>(*builder); }
};

/// A step, or -1 for the initial state. Keeps the builder alive.
struct PyRNNState {
  nb::object owner;
  PyRNNBuilder* builder;
  RNNPointer index;
  unsigned made_in;  ///< the builder's ready.count()
  Expression out;    ///< unset for the initial state

  /// The builder. StateError where the graph was renewed since.
  [[nodiscard]] RNNBuilder& live() const {
    if (!builder->ready.is_ready() || made_in != builder->ready.count()) {
      throw StaleExpression(
          "stale builder: its graph was renewed or is not the current one; call initial_state() "
          "again");
    }
    return *builder->builder;
  }
};

std::vector<Expression> nodes_of(const std::optional<ExprListArg>& xs) {
  return xs ? xs->nodes() : std::vector<Expression>();
}

/// The classes of builders, but for those that programs derive from them.
std::vector<PyTypeObject*>& builder_classes() {
  static std::vector<PyTypeObject*> of_module;
  return of_module;
}

/// A builder, or null where it is of a class of the program's own, whose states may be, too.
struct BuilderArg {
  PyRNNBuilder* builder = nullptr;
  nb::handle object;
};

/// What set_h and set_s get. None, which is DyNet 2.1's default there, says nothing.
std::vector<Expression> parts_of(const std::optional<ExprListArg>& es, const char* function,
                                 const char* wanted) {
  if (!es) {
    throw ValueError(std::string(function) + ": es is None; want a list of expressions: " + wanted);
  }
  return es->nodes();
}

}  // namespace

template <>
struct QuickArg<BuilderArg> {
  static bool read(PyObject* o, BuilderArg& arg) noexcept {
    const std::vector<PyTypeObject*>& all = builder_classes();
    const bool is_own = std::find(all.begin(), all.end(), Py_TYPE(o)) != all.end();
    arg.builder = is_own && nb::inst_ready(o) ? nb::inst_ptr<PyRNNBuilder>(o) : nullptr;
    arg.object = o;
    return true;
  }
};

}  // namespace dynet::python

template <>
struct nanobind::detail::type_caster<dynet::python::PyRNNState>
    : NewObjectCaster<dynet::python::PyRNNState> {};
template <>
struct nanobind::detail::type_caster<dynet::python::BuilderArg> {
  NB_TYPE_CASTER(dynet::python::BuilderArg, const_name("object"))
  bool from_python(handle src, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::QuickArg<dynet::python::BuilderArg>::read(src.ptr(), value);
  }
};

namespace dynet::python {
namespace {

nb::tuple tuple_of(const std::vector<Expression>& es) { return nb::tuple(list_of(es)); }

PyRNNState state_at(const PyRNNState& from, RNNPointer index) {
  PyRNNState state = from;
  state.index = index;
  state.out = index < 0 ? Expression() : from.live().get_output(index);
  return state;
}

PyRNNState add_input(const PyRNNState* from, ExprArg x) {
  const Expression read = x.node();
  RNNBuilder& b = from->live();
  PyRNNState next = *from;
  next.out = b.add_input(from->index, read, here());
  next.index = b.state();
  return next;
}

/// `whole`: s, not h.
PyRNNState set_state(const PyRNNState& from, const std::vector<Expression>& es, bool whole) {
  RNNBuilder& b = from.live();
  PyRNNState next = from;
  next.out = whole ? b.set_s(from.index, es, here()) : b.set_h(from.index, es, here());
  next.index = b.state();
  return next;
}

/// The initial state without values of its own: the same object as long as somebody has it.
nb::object shared_initial_state(PyRNNBuilder& b, const PyRNNState& state) {
  if (b.initial.is_valid() && b.initial_made_in == state.made_in) {
    nb::object there = b.initial();
    if (!there.is_none()) {
      return there;
    }
  }
  nb::object made = nb::cast(state);
  b.initial = nb::weakref(made);
  b.initial_made_in = state.made_in;
  return made;
}

nb::object initial_state(nb::handle_t<PyRNNBuilder> self, const std::vector<Expression>& vecs,
                         bool update) {
  auto& b = instance<PyRNNBuilder>(self);
  b.make_ready(update);
  const PyRNNState state{nb::borrow(self), &b, -1, b.ready.count(), Expression()};
  return vecs.empty() ? shared_initial_state(b, state) : nb::cast(set_state(state, vecs, true));
}

nb::object initial_state_from_arrays(nb::handle_t<PyRNNBuilder> self, nb::handle vecs,
                                     bool update) {
  return initial_state(self, inputs_of(vecs), update);
}

// NOLINTBEGIN(performance-unnecessary-value-param): the quick way makes values of these types

/// The outputs after each of `xs`, read one after the other from step `from` on. The steps go, as
/// nobody gets their states; what reads next finds their memory warm.
std::vector<Expression> outputs_after(RNNBuilder& b, RNNPointer from,
                                      const std::vector<Expression>& xs, const Where& where) {
  std::vector<Expression> outputs = b.transduce(from, xs, where);
  if (!outputs.empty()) {
    b.forget_after(b.state() - static_cast<RNNPointer>(outputs.size()));
  }
  return outputs;
}
nb::list transduce(const PyRNNState* from, ExprListArg xs) {
  return list_of(outputs_after(from->live(), from->index, xs.nodes(), here()));
}
nb::object output(const PyRNNState* state) {
  return state->index < 0 ? nb::none() : make_expression(state->out);
}

/// The states after each of `xs`.
std::vector<PyRNNState> states_after(const PyRNNState& from, const std::vector<Expression>& xs) {
  const std::vector<Expression> outputs = from.live().transduce(from.index, xs, here());
  std::vector<PyRNNState> states(outputs.size(), from);
  for (std::size_t i = outputs.size(); i > 0; --i) {
    PyRNNState& state = states[i - 1];
    state.out = outputs[i - 1];
    const bool is_last = i == outputs.size();
    state.index = is_last ? from.live().state() : from.live().get_head(states[i].index);
  }
  return states;
}
std::vector<PyRNNState> add_inputs(const PyRNNState* from, ExprListArg xs) {
  return states_after(*from, xs.nodes());
}

// For dynet/_bidirectional.py: two builders read `es` from their initial states, `backward` from
// the last one to the first. By itself it would make more objects, and ask for each where the
// program is.

/// By a function of that file, where a builder is the program's own.
nb::object read_by_own(const char* function, const BuilderArg& forward, const BuilderArg& backward,
                       const ExprListArg& es) {
  const nb::object read = nb::module_::import_("dynet._bidirectional").attr(function);
  const OthersMayEnter others;
  return read(forward.object, backward.object, es.owner);
}

/// What both said last, as they read.
struct BothWays {
  std::vector<Expression> ends;    ///< of the one that reads forward, in the order of `es`
  std::vector<Expression> starts;  ///< of the other one, from the last of `es` to the first
};
BothWays read_both(PyRNNBuilder& forward, PyRNNBuilder& backward, std::vector<Expression>& es,
                   const Where& where) {
  forward.make_ready(true);
  backward.make_ready(true);
  BothWays both;
  both.ends = outputs_after(*forward.builder, -1, es, where);
  std::reverse(es.begin(), es.end());
  both.starts = outputs_after(*backward.builder, -1, es, where);
  return both;
}

/// What both say at each of `es`: [forward; backward].
nb::object transduce_both(BuilderArg forward, BuilderArg backward, ExprListArg es) {
  if (forward.builder == nullptr || backward.builder == nullptr) {
    return read_by_own("transduced_by_own", forward, backward, es);
  }
  const Where where = here();
  BothWays both = read_both(*forward.builder, *backward.builder, es.nodes(), where);
  auto start = both.starts.rbegin();
  for (Expression& end : both.ends) {
    end = concatenate({end, *start++}, 0, where);
  }
  return list_of(both.ends);
}

/// What both say at the ends of their ways: [forward; backward].
nb::object back_of_both(BuilderArg forward, BuilderArg backward, ExprListArg es) {
  if (forward.builder == nullptr || backward.builder == nullptr) {
    return read_by_own("back_by_own", forward, backward, es);
  }
  const Where where = here();
  const BothWays both = read_both(*forward.builder, *backward.builder, es.some_nodes(), where);
  return make_expression(concatenate({both.ends.back(), both.starts.back()}, 0, where));
}

// The states of both; programs have states of their own.

/// Both states at each of `es`.
nb::list add_inputs_both(const PyRNNState* forward, const PyRNNState* backward, ExprListArg es) {
  static_cast<void>(backward->live());  // before nodes are made
  std::vector<Expression>& read = es.nodes();
  std::vector<PyRNNState> ends = states_after(*forward, read);
  std::reverse(read.begin(), read.end());
  std::vector<PyRNNState> starts = states_after(*backward, read);
  nb::list both;
  auto start = starts.rbegin();
  for (PyRNNState& end : ends) {
    both.append(nb::make_tuple(std::move(end), std::move(*start++)));
  }
  return both;
}
// NOLINTEND(performance-unnecessary-value-param)

void bind_state_inputs(nb::class_<PyRNNState>& c) {
  using nb::arg;
  c.def("add_input", &add_input, arg("x"), "The state after one more input.")
      .def("add_inputs", &add_inputs, arg("xs"), "The states after each of a list of inputs.")
      .def("transduce", &transduce, arg("xs"),
           nb::sig("def transduce(self, xs: collections.abc.Iterable[Expression]) -> "
                   "list[Expression]"),
           "The outputs after each of a list of inputs.")
      .def("output", &output, nb::sig("def output(self) -> typing.Any"),
           "Of the top layer; None for the initial state.");
  add_quick_way<&add_input>(c, "add_input");
  add_quick_way<&add_inputs>(c, "add_inputs");
  add_quick_way<&transduce>(c, "transduce");
  add_quick_way<&output>(c, "output");
}

/// What it consists of, and others in its place.
void bind_state_parts(nb::class_<PyRNNState>& c) {
  using nb::arg;
  c.def(
       "h", [](const PyRNNState& s) { return tuple_of(s.live().get_h(s.index)); },
       nb::sig("def h(self) -> tuple[Expression, ...]"), "Hidden states, one per layer.")
      .def(
          "s", [](const PyRNNState& s) { return tuple_of(s.live().get_s(s.index)); },
          nb::sig("def s(self) -> tuple[Expression, ...]"),
          "The whole state: for LSTMs cells, then hidden states.")
      .def(
          "prev",
          [](const PyRNNState& s) -> nb::object {
            if (s.index < 0) {
              return nb::none();
            }
            return nb::cast(state_at(s, s.live().get_head(s.index)));
          },
          nb::sig("def prev(self) -> RNNState | None"), "The state before the last input.")
      .def(
          "b", [](const PyRNNState& s) { return s.owner; }, "The builder.")
      .def(
          "set_h",
          [](const PyRNNState& s, const std::optional<ExprListArg>& es) {
            return set_state(s, parts_of(es, "set_h", "hidden states, one per layer"), false);
          },
          arg("es") = nb::none(), "A state whose hidden states are these, one per layer.")
      .def(
          "set_s",
          [](const PyRNNState& s, const std::optional<ExprListArg>& es) {
            return set_state(s, parts_of(es, "set_s", "what s() gives, or cells alone"), true);
          },
          arg("es") = nb::none(),
          "A state that is this: for LSTMs one expression per layer for the cells, or also one "
          "per layer for the hidden states.");
}

void bind_state(nb::module_& m) {
  using nb::arg;
  nb::class_<PyRNNState> c(
      m, "RNNState", nb::pooled(256), nb::is_weak_referenceable(),
      "A state of a recurrent network: what it has read so far. Several inputs may be added to one "
      "state.");
  object_type<PyRNNState> = reinterpret_cast<PyTypeObject*>(c.ptr());
  bind_state_inputs(c);
  bind_state_parts(c);
  c.def(
       "__eq__",
       [](const PyRNNState& s, nb::handle other) {
         if (!nb::isinstance<PyRNNState>(other)) {
           return false;
         }
         const auto& o = nb::cast<const PyRNNState&>(other);
         return s.builder == o.builder && s.index == o.index && s.made_in == o.made_in;
       },
       arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"),
       "Whether it is the same step of the same builder.")
      .def("__hash__",
           [](const PyRNNState& s) {
             return std::hash<const void*>()(s.builder) + static_cast<std::size_t>(s.index) * 31 +
                    static_cast<std::size_t>(s.made_in) * 1009;
           })
      .def("__repr__", [](const PyRNNState& s) {
        const auto of = nb::cast<std::string>(nb::str(s.owner.type().attr("__name__")));
        return s.index < 0 ? "initial RNNState of a " + of
                           : "RNNState after step " + std::to_string(s.index) + " of a " + of;
      });
}

void bind_rnn_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PyRNNBuilder>(m, "_RNNBuilder", "Base of the recurrent builders.")
      .def(
          "initial_state",
          [](nb::handle_t<PyRNNBuilder> self, const std::optional<ExprListArg>& vecs, bool update) {
            return initial_state(self, nodes_of(vecs), update);
          },
          arg("vecs") = nb::none(), arg("update") = true,
          nb::sig("def initial_state(self, vecs: collections.abc.Iterable[Expression] | None = "
                  "None, update: bool = True) -> RNNState"),
          "The state before the first input. The first call in a graph adds the parameters to it; "
          "without `update` they get no gradient.")
      .def("initial_state_from_raw_vectors", &initial_state_from_arrays, arg("vecs"),
           arg("update") = true,
           nb::sig("def initial_state_from_raw_vectors(self, vecs: collections.abc.Iterable["
                   "typing.Any], update: bool = True) -> RNNState"),
           "The same from arrays.")
      .def(
          "set_dropout",
          [](PyRNNBuilder& b, float f) {
            b.builder->set_dropout(f);
            b.set("dropout", "set_dropout", f);
          },
          arg("f"), "Share of the numbers that are set to 0, from 0 to 1.")
      .def(
          "disable_dropout",
          [](PyRNNBuilder& b) {
            b.builder->disable_dropout();
            b.unset("dropout");
          },
          "No dropout any more.")
      .def(
          "param_collection", [](PyRNNBuilder& b) { return b.builder->get_parameter_collection(); },
          "The collection of the builder's parameters.");
}

/// Constructors in Python are (layers, input_dim, hidden_dim, model, ...); none: an empty builder.
template <class Builder, class... Options>
std::unique_ptr<RNNBuilder> make_rnn(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                     ParameterCollection& model, Options... options) {
  return layers == 0 ? std::make_unique<Builder>()
                     : std::make_unique<Builder>(layers, input_dim, hidden_dim, model, options...);
}

/// What each class of builder has beside the base, but for constructors and dropout.
template <class Builder>
auto define_builder(nb::module_& m, const char* name, const char* doc) {
  using Py = PyRNNBuilderOf<Builder>;
  nb::class_<Py, PyRNNBuilder> c(m, name, doc);
  builder_classes().push_back(reinterpret_cast<PyTypeObject*>(c.ptr()));
  c.def(
       "get_parameters",
       [](const Py& b) {
         nb::list layers;
         for (const auto& layer : b.get().params) {
           nb::list list;
           for (const Parameter& p : layer) {
             list.append(PyParameters(p, b.get().local_model));
           }
           layers.append(list);
         }
         return layers;
       },
       nb::sig("def get_parameters(self) -> list[list[Parameters]]"), "One list per layer.")
      .def(
          "get_parameter_expressions",
          [](const Py& b) {
            if (!b.ready.is_ready()) {
              throw StateError(
                  "get_parameter_expressions: call initial_state() in this graph first");
            }
            nb::list layers;
            for (const auto& layer : b.get().param_vars) {
              layers.append(list_of(layer));
            }
            return layers;
          },
          nb::sig("def get_parameter_expressions(self) -> list[list[Expression]]"),
          "One list per layer: the parameters in this thread's graph.")
      .def("whoami", [name](const Py&) { return name; }, "The name of the class.");
  return c;
}

/// (layers, input_dim, hidden_dim, model), and the options of the standard LSTM where it has them.
template <class Builder>
void add_constructor(nb::class_<PyRNNBuilderOf<Builder>, PyRNNBuilder>& c) {
  using nb::arg;
  if constexpr (kHasOptions<Builder>) {
    def_init(c, &make_rnn<Builder, bool, float>, arg("layers"), arg("input_dim"), arg("hidden_dim"),
             arg("model"), arg("ln_lstm") = false, arg("forget_bias") = 1.0F);
  } else {
    def_init(c, &make_rnn<Builder>, arg("layers"), arg("input_dim"), arg("hidden_dim"),
             arg("model"));
  }
}

/// Dropout by masks that all steps of a sequence share.
template <class Builder>
void add_masks(nb::class_<PyRNNBuilderOf<Builder>, PyRNNBuilder>& c) {
  using nb::arg;
  using Py = PyRNNBuilderOf<Builder>;
  if constexpr (std::is_same_v<Builder, CoupledLSTMBuilder>) {
    c.def(
        "set_dropouts",
        [](Py& b, float d, float d_h, float d_c) {
          b.get().set_dropout(d, d_h, d_c);
          b.set("dropout", "set_dropouts", d, d_h, d_c);
        },
        arg("d"), arg("d_h"), arg("d_c"),
        "Rates of dropout of what the layers read, of their hidden states, and of cells where a "
        "peephole reads them.");
  } else {
    c.def(
        "set_dropouts",
        [](Py& b, float d, float d_h) {
          b.get().set_dropout(d, d_h);
          b.set("dropout", "set_dropouts", d, d_h);
        },
        arg("d"), arg("d_h"),
        "Rates of dropout of what the layers read, and of their hidden states.");
  }
  c.def(
      "set_dropout_masks",
      [](const Py& b, unsigned batch_size) {
        if (!b.ready.is_ready()) {
          throw StateError("set_dropout_masks: call initial_state() in this graph first");
        }
        b.get().set_dropout_masks(batch_size);
      },
      arg("batch_size") = 1U, "Draws the masks of this graph now; the first input does it else.");
}

template <class Builder>
auto bind_with_masks(nb::module_& m, const char* name, const char* doc) {
  auto c = define_builder<Builder>(m, name, doc);
  add_constructor<Builder>(c);
  add_masks<Builder>(c);
  return c;
}

void bind_coupled(nb::module_& m) {
  using nb::arg;
  auto c = define_builder<CoupledLSTMBuilder>(
      m, "CoupledLSTMBuilder",
      "LSTM whose forget gate is 1 - input gate, with peepholes. LSTMBuilder is this class, unless "
      "the program starts with --dynet-lstm vanilla.");
  def_init(
      c,
      +[](unsigned layers, unsigned input_dim, unsigned hidden_dim, ParameterCollection& model,
          const Elsewhere& ln_lstm, const Elsewhere& forget_bias) {
        if (!ln_lstm.is_none() || !forget_bias.is_none()) {
          throw ValueError(
              "ln_lstm and forget_bias are options of VanillaLSTMBuilder; LSTMBuilder is the LSTM "
              "with coupled gates: name VanillaLSTMBuilder, or start with --dynet-lstm vanilla");
        }
        return make_rnn<CoupledLSTMBuilder>(layers, input_dim, hidden_dim, model);
      },
      arg("layers"), arg("input_dim"), arg("hidden_dim"), arg("model"), arg("ln_lstm") = nb::none(),
      arg("forget_bias") = nb::none());
  add_masks<CoupledLSTMBuilder>(c);
}

void bind_all(nb::module_& m) {
  using nb::arg;
  bind_with_masks<SimpleRNNBuilder>(m, "SimpleRNNBuilder",
                                    "h = tanh(W x + U h' + b), layer on layer.");
  auto gru = define_builder<GRUBuilder>(
      m, "GRUBuilder",
      "Gated recurrent unit (Cho et al., 2014). Dropout is drawn anew at each step, on what the "
      "layers read and on the output.");
  add_constructor<GRUBuilder>(gru);
  bind_coupled(m);
  bind_with_masks<VanillaLSTMBuilder>(m, "VanillaLSTMBuilder", "The standard LSTM.");
  bind_with_masks<SparseLSTMBuilder>(
      m, "SparseLSTMBuilder",
      "The standard LSTM with matrices of which most elements can be held at 0.")
      .def(
          "set_sparsity",
          [](PyRNNBuilderOf<SparseLSTMBuilder>& b, float sparsity) {
            b.get().set_sparsity(sparsity);
          },
          arg("sparsity"),
          "Holds this share (0 to 1) of all elements of the matrices at 0: those whose absolute "
          "values are the smallest now.");
  bind_with_masks<CompactVanillaLSTMBuilder>(
      m, "CompactVanillaLSTMBuilder",
      "The standard LSTM with a forget bias of 1, and with noise on its matrices.")
      .def(
          "set_weightnoise",
          [](PyRNNBuilderOf<CompactVanillaLSTMBuilder>& b, float std) {
            b.get().set_weightnoise(std);
            b.set("noise", "set_weightnoise", std);
          },
          arg("std"),
          "Adds normal noise of this deviation to the matrices, drawn once per graph from the next "
          "graph on; 0 for none.");
  bind_with_masks<FastLSTMBuilder>(m, "FastLSTMBuilder",
                                   "LSTM whose forget gate is 1 - input gate, without peepholes.");
}

}  // namespace

void bind_builders(nb::module_& m) {
  using nb::arg;
  bind_state(m);
  m.def("_transduce_both", &transduce_both, arg("forward"), arg("backward"), arg("es"),
        nb::sig("def _transduce_both(forward: object, backward: object, "
                "es: collections.abc.Iterable[Expression]) -> list[Expression]"));
  m.def("_back_of_both", &back_of_both, arg("forward"), arg("backward"), arg("es"),
        nb::sig("def _back_of_both(forward: object, backward: object, "
                "es: collections.abc.Iterable[Expression]) -> Expression"));
  m.def("_add_inputs_both", &add_inputs_both, arg("forward"), arg("backward"), arg("es"),
        nb::sig("def _add_inputs_both(forward: RNNState, backward: RNNState, "
                "es: collections.abc.Iterable[Expression]) -> list[tuple[RNNState, RNNState]]"));
  add_quick_way<&transduce_both>(m, "_transduce_both");
  add_quick_way<&back_of_both>(m, "_back_of_both");
  add_quick_way<&add_inputs_both>(m, "_add_inputs_both");
  bind_rnn_base(m);
  bind_all(m);
  m.attr("LSTMBuilder") = m.attr("CoupledLSTMBuilder");
}

}  // namespace dynet::python
