// States of recurrent builders, and builders that read from both ends.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "inputs.h"
#include "lock.h"
#include "quick.h"
#include "recurrent.h"
#include "where.h"

namespace dynet::python {

std::vector<PyTypeObject*>& builder_classes() {
  static std::vector<PyTypeObject*> of_module;
  return of_module;
}

// ---- sequences
// ---------------------------------------------------------------------------------

std::shared_ptr<RNNBuilder> PyRNNBuilder::begin(bool update) {
  if (!ready.is_ready()) {
    builder->new_graph(current_graph().cg, update);
    builder->start_new_sequence({}, Where());  // of no line of the program's
    ready.note();
    update_ = update;
    latest_ = nullptr;
    copies_.clear();
    return nullptr;
  }
  if (!drops && update == update_) {
    latest_ = nullptr;
    return nullptr;
  }
  const bool is_free = latest_ != nullptr && latest_.use_count() == 1 && latest_update_ == update;
  const std::shared_ptr<RNNBuilder> begun = is_free ? latest_ : copied(update);
  begun->start_new_sequence({}, Where());
  if (!is_free) {
    if (copies_.size() >= copies_swept_) {
      std::erase_if(copies_, [](const auto& copy) { return copy.expired(); });
      copies_swept_ = std::max<std::size_t>(16, 2 * copies_.size());
    }
    copies_.push_back(begun);
  }
  latest_ = begun;
  latest_update_ = update;
  return begun;
}

std::shared_ptr<RNNBuilder> PyRNNBuilder::copied(bool update) const {
  std::shared_ptr<RNNBuilder> copy = copy_(*builder);
  if (update != update_) {
    copy->new_graph(current_graph().cg, update);
  }
  return copy;
}

namespace {

/// A builder, or null if its class is the program's own; its states may be of a class of the
/// program's, too.
struct BuilderArg {
  PyRNNBuilder* builder = nullptr;
  nb::handle object;
};

/// The expressions for set_h and set_s. None is DyNet 2.1's default there, and an error.
std::vector<Expression> parts_of(const std::optional<ExprListArg>& es, const char* function,
                                 const char* wanted) {
  if (!es) {
    throw errors::ValueError(std::string(function) +
                             ": es is None; want a list of expressions: " + wanted);
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

/// The initial state of the builder's own sequence: the same object as long as somebody has it.
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

}  // namespace

nb::object initial_state(nb::handle_t<PyRNNBuilder> self, const std::vector<Expression>& vecs,
                         bool update) {
  auto& b = instance<PyRNNBuilder>(self);
  std::shared_ptr<RNNBuilder> sequence = b.begin(update);
  const bool is_shared = sequence == nullptr;
  const PyRNNState state{nb::borrow(self), &b,          std::move(sequence), -1,
                         b.ready.count(),  Expression()};
  if (!vecs.empty()) {
    return nb::cast(set_state(state, vecs, true));
  }
  return is_shared ? shared_initial_state(b, state) : nb::cast(state);
}

namespace {

// NOLINTBEGIN(performance-unnecessary-value-param): the quick way makes values of these types

/// The outputs after each of `xs`, read one after the other from step `from` on. The steps are
/// forgotten, as nobody gets their states; the next sequence finds their memory warm.
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
// the last one to the first. Python code would make more objects, and look up the program's line
// for each.

/// By a function of that file, if a builder is the program's own.
nb::object read_by_own(const char* function, const BuilderArg& forward, const BuilderArg& backward,
                       const ExprListArg& es) {
  const nb::object read = nb::module_::import_("dynet._bidirectional").attr(function);
  const OthersMayEnter others;
  return read(forward.object, backward.object, es.owner);
}

/// The outputs of both, in the order of reading.
struct BothWays {
  std::vector<Expression> ends;    ///< of the one that reads forward, in the order of `es`
  std::vector<Expression> starts;  ///< of the other one, from the last of `es` to the first
};
BothWays read_both(PyRNNBuilder& forward, PyRNNBuilder& backward, std::vector<Expression>& es,
                   const Where& where) {
  const auto read = [&](PyRNNBuilder& by) {
    const std::shared_ptr<RNNBuilder> sequence = by.begin(true);
    return outputs_after(sequence != nullptr ? *sequence : *by.builder, -1, es, where);
  };
  BothWays both;
  both.ends = read(forward);
  std::reverse(es.begin(), es.end());
  both.starts = read(backward);
  return both;
}

/// The outputs of both at each of `es`: [forward; backward].
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

/// The last outputs of both: [forward; backward].
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

/// The parts of a state, and states with other parts.
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
  nb::class_<PyRNNState> c(m, "RNNState", nb::pooled(256), nb::is_weak_referenceable(),
                           "A state of a recurrent network after the inputs read so far. Several "
                           "inputs may be added to one state.");
  object_type<PyRNNState> = reinterpret_cast<PyTypeObject*>(c.ptr());
  bind_state_inputs(c);
  bind_state_parts(c);
  c.def(
       "__eq__",
       [](const PyRNNState& s, nb::handle other) {
         if (!nb::isinstance<PyRNNState>(other)) {
           return false;
         }
         return s == nb::cast<const PyRNNState&>(other);
       },
       arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"),
       "Whether it is the same step of the same builder.")
      .def("__hash__",
           [](const PyRNNState& s) {
             return std::hash<const void*>()(s.builder) +
                    std::hash<const void*>()(s.sequence.get()) +
                    static_cast<std::size_t>(s.index) * 31 +
                    static_cast<std::size_t>(s.made_in) * 1009;
           })
      .def("__repr__", [](const PyRNNState& s) {
        const auto of = nb::cast<std::string>(nb::str(s.owner.type().attr("__name__")));
        return s.index < 0 ? "initial RNNState of a " + of
                           : "RNNState after step " + std::to_string(s.index) + " of a " + of;
      });
}
}  // namespace

void bind_rnn_states(nb::module_& m) {
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
}

}  // namespace dynet::python
