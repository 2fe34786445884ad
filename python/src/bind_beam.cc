// Beam search: the C++ search of dynet/beam.h, over states that are Python objects.

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/beam.h"
#include "dynet/transformer.h"

#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "lock.h"
#include "texts.h"

namespace dynet::python {
namespace {

/// Any object.
struct PyState {
  nb::object object;
};

/// A copy of the object with f called for its expressions: lists, tuples and dicts of expressions,
/// states of Transformers, memories of attention. Objects without expressions come back unchanged.
template <class F>
nb::object with_expressions(nb::handle state, F& f) {
  if (is_expression(state.ptr())) {
    const auto& x = instance<PyExpression>(state);
    if (x.kind != PyExpression::Kind::kNode) {
      return nb::borrow(state);  // a parameter, which is older than any search
    }
    Expression e = x.e;
    for_each_expression(e, f);
    return make_expression(e);
  }
  if (nb::isinstance<TransformerState>(state)) {
    auto copy = nb::cast<TransformerState>(state);
    for_each_expression(copy, f);
    return nb::cast(std::move(copy));
  }
  if (nb::isinstance<AttentionMemory>(state)) {
    auto copy = nb::cast<AttentionMemory>(state);
    for_each_expression(copy, f);
    return nb::cast(std::move(copy));
  }
  if (nb::isinstance<nb::dict>(state)) {
    nb::dict copy;
    for (const auto& [key, value] : nb::borrow<nb::dict>(state)) {
      copy[key] = with_expressions(value, f);
    }
    return copy;
  }
  if (nb::isinstance<nb::list>(state) || nb::isinstance<nb::tuple>(state)) {
    nb::list copy;
    for (const nb::handle part : nb::iter(state)) {
      copy.append(with_expressions(part, f));
    }
    if (nb::hasattr(state, "_make")) {  // a namedtuple
      return state.attr("_make")(copy);
    }
    return nb::isinstance<nb::list>(state) ? nb::object(copy) : nb::object(nb::tuple(copy));
  }
  if (nb::isinstance<nb::str>(state) || nb::isinstance<nb::int_>(state) ||
      nb::isinstance<nb::float_>(state) || state.is_none()) {
    return nb::borrow(state);
  }
  throw TypeError(
      "beam_search: with checkpoints a state is an expression, a TransformerState, an "
      "AttentionMemory, a number, or a list, tuple or dict of these; states of recurrent builders "
      "are carried as s(), and begin anew with initial_state(vecs)");
}

// NOLINTNEXTLINE(misc-use-internal-linkage): found by its argument
template <class F>
void for_each_expression(PyState& state, F&& f) {
  state.object = with_expressions(state.object, f);
}

nb::object call_step(const nb::callable& step, const PyState& state, unsigned word) try {
  const OthersMayEnter others;
  return step(state.object, word);
} catch (const nb::python_error& error) {
  // Raised by the call itself: the function takes other arguments.
  if (error.type().is(PyExc_TypeError) && !is_users_own(error.value().ptr())) {
    throw TypeError(
        std::string("beam_search: step is called as step(state, word), and Python says: ") +
        nb::str(error.value()).c_str());
  }
  throw;
}

/// The next state, and the expression.
nb::tuple pair_of(const nb::object& given) {
  const nb::object pair = nb::steal([&] {
    const OthersMayEnter others;
    return PySequence_Tuple(given.ptr());
  }());
  if (!pair.is_valid()) {
    const nb::python_error error;  // takes the error that is set
    if (is_users_own(error.value().ptr())) {
      throw error;
    }
  }
  if (!pair.is_valid() || nb::len(pair) != 2 || !is_expression(nb::object(pair[1]).ptr())) {
    throw TypeError("beam_search: step gave " + told(given) +
                    "; it gives a pair: the next state, and an Expression");
  }
  return nb::borrow<nb::tuple>(pair);
}

std::vector<Hypothesis> search(const nb::callable& step, const nb::object& start, nb::handle first,
                               nb::handle end, const BeamOptions& options) {
  const auto call = [&](const PyState& state, unsigned word) {
    const nb::tuple pair = pair_of(call_step(step, state, word));
    return std::make_pair(PyState{nb::borrow(pair[0])},
                          resolve(instance<PyExpression>(nb::object(pair[1]))));
  };
  PyGraph& graph = current_graph();
  return detail::search(
      graph.cg, [&graph] { graph.revert(); }, PyState{start}, read_index(first), read_index(end),
      call, options);
}

BeamOptions options_of(unsigned width, unsigned max_length, unsigned n_best,
                       const std::optional<LengthNorm>& length_norm, double prune) {
  BeamOptions options;
  options.width = width;
  options.max_length = max_length;
  options.n_best = n_best;
  options.length_norm = length_norm.value_or(LengthNorm());
  options.prune = prune;
  return options;
}

/// The search of `beam_search_task` (dynet/_beam.py), which has the states.
void bind_beam_of_task(nb::module_& m) {
  using detail::Beam;
  nb::class_<Beam>(m, "_Beam", "The hypotheses of a search, without states.")
      .def(
          "__init__",
          [](Beam* place, nb::handle end, unsigned width, unsigned max_length, unsigned n_best,
             const std::optional<LengthNorm>& length_norm, double prune) {
            new (place)
                Beam(read_index(end), options_of(width, max_length, n_best, length_norm, prune));
          },
          nb::arg("end"), nb::arg("width"), nb::arg("max_length"), nb::arg("n_best"),
          nb::arg("length_norm").none(), nb::arg("prune"))
      .def("is_open", &Beam::is_open, "Whether there is a step to do.")
      .def(
          "words",
          [](const Beam& beam) {
            nb::list words;
            for (const Hypothesis& h : beam.live()) {
              words.append(h.words.empty() ? nb::object(nb::none()) : nb::int_(h.words.back()));
            }
            return words;
          },
          nb::sig("def words(self) -> list[int | None]"),
          "The last word of each live hypothesis; None at the beginning.")
      .def_static(
          "step",
          [](const nb::callable& step, const nb::object& state, nb::handle word) {
            return pair_of(call_step(step, {state}, read_index(word)));
          },
          nb::arg("step"), nb::arg("state").none(), nb::arg("word"),
          nb::sig("def step(step: collections.abc.Callable[[typing.Any, int], tuple[typing.Any, "
                  "Expression]], state: typing.Any | None, word: int) -> tuple[typing.Any, "
                  "Expression]"),
          "The next state, and the log-probabilities.")
      .def(
          "question",
          [](const Beam& beam, const ExprListArg& logs) {
            return PyExpression(beam.question(logs.nodes()));
          },
          "The log-probabilities of all live hypotheses in one expression.")
      .def(
          "advance",
          [](Beam& beam, const ExprArg& question) { return beam.advance(question.node()); },
          "Chooses the next hypotheses; gives the number of the one before each.")
      .def("best", &Beam::best, "The hypotheses found, best first.");
}

}  // namespace

void bind_beam(nb::module_& m) {
  bind_beam_of_task(m);
  using nb::arg;
  nb::class_<Hypothesis>(m, "Hypothesis", texts::Hypothesis)
      .def_ro("words", &Hypothesis::words, texts::Hypothesis_words)
      .def_ro("log_probability", &Hypothesis::log_probability, texts::Hypothesis_log_probability)
      .def_ro("score", &Hypothesis::score, texts::Hypothesis_score)
      .def_ro("finished", &Hypothesis::finished, texts::Hypothesis_finished);
  m.def("length_power", &length_power, arg("alpha"),
        "For `beam_search`: length ** alpha, so 1 gives the mean per word.");
  m.def("length_wu", &length_wu, arg("alpha"),
        "For `beam_search`: ((5 + length) / 6) ** alpha (Wu et al., 2016).");
  m.def(
      "beam_search",
      [](const nb::callable& step, const nb::object& start, nb::handle first, nb::handle end,
         unsigned width, unsigned max_length, unsigned n_best,
         const std::optional<LengthNorm>& length_norm, double prune, bool checkpoints) {
        BeamOptions options = options_of(width, max_length, n_best, length_norm, prune);
        options.checkpoints = checkpoints;
        return search(step, start, first, end, options);
      },
      arg("step"), arg("start").none(), arg("first"), arg("end"), arg("width") = 4U,
      arg("max_length") = 100U, arg("n_best") = 1U, arg("length_norm") = nb::none(),
      arg("prune") = std::numeric_limits<double>::infinity(), arg("checkpoints") = false,
      nb::sig("def beam_search(step: collections.abc.Callable[[typing.Any, int], tuple[typing.Any, "
              "Expression]], start: typing.Any | None, first: int, end: int, width: int = 4, "
              "max_length: "
              "int = 100, n_best: int = 1, length_norm: collections.abc.Callable[[int], float] | "
              "None = None, prune: float = float('inf'), checkpoints: bool = False) -> "
              "list[Hypothesis]"),
      "The best sequences of words, best first. `step(state, word)` reads a word in a state and "
      "gives the next state and the logarithms of the probabilities of all words after it; the "
      "first word read is `first`, in the state `start`. All hypotheses of a step are built before "
      "a number is asked for, so that they are computed together. `length_norm(length)` divides a "
      "log-probability: `length_power`, `length_wu` or another function. Continuations worse than "
      "the best one of the step by more than `prune` are dropped. With `checkpoints` the graph "
      "does not grow: states are expressions, numbers, and lists, tuples and dicts of these.");
}

}  // namespace dynet::python
