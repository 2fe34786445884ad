#pragma once

// The nodes that ran together: a hook of the executor's calls.

#include <map>
#include <string>
#include <vector>

#include "dynet/dynet.h"

#include "execute/executor.h"

namespace dynet::testing {

/// Remembers every call of one graph. Must outlive the graph's computing.
class Observed : public execute::Hook {
 public:
  struct Call {
    std::vector<graph::NodeId> members;
    std::uint64_t shared;
    bool backward;
  };
  void before_call(const graph::Graph& graph, const execute::Hook::Call& call) override;

  /// Were two nodes members of one forward call?
  [[nodiscard]] bool together(const Expression& a, const Expression& b) const;
  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  /// Forward calls.
  [[nodiscard]] std::size_t forward_calls() const;

  /// Adds, for each argument of each merged call, how many members it had: by operation, pattern of
  /// batch extents and how the argument was read.
  static std::string combination(std::string_view operation, std::string_view pattern,
                                 std::size_t arg, bool shared);
  void count_into(std::map<std::string, long>* counts) { counts_ = counts; }

 private:
  void count(const graph::Graph& graph, const execute::Hook::Call& call);

  std::vector<Call> calls_;
  std::map<std::string, long>* counts_ = nullptr;
};

/// Has `hook` told of the graph's calls from now on; null: nobody.
void observe(ComputationGraph& cg, execute::Hook* hook);

/// Sums finished by a call whose first member's first terms ran in another group than their own.
std::size_t joined_sums(ComputationGraph& cg);

/// Groups with members of different shapes, as nodes that are cut into columns have.
std::size_t groups_of_many_shapes(ComputationGraph& cg);

/// The key of a node: equal for nodes that may run together.
unsigned key_of(const Expression& e);

}  // namespace dynet::testing
