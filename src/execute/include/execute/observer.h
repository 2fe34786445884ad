#pragma once

#include <cstdint>
#include <span>

#include "graph/graph.h"

namespace dynet::execute {

/// Told of every kernel call; for tests, statistics and traces. Called inside the pass: may not use
/// the graph's values.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  /// `shared`: bit a is set where argument a was one storage for all members.
  /// `args`: bit a is set where the call reads argument a (all of them, but for a part of a sum).
  struct Call {
    std::span<const graph::NodeId> members;
    std::uint64_t shared;
    std::uint64_t args;
    bool backward;
  };
  virtual void on_call(const graph::Graph& graph, const Call& call) = 0;
};

}  // namespace dynet::execute
