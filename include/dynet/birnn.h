#pragma once

// Recurrent networks that read a sequence from both ends.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/model.h"
#include "dynet/repeatable.h"
#include "dynet/rnn.h"

namespace dynet {

/// Layers of two builders each, one reading forward and one backward. A layer reads the outputs of
/// the layer below: `[forward; backward]`, half of the rows from each direction.
///
///   BiRNNBuilder<VanillaLSTMBuilder> reader(1, 64, 128, model);
///   reader.new_graph(cg);                               once for each graph
///   std::vector<Expression> hs = reader.transduce(xs);  for each sequence: {128} at each place
///
/// `Builder` is a recurrent builder of this library or of a program, made by `Builder(layers,
/// input_dim, hidden_dim, model, options...)`. Dropout, batches and errors are as in that builder.
/// Parameters are in the collection `birnn`, layer by layer, the forward builder's first, as in the
/// Python class of this name. Copies share the parameters. Thread rule: one thread at a time, like
/// its graph.
template <class Builder>
class BiRNNBuilder {
 public:
  struct Layer {
    Builder forward;
    Builder backward;
  };
  /// The steps of the two builders at one place of the sequence.
  struct Steps {
    RNNPointer forward;
    RNNPointer backward;
  };

  /// Without layers: to be assigned to later. Reading is a StateError until then.
  BiRNNBuilder() = default;
  /// `hidden_dim`: of both directions together. ValueError if it is odd or `num_layers` is 0.
  template <class... Options>
  explicit BiRNNBuilder(unsigned num_layers, unsigned input_dim, unsigned hidden_dim,
                        ParameterCollection& model, Options... options) {
    check(num_layers != 0, "0 layers; want 1 or more");
    check(hidden_dim % 2 == 0,
          "a hidden size of " + std::to_string(hidden_dim) + "; want an even one");
    local_model = model.add_subcollection("birnn");
    for (unsigned i = 0; i < num_layers; ++i) {
      const unsigned size = i == 0 ? input_dim : hidden_dim;
      Builder forward(1, size, hidden_dim / 2, local_model, options...);
      Builder backward(1, size, hidden_dim / 2, local_model, options...);
      builder_layers.push_back({forward, backward});
    }
  }

  /// Adds the parameters to a graph; without `update` they get no gradient.
  void new_graph(ComputationGraph& cg, bool update = true) {
    for_each([&](Builder& builder) { builder.new_graph(cg, update); });
  }
  /// Reads a sequence. The last layer's output at each place: {hidden_dim}.
  std::vector<Expression> transduce(const std::vector<Expression>& xs,
                                    Where where = Where::here()) {
    return attempt(xs, [&] { return joined(read("transduce", xs, where), where); });
  }
  /// Reads a sequence; the last layer's directions stay apart: `h` of its forward builder at a
  /// place is `builder_layers.back().forward.get_h(steps.forward)`.
  std::vector<Steps> add_inputs(const std::vector<Expression>& xs, Where where = Where::here()) {
    return attempt(xs, [&] {
      read("add_inputs", xs, where);
      std::vector<Steps> steps;
      const int last = static_cast<int>(xs.size()) - 1;
      for (int i = 0; i <= last; ++i) {
        steps.push_back({i, last - i});
      }
      return steps;
    });
  }
  /// The last outputs of both directions of the last layer: [forward at the last place; backward at
  /// the first], {hidden_dim}. StateError before a sequence was read.
  [[nodiscard]] Expression back(Where where = Where::here()) const {
    check_layers("back");
    const Layer& layer = builder_layers.back();
    return detail::with_typed_allocation(
        [&] { return concatenate({layer.forward.back(), layer.backward.back()}, 0, where); });
  }

  /// `set_dropout` of all builders, with their number of rates.
  template <class... Rates>
  void set_dropout(Rates... rates) {
    for_each([&](Builder& builder) { builder.set_dropout(rates...); });
  }
  void disable_dropout() {
    for_each([](Builder& builder) { builder.disable_dropout(); });
  }
  /// Makes this one use the parameters of `params`. ValueError unless it has as many layers, and
  /// each builder its like.
  void copy(const BiRNNBuilder& params) {
    const std::size_t count = builder_layers.size();
    check(params.builder_layers.size() == count,
          "copy: " + std::to_string(params.builder_layers.size()) + " layers; this one has " +
              std::to_string(count));
    for (std::size_t i = 0; i < count; ++i) {
      builder_layers[i].forward.copy(params.builder_layers[i].forward);
      builder_layers[i].backward.copy(params.builder_layers[i].backward);
    }
  }
  ParameterCollection& get_parameter_collection() { return local_model; }

  ParameterCollection local_model;
  std::vector<Layer> builder_layers;

 private:
  static void check(bool is_right, const std::string& mistake) {
    if (!is_right) {
      throw errors::ValueError("BiRNNBuilder: " + mistake);
    }
  }
  template <class Function>
  void for_each(Function function) {
    for (Layer& layer : builder_layers) {
      function(layer.forward);
      function(layer.backward);
    }
  }

  void check_layers(const char* call) const {
    if (builder_layers.empty()) {
      throw errors::StateError("BiRNNBuilder: " + std::string(call) +
                               ": the builder was made without layers");
    }
  }

  /// Begins a sequence in both directions. After a failure no drawn mask is kept.
  template <class F>
  static auto attempt(const std::vector<Expression>& xs, F read) {
    detail::RepeatableDraws draws(xs.empty() ? nullptr : xs[0].pg);
    auto result = detail::with_typed_allocation(read);
    draws.keep();
    return result;
  }

  /// The outputs of the two builders of a layer.
  struct Outputs {
    std::vector<Expression> forward;
    std::vector<Expression> backward;  ///< from the last place to the first
  };
  /// The outputs of the last layer.
  Outputs read(const char* call, const std::vector<Expression>& xs, Where where) {
    check_layers(call);
    Outputs outputs = read_layer(builder_layers[0], xs, where);
    for (std::size_t i = 1; i < builder_layers.size(); ++i) {
      outputs = read_layer(builder_layers[i], joined(outputs, where), where);
    }
    return outputs;
  }
  static Outputs read_layer(Layer& layer, const std::vector<Expression>& xs, Where where) {
    layer.forward.start_new_sequence();
    layer.backward.start_new_sequence();
    Outputs outputs;
    outputs.forward = layer.forward.transduce(xs, where);
    outputs.backward = layer.backward.transduce({xs.rbegin(), xs.rend()}, where);
    return outputs;
  }
  static std::vector<Expression> joined(const Outputs& outputs, Where where) {
    const std::size_t count = outputs.forward.size();
    std::vector<Expression> both;
    both.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      both.push_back(concatenate({outputs.forward[i], outputs.backward[count - 1 - i]}, 0, where));
    }
    return both;
  }
};

}  // namespace dynet
