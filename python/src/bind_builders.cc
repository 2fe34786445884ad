// The classes of recurrent builders.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"

#include "binding.h"
#include "inputs.h"
#include "lstm_options.h"
#include "made.h"
#include "recurrent.h"
#include "text_of.h"
#include "texts.h"

namespace dynet::python {
namespace {

template <class Builder>
constexpr bool kHasOptions =
    std::is_same_v<Builder, VanillaLSTMBuilder> || std::is_same_v<Builder, SparseLSTMBuilder>;

std::vector<Expression> nodes_of(const std::optional<ExprListArg>& xs) {
  return xs ? xs->nodes() : std::vector<Expression>();
}
nb::object initial_state_from_arrays(nb::handle_t<PyRNNBuilder> self, nb::handle vecs,
                                     bool update) {
  return initial_state(self, inputs_of(vecs), update);
}

void bind_rnn_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PyRNNBuilder>(m, "_RNNBuilder", texts::RNNBuilder)
      .def(
          "initial_state",
          [](nb::handle_t<PyRNNBuilder> self, const std::optional<ExprListArg>& vecs, bool update) {
            return initial_state(self, nodes_of(vecs), update);
          },
          arg("vecs") = nb::none(), arg("update") = true,
          nb::sig("def initial_state(self, vecs: collections.abc.Iterable[Expression] | None = "
                  "None, update: bool = True) -> RNNState"),
          "The state before the first input. The first call in a graph adds the parameters to the "
          "graph; without `update` they get no gradient. Without dropout the state is the same "
          "object within a graph. With dropout, or with another `update` than in the first call, "
          "each call begins a sequence, with its own masks, number of examples and `update`.")
      .def("initial_state_from_raw_vectors", &initial_state_from_arrays, arg("vecs"),
           arg("update") = true,
           nb::sig("def initial_state_from_raw_vectors(self, vecs: collections.abc.Iterable["
                   "typing.Any], update: bool = True) -> RNNState"),
           "The same from arrays.")
      .def(
          "set_dropout",
          [](PyRNNBuilder& b, float f) {
            b.change([f](RNNBuilder& one) { one.set_dropout(f); });
            b.drops = f > 0;
            b.set("dropout", "set_dropout", f);
          },
          arg("f"), texts::RNNBuilder_set_dropout)
      .def(
          "disable_dropout",
          [](PyRNNBuilder& b) {
            b.change([](RNNBuilder& one) { one.disable_dropout(); });
            b.drops = false;
            b.unset("dropout");
          },
          texts::RNNBuilder_disable_dropout)
      .def(
          "param_collection", [](PyRNNBuilder& b) { return b.builder->get_parameter_collection(); },
          texts::RNNBuilder_get_parameter_collection);
}

/// Constructors in Python are (layers, input_dim, hidden_dim, model, ...); none: an empty builder.
template <class Builder, class... Options>
std::unique_ptr<RNNBuilder> make_rnn(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                     ParameterCollection& model, Options... options) {
  return layers == 0 ? std::make_unique<Builder>()
                     : std::make_unique<Builder>(layers, input_dim, hidden_dim, model, options...);
}

/// The functions of each class of builder beyond the base, without constructors and dropout.
template <class Builder>
auto define_builder(nb::module_& m, const char* name) {
  using Py = PyRNNBuilderOf<Builder>;
  nb::class_<Py, PyRNNBuilder> c(m, name, text_of(name));
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
              throw errors::StateError(
                  "get_parameter_expressions: call initial_state() in this graph first");
            }
            nb::list layers;
            for (const auto& layer : static_cast<Builder&>(b.latest()).param_vars) {
              layers.append(list_of(layer));
            }
            return layers;
          },
          nb::sig("def get_parameter_expressions(self) -> list[list[Expression]]"),
          "One list per layer: the parameters in this thread's graph.")
      .def("whoami", [name](const Py&) { return name; }, "The name of the class.");
  return c;
}

/// (layers, input_dim, hidden_dim, model), and the options of the class if there are any.
template <class Builder>
void add_constructor(nb::class_<PyRNNBuilderOf<Builder>, PyRNNBuilder>& c) {
  using nb::arg;
  if constexpr (kHasOptions<Builder>) {
    def_init(c, &make_rnn<Builder, bool, float>, arg("layers"), arg("input_dim"), arg("hidden_dim"),
             arg("model"), arg("ln_lstm") = false, arg("forget_bias") = 1.0F);
    c.def(
        "set_ln_epsilon",
        [](PyRNNBuilderOf<Builder>& b, float epsilon) {
          b.get().set_ln_epsilon(epsilon);
          b.set("ln_epsilon", "set_ln_epsilon", epsilon);
        },
        arg("epsilon"), texts::StandardLSTMBuilder_set_ln_epsilon);
  } else if constexpr (std::is_same_v<Builder, GRUBuilder>) {
    def_init(c, &make_rnn<Builder, NewFlag>, arg("layers"), arg("input_dim"), arg("hidden_dim"),
             arg("model"), arg("reset_after") = false);
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
          b.change([=](RNNBuilder& one) { static_cast<Builder&>(one).set_dropout(d, d_h, d_c); });
          b.drops = d > 0 || d_h > 0 || d_c > 0;
          b.set("dropout", "set_dropouts", d, d_h, d_c);
        },
        arg("d"), arg("d_h"), arg("d_c") = 0.0F, texts::CoupledLSTMBuilder_set_dropout_2);
  } else {
    // As DyNet 2.1 calls it.
    const char* const recurrent = std::is_base_of_v<StandardLSTMBuilder, Builder> ? "d_r" : "d_h";
    c.def(
        "set_dropouts",
        [](Py& b, float d, float d_h) {
          b.change([=](RNNBuilder& one) { static_cast<Builder&>(one).set_dropout(d, d_h); });
          b.drops = d > 0 || d_h > 0;
          b.set("dropout", "set_dropouts", d, d_h);
        },
        arg("d"), arg(recurrent), texts::LayeredRNNBuilder_set_dropout_2);
  }
  c.def(
      "set_dropout_masks",
      [](const Py& b, unsigned batch_size) {
        if (!b.ready.is_ready()) {
          throw errors::StateError("set_dropout_masks: call initial_state() in this graph first");
        }
        static_cast<Builder&>(b.latest()).set_dropout_masks(batch_size);
      },
      arg("batch_size") = 1U, texts::LayeredRNNBuilder_set_dropout_masks);
}

template <class Builder>
auto bind_with_masks(nb::module_& m, const char* name) {
  auto c = define_builder<Builder>(m, name);
  add_constructor<Builder>(c);
  add_masks<Builder>(c);
  return c;
}

void bind_coupled(nb::module_& m) {
  using nb::arg;
  auto c = define_builder<CoupledLSTMBuilder>(m, "CoupledLSTMBuilder");
  def_init(
      c,
      +[](unsigned layers, unsigned input_dim, unsigned hidden_dim, ParameterCollection& model,
          const Elsewhere& ln_lstm, const Elsewhere& forget_bias) {
        if (!ln_lstm.is_none() || !forget_bias.is_none()) {
          throw errors::ValueError(
              "ln_lstm and forget_bias are of VanillaLSTMBuilder: derive from that");
        }
        return make_rnn<CoupledLSTMBuilder>(layers, input_dim, hidden_dim, model);
      },
      arg("layers"), arg("input_dim"), arg("hidden_dim"), arg("model"), arg("ln_lstm") = nb::none(),
      arg("forget_bias") = nb::none());
  add_masks<CoupledLSTMBuilder>(c);
}

void bind_all(nb::module_& m) {
  using nb::arg;
  bind_with_masks<SimpleRNNBuilder>(m, "SimpleRNNBuilder");
  auto gru = define_builder<GRUBuilder>(m, "GRUBuilder");
  add_constructor<GRUBuilder>(gru);
  bind_coupled(m);
  give_options_to(m.attr("CoupledLSTMBuilder"),
                  bind_with_masks<VanillaLSTMBuilder>(m, "VanillaLSTMBuilder"));
  bind_with_masks<SparseLSTMBuilder>(m, "SparseLSTMBuilder")
      .def(
          "set_sparsity",
          [](PyRNNBuilderOf<SparseLSTMBuilder>& b, float sparsity) {
            b.get().set_sparsity(sparsity);
          },
          arg("sparsity"), texts::SparseLSTMBuilder_set_sparsity);
  bind_with_masks<CompactVanillaLSTMBuilder>(m, "CompactVanillaLSTMBuilder")
      .def(
          "set_weightnoise",
          [](PyRNNBuilderOf<CompactVanillaLSTMBuilder>& b, float std) {
            b.get().set_weightnoise(std);
            b.set("noise", "set_weightnoise", std);
          },
          arg("std"), texts::CompactVanillaLSTMBuilder_set_weightnoise);
  bind_with_masks<FastLSTMBuilder>(m, "FastLSTMBuilder");
}

}  // namespace
void bind_builders(nb::module_& m) {
  bind_rnn_states(m);
  bind_rnn_base(m);
  bind_all(m);
}

}  // namespace dynet::python
