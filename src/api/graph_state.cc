#include "api/graph_state.h"

#include <mutex>
#include <new>

#include "ops/simd_rules.h"
#include "params/use_count.h"
#include "util/fork.h"
#include "util/trace.h"

namespace dynet::api {
namespace {

// Of each pool of a state at rest, and of the numbers of its inputs.
constexpr std::size_t kKeepNumbers = std::size_t{256} << 20;
constexpr std::size_t kKeepStates = 16;

/// States at rest. Bounded by count times the bytes that each may keep.
struct StatePool {
  util::ForkMutex mutex;
  std::vector<std::unique_ptr<GraphState>> states;
};
/// Never destroyed: graphs may outlive main().
StatePool& pool() {
  static StatePool& all = *new StatePool;
  return all;
}

std::atomic<std::uint32_t> epochs{0};

}  // namespace

std::uint32_t next_epoch() { return ++epochs; }
std::uint32_t newest_epoch() { return epochs.load(); }

void Busy::refuse() {
  throw errors::GraphError(
      "the computation graph is being used by another thread (or by an operation of its own)");
}

void GraphState::begin_life() {
  born = epoch = next_epoch();
  growth = {};
}

/// Two losses may have an update between them, and more be built for the second: more often than a
/// few times it is forgotten, and a graph of less than a million nodes takes no harm.
bool Growth::is_endless(const graph::Graph& graph) {
  constexpr std::size_t kManyNodes = 1'000'000;
  constexpr unsigned kOften = 3;
  std::uint64_t changes = 0;
  for (const graph::ModelUse& model : graph.models()) {
    changes += model.usage->changes();
  }
  times_ += nodes_ != 0 && graph.size() > nodes_ && changes != changes_ ? 1 : 0;
  nodes_ = graph.size();
  changes_ = changes;
  const bool is_found = !was_found_ && times_ >= kOften && nodes_ > kManyNodes;
  was_found_ = was_found_ || is_found;
  return is_found;
}

void GraphState::reset() {
  executor.clear();
  graph.clear();
  give_back(ran_out ? 0 : kKeepNumbers);
  interner.trim(kKeepTableBytes);
  marks.clear();
  turns = {};
  has_random_stream = false;
  immediate = false;
  check_validity = false;
  busy.store(false);
}

void GraphState::give_back(std::size_t keep_bytes) {
  executor.give_back(keep_bytes);
  graph.give_back(keep_bytes);
  ran_out = false;
}

std::unique_ptr<GraphState> borrow_state(const Device& device) {
  static std::once_flag first;
  std::call_once(first, [] {
    // Read here, so that a mistake in DYNET_TRACE is an error before there is a graph to break.
    static_cast<void>(util::is_traced(util::TraceWord::kGraph));
    ops::install_simd_rules();
  });
  std::unique_ptr<GraphState> state;
  {
    const std::lock_guard lock(pool().mutex);
    if (!pool().states.empty()) {
      state = std::move(pool().states.back());
      pool().states.pop_back();
    }
  }
  if (state == nullptr) {
    state = std::make_unique<GraphState>();
  }
  state->graph.set_device(device);
  state->executor.follow_device();
  state->begin_life();
  return state;
}

void return_state(std::unique_ptr<GraphState> state) noexcept {
  try {
    state->reset();
    const std::lock_guard lock(pool().mutex);
    if (pool().states.size() < kKeepStates) {
      pool().states.reserve(kKeepStates);
      pool().states.push_back(std::move(state));
    }
  } catch (const std::bad_alloc&) {  // there is no memory to keep some
    state.reset();
  }
}

void drop_resting_states() noexcept {
  std::vector<std::unique_ptr<GraphState>> states;
  const std::lock_guard lock(pool().mutex);
  states.swap(pool().states);
}

graph::NodeId checked_node(const Expression& e, std::string_view user) {
  if (e.pg == nullptr) {
    throw errors::StaleExpression(std::string(user) +
                                  ": the expression is unset (it was never assigned)");
  }
  if (!is_live(e.pg)) {
    throw errors::StaleExpression(std::string(user) + ": stale expression " + std::to_string(e.i) +
                                  ": its computation graph was destroyed");
  }
  const graph::Graph& graph = e.pg->state().graph;
  if (!graph.has(e.i, e.graph_id)) {
    throw errors::StaleExpression(std::string(user) + ": stale expression " + std::to_string(e.i) +
                                  ": its computation graph was cleared, renewed or reverted since");
  }
  return e.i;
}

}  // namespace dynet::api
