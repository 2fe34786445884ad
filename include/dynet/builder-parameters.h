#pragma once

// The base of the builders of attention.h, transformer.h and crf-builder.h: parameters in a
// sub-collection of their own, and the parameters' nodes in the graph of the last new_graph.

#include <initializer_list>
#include <string>
#include <vector>

#include "dynet/expr.h"

namespace dynet::detail {

/// The parameters of one builder, by number. Copies share them.
///
/// Invariant: `nodes` is empty before new_graph, else it has the node of each parameter in `graph`.
class BuilderParameters {
 public:
  /// The name in errors of a builder without parameters.
  static constexpr const char* kNone = "a builder without parameters";

  /// For a builder that was made by its default constructor.
  BuilderParameters() = default;
  /// `builder`: a literal, the class's name in errors; `collection`: the name of the
  /// sub-collection.
  BuilderParameters(const char* builder, const char* collection, ParameterCollection& model);

  /// Appends a parameter, by default with Glorot's values.
  void add(const Dim& d, const char* name, const ParameterInit& init = ParameterInitGlorot());
  /// StateError for a builder that was made by its default constructor.
  void new_graph(ComputationGraph& cg, bool update);
  /// StateError before new_graph; for each used expression StaleExpression, with the line, if it is
  /// unset or its node is gone, and GraphError for a node of another graph.
  void check(const char* call, std::initializer_list<Expression> used, Where where) const;
  /// Uses the parameters of `other` from the next new_graph on. ValueError unless the shapes agree.
  void share(const BuilderParameters& other);

  [[nodiscard]] const Expression& operator[](std::size_t i) const { return nodes[i]; }
  /// "MLPAttentionBuilder: attend: ", the beginning of an error.
  [[nodiscard]] std::string at(const char* call) const;

  const char* builder = kNone;
  ParameterCollection collection;
  std::vector<Parameter> params;
  std::vector<Expression> nodes;
  ComputationGraph* graph = nullptr;

 private:
  bool is_made_ = false;
};

}  // namespace dynet::detail
