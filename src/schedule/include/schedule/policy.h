#pragma once

// Policies: which nodes run together, and in which order.
//
// A policy is a class of its own in a file of its own, and one word in CMakeLists.txt, from which
// its source and its entry in the table follow. The file defines `make_NAME`.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "schedule/device_order.h"
#include "schedule/plan.h"

namespace dynet::schedule {

/// Owns the buffers that it plans with, so that planning allocates nothing in the steady state.
/// Thread rule: one thread at a time.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;
  /// `wanted`: ascending ids of nodes to compute, none of them a parameter or a projection
  /// (graph.h).
  /// Whatever else they depend on has been computed. Fills `plan`, which is empty. After an
  /// exception the policy is not to be used again.
  virtual void plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan) = 0;
};

struct PolicyEntry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};
/// All policies, the simplest first.
[[nodiscard]] std::span<const PolicyEntry> policies();
/// ValueError, which lists all names, if no policy has this one.
[[nodiscard]] const PolicyEntry& find_policy(std::string_view name);

inline constexpr std::string_view kOneByOne = "one_by_one";  ///< batching off
inline constexpr std::string_view kBatching = "frontier";    ///< batching on

/// The chosen policy, and the buffers of earlier choices, so that a second choice finds them warm.
/// Plans get the order of devices here. Thread rule: one thread at a time.
class Scheduler {
 public:
  Scheduler();
  /// ValueError if no policy has this name; the choice is then as it was.
  void choose(std::string_view name);
  [[nodiscard]] std::string_view chosen() const { return policies()[chosen_].name; }
  /// See Policy::plan. After an exception `plan` holds nothing of use and the next call is fine.
  void plan(const graph::Graph& graph, const std::vector<NodeId>& wanted, Plan& plan);

 private:
  std::size_t chosen_ = 0;
  std::vector<std::unique_ptr<Policy>> made_;  ///< by place in the table; null: not needed so far
  DeviceOrder device_order_;
};

}  // namespace dynet::schedule
