#pragma once

// Builders that are made ready in this thread's graph at their first use there, or by `new_graph`:
// attention, Transformers, conditional random fields.

#include <nanobind/nanobind.h>

#include <type_traits>
#include <utility>

#include "dynet/crf-builder.h"

#include "graph.h"
#include "made.h"
#include "text_of.h"

namespace dynet::python {

/// A builder, and the graph in which it is ready.
template <class Builder>
struct Held : Made {
  Builder builder;
  ReadyIn ready;

  explicit Held(Builder&& b) : builder(std::move(b)) {}
  void new_graph(bool update) {
    builder.new_graph(current_graph().cg, update);
    ready.note();
  }
  /// Ready in this thread's graph.
  Builder& live() {
    if (!ready.is_ready()) {
      new_graph(true);
    }
    return builder;
  }
};

/// The functions common to all of them.
template <class Builder>
nanobind::class_<Held<Builder>> define_held(nanobind::module_& m, const char* name) {
  using nanobind::arg;
  using Py = Held<Builder>;
  return nanobind::class_<Py>(m, name, text_of(name))
      .def(
          "new_graph", [](Py& b, bool update) { b.new_graph(update); }, arg("update") = true,
          text_of(name, "new_graph"))
      .def(
          "copy",
          [](Py& b, const Py& other) {
            b.builder.copy(other.builder);
            b.share(other);
            if constexpr (std::is_same_v<Builder, CRFBuilder>) {
              b.settings = other.settings;
            }
          },
          arg("other"), text_of(name, "copy"))
      .def(
          "param_collection", [](Py& b) { return b.builder.get_parameter_collection(); },
          text_of(name, "get_parameter_collection"));
}

/// From some sizes and the collection.
template <class Builder, class... Sizes>
Builder make_held(Sizes... sizes, ParameterCollection& model) {
  return Builder(sizes..., model);
}

/// Called by bind_attention_builders.
void bind_crf_builders(nanobind::module_& m);

}  // namespace dynet::python
