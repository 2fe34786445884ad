// Attention and Transformers as builders.
//
// A builder is made ready in this thread's graph at its first use there, or by its `new_graph`.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/transformer.h"

#include "binding.h"
#include "graph.h"
#include "held.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

using List = std::vector<unsigned>;

// ---- attention
// ------------------------------------------------------------------------------------

void bind_memory(nb::module_& m) {
  nb::class_<AttentionMemory>(m, "AttentionMemory", texts::AttentionMemory)
      .def_prop_ro(
          "keys", [](const AttentionMemory& a) { return PyExpression(a.keys); },
          texts::AttentionMemory_keys)
      .def_prop_ro(
          "values", [](const AttentionMemory& a) { return PyExpression(a.values); },
          texts::AttentionMemory_values)
      .def_prop_ro(
          "lengths", [](const AttentionMemory& a) { return a.lengths; },
          texts::AttentionMemory_lengths)
      .def("positions", &AttentionMemory::positions, texts::AttentionMemory_positions);
}

template <class Builder>
nb::class_<Held<Builder>> define_attention(nb::module_& m, const char* name) {
  using nb::arg;
  using Py = Held<Builder>;
  auto c = define_held<Builder>(m, name);
  c.def(
       "read",
       [](Py& b, const ExprArg& keys, const ExprArg& values, const List& lengths) {
         return b.live().read(keys.node(), values.node(), lengths, here());
       },
       arg("keys"), arg("values"), arg("lengths") = List(), texts::AttentionBuilder_read)
      .def(
          "read",
          [](Py& b, const ExprArg& keys, const List& lengths) {
            return b.live().read(keys.node(), lengths, here());
          },
          arg("keys"), arg("lengths") = List(), texts::AttentionBuilder_read_2)
      .def(
          "attend",
          [](Py& b, const ExprArg& queries, const AttentionMemory& memory) {
            return PyExpression(b.live().attend(queries.node(), memory, here()));
          },
          arg("queries"), arg("memory"), texts::AttentionBuilder_attend);
  return c;
}

template <class Builder>
nb::class_<Held<Builder>> define_scoring(nb::module_& m, const char* name) {
  using nb::arg;
  using Py = Held<Builder>;
  auto c = define_attention<Builder>(m, name);
  c.def(
       "scores",
       [](Py& b, const ExprArg& queries, const AttentionMemory& memory) {
         return PyExpression(b.live().scores(queries.node(), memory, here()));
       },
       arg("queries"), arg("memory"), texts::ScoringAttentionBuilder_scores)
      .def(
          "weights",
          [](Py& b, const ExprArg& queries, const AttentionMemory& memory) {
            return PyExpression(b.live().weights(queries.node(), memory, here()));
          },
          arg("queries"), arg("memory"), texts::ScoringAttentionBuilder_weights);
  return c;
}

void bind_attention(nb::module_& m) {
  using nb::arg;
  bind_memory(m);
  auto mlp = define_scoring<MLPAttentionBuilder>(m, "MLPAttentionBuilder");
  def_init(mlp, &make_held<MLPAttentionBuilder, unsigned, unsigned, unsigned>, arg("query_dim"),
           arg("key_dim"), arg("hidden_dim"), arg("model"));
  auto dot = define_scoring<DotAttentionBuilder>(m, "DotAttentionBuilder");
  def_init(dot, &make_held<DotAttentionBuilder, unsigned>, arg("dim"), arg("model"));
  auto biaffine = define_scoring<BiaffineAttentionBuilder>(m, "BiaffineAttentionBuilder");
  def_init(biaffine, &make_held<BiaffineAttentionBuilder, unsigned, unsigned>, arg("query_dim"),
           arg("key_dim"), arg("model"));
  using Heads = Held<MultiHeadAttentionBuilder>;
  auto heads = define_attention<MultiHeadAttentionBuilder>(m, "MultiHeadAttentionBuilder");
  def_init(
      heads,
      +[](unsigned dim, unsigned count, ParameterCollection& model, unsigned memory_dim) {
        return MultiHeadAttentionBuilder(dim, count, model, memory_dim);
      },
      arg("dim"), arg("heads"), arg("model"), arg("memory_dim") = 0U);
  heads
      .def(
          "attend_causally",
          [](Heads& b, const ExprArg& queries, const AttentionMemory& memory) {
            return PyExpression(b.live().attend_causally(queries.node(), memory, here()));
          },
          arg("queries"), arg("memory"), texts::MultiHeadAttentionBuilder_attend_causally)
      .def(
          "append",
          [](Heads& b, const AttentionMemory& memory, const ExprArg& x) {
            return b.live().append(memory, x.node(), here());
          },
          arg("memory"), arg("x"), texts::MultiHeadAttentionBuilder_append)
      .def(
          "append",
          [](Heads& b, const ExprArg& x) { return b.live().append({}, x.node(), here()); },
          arg("x"));
}

// ---- Transformers
// ---------------------------------------------------------------------------------

TransformerOptions options_of(bool pre_norm, bool gelu, bool has_memory, unsigned memory_dim,
                              float epsilon) {
  TransformerOptions options;
  options.pre_norm = pre_norm;
  options.gelu = gelu;
  options.has_memory = has_memory;
  options.memory_dim = memory_dim;
  options.epsilon = epsilon;
  return options;
}

template <class Builder>
nb::class_<Held<Builder>> define_stack(nb::module_& m, const char* name) {
  using nb::arg;
  using Py = Held<Builder>;
  auto c = define_held<Builder>(m, name);
  c.def(
       "set_dropout",
       [](Py& b, float rate) {
         b.builder.set_dropout(rate);
         b.set("dropout", "set_dropout", rate);
       },
       arg("rate"), texts::TransformerStack_set_dropout)
      .def(
          "disable_dropout",
          [](Py& b) {
            b.builder.disable_dropout();
            b.unset("dropout");
          },
          texts::TransformerStack_disable_dropout);
  return c;
}

void bind_encoder(nb::module_& m) {
  using nb::arg;
  using Encoder = Held<TransformerEncoderBuilder>;
  nb::class_<TransformerState>(m, "TransformerState", texts::TransformerState)
      .def(
          "output",
          [](const TransformerState& s) -> nb::object {
            return s.output.pg == nullptr ? nb::none() : make_expression(s.output);
          },
          nb::sig("def output(self) -> typing.Any"), texts::TransformerState_output)
      .def("positions", &TransformerState::positions, texts::TransformerState_positions);
  auto encoder = define_stack<TransformerEncoderBuilder>(m, "TransformerEncoderBuilder");
  def_init(
      encoder,
      +[](unsigned layers, unsigned dim, unsigned heads, unsigned hidden_dim,
          ParameterCollection& model, bool pre_norm, bool gelu, float epsilon) {
        return TransformerEncoderBuilder(layers, dim, heads, hidden_dim, model,
                                         options_of(pre_norm, gelu, false, 0, epsilon));
      },
      arg("layers"), arg("dim"), arg("heads"), arg("hidden_dim"), arg("model"),
      arg("pre_norm") = true, arg("gelu") = false, arg("epsilon") = 0.0F);
  encoder.def(
      "encode",
      [](Encoder& b, const ExprArg& x, const List& lengths) {
        return PyExpression(b.live().encode(x.node(), lengths, here()));
      },
      arg("x"), arg("lengths") = List(), texts::TransformerEncoderBuilder_encode);
}

void bind_decoder(nb::module_& m) {
  using nb::arg;
  using Decoder = Held<TransformerDecoderBuilder>;
  auto decoder = define_stack<TransformerDecoderBuilder>(m, "TransformerDecoderBuilder");
  def_init(
      decoder,
      +[](unsigned layers, unsigned dim, unsigned heads, unsigned hidden_dim,
          ParameterCollection& model, bool pre_norm, bool gelu, bool has_memory,
          unsigned memory_dim, float epsilon) {
        return TransformerDecoderBuilder(
            layers, dim, heads, hidden_dim, model,
            options_of(pre_norm, gelu, has_memory, memory_dim, epsilon));
      },
      arg("layers"), arg("dim"), arg("heads"), arg("hidden_dim"), arg("model"),
      arg("pre_norm") = true, arg("gelu") = false, arg("has_memory") = true, arg("memory_dim") = 0U,
      arg("epsilon") = 0.0F);
  decoder
      .def(
          "start", [](Decoder& b) { return b.live().start(); },
          texts::TransformerDecoderBuilder_start)
      .def(
          "start",
          [](Decoder& b, const ExprArg& seen, const List& lengths) {
            return b.live().start(seen.node(), lengths, here());
          },
          arg("seen"), arg("lengths") = List(), texts::TransformerDecoderBuilder_start_2)
      .def(
          "add_input",
          [](Decoder& b, const TransformerState& state, const ExprArg& x) {
            return b.live().add_input(state, x.node(), here());
          },
          arg("state"), arg("x"), texts::TransformerDecoderBuilder_add_input);
}

struct PyPositionalEncoding : Made {
  std::unique_ptr<PositionalEncoding> builder;
};
struct PySinusoidalEncoding : PyPositionalEncoding {};
struct PyLearnedEncoding : PyPositionalEncoding {
  [[nodiscard]] LearnedEncoding& get() const { return static_cast<LearnedEncoding&>(*builder); }
};

void bind_encodings(nb::module_& m) {
  using nb::arg;
  nb::class_<PyPositionalEncoding>(m, "PositionalEncoding", texts::PositionalEncoding)
      .def(
          "add",
          [](const PyPositionalEncoding& e, const ExprArg& x, unsigned first) {
            return PyExpression(e.builder->add(x.node(), first, here()));
          },
          arg("x"), arg("first") = 0U, texts::PositionalEncoding_add);
  nb::class_<PySinusoidalEncoding, PyPositionalEncoding> sinusoidal(m, "SinusoidalEncoding",
                                                                    texts::SinusoidalEncoding);
  def_init(
      sinusoidal,
      +[](unsigned dim) -> std::unique_ptr<PositionalEncoding> {
        return std::make_unique<SinusoidalEncoding>(dim);
      },
      arg("dim"));
  nb::class_<PyLearnedEncoding, PyPositionalEncoding> learned(m, "LearnedEncoding",
                                                              texts::LearnedEncoding);
  def_init(
      learned,
      +[](unsigned dim, unsigned max_positions,
          ParameterCollection& model) -> std::unique_ptr<PositionalEncoding> {
        return std::make_unique<LearnedEncoding>(dim, max_positions, model);
      },
      arg("dim"), arg("max_positions"), arg("model"));
  learned
      .def(
          "set_updated",
          [](PyLearnedEncoding& e, bool update) {
            e.get().set_updated(update);
            e.set("updated", "set_updated", update);
          },
          arg("update"), texts::LearnedEncoding_set_updated)
      .def(
          "param_collection",
          [](const PyLearnedEncoding& e) { return e.get().get_parameter_collection(); },
          texts::LearnedEncoding_get_parameter_collection);
}

}  // namespace

void bind_attention_builders(nb::module_& m) {
  bind_attention(m);
  bind_encoder(m);
  bind_decoder(m);
  bind_encodings(m);
  bind_crf_builders(m);
}

}  // namespace dynet::python
