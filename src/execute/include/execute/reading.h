#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "params/gradient.h"

namespace dynet::execute {

/// While it lives, no update may run on the models whose parameters the graph holds. GraphError
/// where one is running.
class Reading {
 public:
  explicit Reading(const graph::Graph& graph) {
    const params::Usage* last = nullptr;  // most programs have one model
    for (const graph::StorageUse& use : graph.storages()) {
      params::Usage& usage = params::usage_of(params::storage_base(use.storage.get()));
      if (&usage == last) {
        continue;
      }
      last = &usage;
      if (!first_) {
        first_.emplace(usage);
      } else {
        others_.push_back(std::make_unique<params::RunScope>(usage));
      }
    }
  }

 private:
  std::optional<params::RunScope> first_;
  std::vector<std::unique_ptr<params::RunScope>>
      others_;  // scopes nest, so one model may stand twice
};

}  // namespace dynet::execute
