#pragma once

// Recurrent builders and their states in Python: recurrent_states.cc and bind_builders.cc.
//
// A state is a handle (builder, sequence, step). Without dropout all states in a graph belong to
// one sequence, whose steps form a tree. With dropout each `initial_state()` begins a sequence,
// with masks and a number of examples of its own; so does an `initial_state()` with another
// `update` than the first. Such a sequence is a copy of the C++ builder, with its own steps and the
// same parameters. Example: with dropout, two calls of initial_state() use two masks.
//
// The first `initial_state()` in this thread's graph adds the parameters to the graph.

#include <memory>
#include <vector>

#include "dynet/rnn.h"

#include "binding.h"
#include "graph.h"
#include "made.h"

namespace dynet::python {

/// Python's records of a builder. GIL held.
struct PyRNNBuilder : Made {
  using Copy = std::unique_ptr<RNNBuilder> (*)(const RNNBuilder& of);

  explicit PyRNNBuilder(Copy copy) : copy_(copy) {}

  std::unique_ptr<RNNBuilder> builder;  ///< has the sequence that is begun first in a graph
  ReadyIn ready;
  nb::object initial;            ///< a weak reference to that sequence's initial state
  unsigned initial_made_in = 0;  ///< its `made_in`
  bool drops = false;            ///< dropout is on

  /// Begins a sequence in this thread's graph, as it is now, or goes on with the sequence of
  /// `builder`. Returns the copy that has the sequence; null: `builder` has it.
  std::shared_ptr<RNNBuilder> begin(bool update);
  /// The C++ builder of the last begun sequence.
  [[nodiscard]] RNNBuilder& latest() const { return latest_ != nullptr ? *latest_ : *builder; }
  /// For the builder, and for the copies of it that states still have.
  template <class Change>
  void change(const Change& change_one);

 private:
  std::shared_ptr<RNNBuilder> copied(bool update) const;

  Copy copy_;
  bool update_ = true;                             ///< of `builder` in this graph
  std::shared_ptr<RNNBuilder> latest_;             ///< null: `builder`
  bool latest_update_ = true;                      ///< of `latest_`
  std::vector<std::weak_ptr<RNNBuilder>> copies_;  ///< of this graph
  std::size_t copies_swept_ = 16;                  ///< as many are looked through
};

template <class Builder>
struct PyRNNBuilderOf : PyRNNBuilder {
  PyRNNBuilderOf()
      : PyRNNBuilder([](const RNNBuilder& of) -> std::unique_ptr<RNNBuilder> {
          return std::make_unique<Builder>(static_cast<const Builder&>(of));
        }) {}
  [[nodiscard]] Builder& get() const { return static_cast<Builder&>(*builder); }
};

template <class Change>
void PyRNNBuilder::change(const Change& change_one) {
  change_one(*builder);
  for (const std::weak_ptr<RNNBuilder>& copy : copies_) {
    if (const std::shared_ptr<RNNBuilder> living = copy.lock()) {
      change_one(*living);
    }
  }
}

/// A step, or -1 for the initial state. Keeps the builder alive.
struct PyRNNState {
  nb::object owner;
  PyRNNBuilder* builder;
  std::shared_ptr<RNNBuilder> sequence;  ///< null: the sequence of the builder itself
  RNNPointer index;
  unsigned made_in;  ///< the builder's ready.count()
  Expression out;    ///< unset for the initial state

  /// The C++ builder of the sequence. StaleExpression if the graph was renewed since.
  [[nodiscard]] RNNBuilder& live() const {
    if (!builder->ready.is_ready() || made_in != builder->ready.count()) {
      throw errors::StaleExpression(
          "stale builder: its graph was renewed or is not the current one; call initial_state() "
          "again");
    }
    return sequence != nullptr ? *sequence : *builder->builder;
  }
  [[nodiscard]] bool operator==(const PyRNNState& o) const {
    return builder == o.builder && sequence == o.sequence && index == o.index &&
           made_in == o.made_in;
  }
};

/// The module's classes of builders.
std::vector<PyTypeObject*>& builder_classes();

/// `vecs` are its values; none: it has none.
nb::object initial_state(nb::handle_t<PyRNNBuilder> self, const std::vector<Expression>& vecs,
                         bool update);
void bind_rnn_states(nb::module_& m);

}  // namespace dynet::python

template <>
struct nanobind::detail::type_caster<dynet::python::PyRNNState>
    : NewObjectCaster<dynet::python::PyRNNState> {};
