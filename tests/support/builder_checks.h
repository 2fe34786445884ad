#pragma once

// Code shared by tests of builders in whole programs: the number of calls of a graph, model files.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/io.h"

#include "support/observe.h"
#include "testing/temporary_folder.h"

namespace dynet::testing {

/// The nodes of parameters in a graph.
inline std::vector<Expression> nodes_of(ComputationGraph& cg,
                                        const std::vector<Parameter>& parameters) {
  std::vector<Expression> nodes;
  nodes.reserve(parameters.size());
  for (const Parameter& p : parameters) {
    nodes.push_back(parameter(cg, p));
  }
  return nodes;
}

/// Forward calls that compute `e`, without calls of nodes from `end` on.
inline std::size_t calls_for(ComputationGraph& cg, const Expression& e, VariableIndex end) {
  Observed observed;
  observe(cg, &observed);
  static_cast<void>(e.value());
  observe(cg, nullptr);
  return static_cast<std::size_t>(std::count_if(
      observed.calls().begin(), observed.calls().end(),
      [&](const auto& call) { return !call.members.empty() && call.members.front() < end; }));
}

/// A file of a collection, in a folder of its own.
class ModelFile {
 public:
  [[nodiscard]] std::string name() const { return folder_.file("model"); }
  void save(const ParameterCollection& model, const std::string& key = "") const {
    TextFileSaver saver(name());
    saver.save(model, key);
    saver.close();
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace dynet::testing
