#pragma once

// The façade: the parts of `Expression` and `ComputationGraph`.
//
// A ComputationGraph borrows a GraphState (interned keys, node arrays, memory pools: everything
// worth keeping warm) from a pool when made and gives it back when it dies, so a program that makes
// a graph per example finds the tables and the memory of the last graph. Expressions are handles
// (graph, node, epoch); live_graphs.h tells if the graph is alive, and the node if the epoch is
// still its own. Example: after clear(), node 0 of the graph has a new epoch, so an old expression
// of node 0 is a StaleExpression. Start reading at add_node.cc.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/except.h"

#include "execute/executor.h"
#include "graph/graph.h"
#include "graph/interner.h"
#include "util/one_thread.h"

namespace dynet::api {

/// The most memory of a graph's tables of shapes, signatures and keys when its nodes are removed; a
/// program whose attributes differ in each step would otherwise fill the memory. Some 30,000
/// signatures; programs have hundreds.
inline constexpr std::size_t kKeepTableBytes = std::size_t{16} << 20;

/// Notices a graph that is never cleared: nodes come and parameters change between its backwards.
class Growth {
 public:
  /// To be called at each backward. True, once, if the graph has become large in this way.
  [[nodiscard]] bool is_endless(const graph::Graph& graph);

 private:
  std::size_t nodes_ = 0;      ///< at the last backward
  std::uint64_t changes_ = 0;  ///< of parameters, then
  unsigned times_ = 0;         ///< backwards before which both had grown
  bool was_found_ = false;
};

/// A graph with its executor. Invariants: `epoch` is the epoch of nodes made from now on; `born` is
/// the first epoch since the graph was made or cleared, which a revert leaves as it is. Not
/// thread-safe; `Busy` turns a second thread into a GraphError.
struct GraphState {
  graph::Interner interner;
  graph::Graph graph{interner};
  execute::Executor executor{graph};
  std::uint32_t epoch = 0;
  std::uint32_t born = 0;
  bool has_random_stream = false;
  bool immediate = false;
  bool check_validity = false;
  Growth growth;
  bool ran_out = false;  ///< out_of_memory was thrown since the nodes were removed last
  std::atomic<bool> busy{false};
  struct Mark {
    graph::Graph::Mark graph;
    execute::Executor::Mark executor;
  };
  std::vector<Mark> marks;
  /// Tasks that take turns in the graph (tasks.h): how many run_together, nested ones, are at work,
  /// and the first mark that the task may revert whose turn it is.
  struct Turns {
    unsigned depth = 0;
    std::size_t first_mark = 0;
  };
  Turns turns;
  std::vector<graph::NodeId> args;  ///< room for arguments of the node being added

  /// For a graph without nodes: expressions made before are stale.
  void begin_life();
  /// Removes all nodes and settings; keeps warm memory.
  void reset();
  /// Gives memory back to the system but `keep_bytes` of each kind. There may be no nodes.
  void give_back(std::size_t keep_bytes);
};

/// A number never given before in this process.
[[nodiscard]] std::uint32_t next_epoch();
[[nodiscard]] std::uint32_t newest_epoch();

/// Holds a graph while one thread works in it. GraphError if another thread does.
class Busy {
 public:
  /// In a process of one thread there is nobody to exchange with: a locked instruction waits for
  /// all stores before it, and a node is built in as little time as that takes.
  explicit Busy(GraphState& state) : state_(state) {
    bool was_busy = false;
    if (util::has_one_thread()) {
      was_busy = state.busy.load(std::memory_order_relaxed);
      state.busy.store(true, std::memory_order_relaxed);
    } else {
      was_busy = state.busy.exchange(true, std::memory_order_acquire);
    }
    if (was_busy) [[unlikely]] {
      refuse();
    }
  }
  ~Busy() { state_.busy.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  [[noreturn]] static void refuse();

  GraphState& state_;
};

/// A resting state, or a new state. Thread-safe.
std::unique_ptr<GraphState> borrow_state(const Device& device);
void return_state(std::unique_ptr<GraphState> state) noexcept;
/// Gives the memory of the states at rest back to the system. Thread-safe.
void drop_resting_states() noexcept;

/// Runs `f` while no other thread works in the graph; GraphError if one does. A failed allocation
/// inside, however small, is out_of_memory; afterwards live graphs can use the memory that was kept
/// for later graphs.
template <class F>
[[gnu::always_inline]] inline decltype(auto) exclusively(GraphState& state, F&& f) {
  const Busy busy(state);
  try {
    return f();
  } catch (const out_of_memory&) {
    state.ran_out = true;
    drop_resting_states();
    throw;
  } catch (const std::bad_alloc&) {
    state.ran_out = true;
    drop_resting_states();
    detail::fail_small_allocation();
  }
}

/// The node of an expression. StaleExpression if the graph or the node is gone; `user` names the
/// caller.
graph::NodeId checked_node(const Expression& e, std::string_view user);

// live_graphs.cc. Thread-safe; the test is one probe without a lock.
void enter_live(const ComputationGraph* graph);
void leave_live(const ComputationGraph* graph);
[[nodiscard]] bool is_live(const ComputationGraph* graph);
[[nodiscard]] int live_count();

}  // namespace dynet::api
