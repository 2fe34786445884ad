#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "params/use_count.h"

namespace dynet::execute {

/// While it lives, no update may run on the models whose parameters the graph holds. GraphError
/// where one is running.
class Reading {
 public:
  explicit Reading(const graph::Graph& graph) {
    for (const graph::ModelUse& model : graph.models()) {
      if (!first_) {  // most programs have one model
        first_.emplace(*model.usage);
      } else {
        others_.push_back(std::make_unique<params::RunScope>(*model.usage));
      }
    }
  }

 private:
  std::optional<params::RunScope> first_;
  std::vector<std::unique_ptr<params::RunScope>> others_;
};

}  // namespace dynet::execute
