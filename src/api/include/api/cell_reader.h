#pragma once

// From the nodes that a function added to the content of a program.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/expression.h"
#include "dynet/ops/input.h"

#include "graph/graph.h"
#include "ops/program.h"

namespace dynet::api {

/// A parameter that the function read, an argument of the program behind the arguments of the cell.
struct ReadParameter {
  std::shared_ptr<void> storage;
  ops::Parameter op;
  Expression node;  ///< in the graph of the last call
};

/// A program whose first arguments, one for each argument of the cell, may be unused.
struct CellContent {
  ops::ProgramContent program;
  std::vector<ReadParameter> parameters;
};

/// Reads the nodes of `graph` that `results` need. The first `arguments` nodes are placeholders;
/// `weights` says which of them stand for parameters. UsageError names a node that cannot be a
/// step.
class CellReader {
 public:
  CellReader(std::string name, const graph::Graph& graph, std::vector<bool> weights);

  [[nodiscard]] CellContent read(const std::vector<graph::NodeId>& results);

 private:
  [[noreturn]] void refuse(graph::NodeId n, const std::string& why) const;
  void check(graph::NodeId n) const;
  [[nodiscard]] std::vector<bool> needed(const std::vector<graph::NodeId>& results) const;
  void read_parameters(const std::vector<bool>& needed);
  void add_step(graph::NodeId n);
  void add_steps_of(graph::NodeId n, const ops::Program& program);
  void add_value(const Dim& dim);
  [[nodiscard]] std::vector<ops::ValueId> arguments_of(const graph::Node& node) const;
  [[nodiscard]] std::vector<Dim> saved_shapes_of(const graph::Node& node) const;

  std::string name_;
  const graph::Graph& graph_;
  std::vector<ops::ValueId> values_;  ///< by node
  std::size_t placeholders_;
  CellContent content_;
};

/// A program in two: the first part depends on inputs and parameters alone, and the second part has
/// the results of the first as its last arguments.
struct SplitContent {
  std::optional<ops::ProgramContent> first;
  ops::ProgramContent rest;
  std::vector<ops::ValueId> first_args, rest_args;  ///< arguments of the whole program; the results
                                                    ///< of the first part count from its end on
};
/// `is_input`: by argument. Parts read only the arguments that they need.
[[nodiscard]] SplitContent split(const ops::ProgramContent& whole,
                                 const std::vector<bool>& is_input);

}  // namespace dynet::api
