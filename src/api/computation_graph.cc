#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "dynet/except.h"
#include "dynet/expr/leaves.h"
#include "dynet/globals.h"
#include "dynet/repeatable.h"

#include "api/graph_state.h"
#include "api/nan.h"
#include "execute/verify.h"
#include "params/settings.h"
#include "schedule/explain.h"

namespace dynet {

using api::exclusively;

namespace {
void choose_policy(api::GraphState& state, bool batched) {
  state.executor.scheduler().choose(batched ? schedule::kBatching : schedule::kOneByOne);
}
}  // namespace

ComputationGraph::ComputationGraph() : ComputationGraph(autobatch_flag != 0) {}

ComputationGraph::ComputationGraph(bool batched)
    : state_(detail::with_typed_allocation([&] {
        std::unique_ptr<api::GraphState> state = api::borrow_state(*default_device);
        choose_policy(*state, batched);
        api::enter_live(this);
        return state.release();
      })) {}

ComputationGraph::~ComputationGraph() {
  api::leave_live(this);
  api::return_state(std::unique_ptr<api::GraphState>(state_));
}

void ComputationGraph::clear() {
  exclusively(*state_, [&] {
    if (state_->turns.depth != 0) {
      throw errors::GraphError(
          "the graph may not be emptied (renew_cg() in Python, clear() in C++): tasks of "
          "run_together work in it; want that before or after run_together");
    }
    state_->marks.clear();
    state_->executor.remove_all();
    state_->graph.clear();
    if (state_->ran_out) {  // memory of values may be wanted by inputs, or the other way round
      state_->give_back(0);
    }
    state_->interner.trim(api::kKeepTableBytes);
    state_->begin_life();
    state_->has_random_stream = false;
  });
}

void ComputationGraph::checkpoint() {
  exclusively(*state_, [&] {
    api::compute_all(*state_);
    state_->marks.push_back({state_->graph.mark(), state_->executor.mark()});
  });
}

void ComputationGraph::revert() {
  exclusively(*state_, [&] {
    if (state_->marks.empty()) {
      return;
    }
    if (state_->turns.depth != 0 && state_->marks.size() <= state_->turns.first_mark) {
      throw errors::GraphError(
          "revert: the last checkpoint is older than this turn of the task, and other tasks of "
          "run_together have made nodes since; want checkpoint and revert between two questions");
    }
    const api::GraphState::Mark mark = state_->marks.back();
    state_->marks.pop_back();
    execute::verify_if_paranoid(state_->executor, mark.executor, mark.graph.nodes);
    state_->executor.revert(mark.executor, mark.graph.nodes);
    state_->graph.revert(mark.graph);
    execute::verify_if_paranoid(state_->executor, "revert");
    state_->epoch = api::next_epoch();
    state_->growth = {};  // it does not only grow
  });
}

namespace {
void check_index(const api::GraphState& state, std::size_t i, const char* user) {
  if (i >= state.graph.size()) {
    throw errors::IndexError(std::string(user) + ": node " + std::to_string(i) + " of a graph of " +
                             std::to_string(state.graph.size()) + " nodes");
  }
}

/// The value of a node that there is.
const Tensor& value_of(api::GraphState& state, VariableIndex i) {
  return exclusively(state, [&]() -> const Tensor& { return api::checked_value(state, i); });
}

/// The number of a live expression of this graph.
VariableIndex own_node(const ComputationGraph& graph, const Expression& e, std::string_view user) {
  const graph::NodeId n = api::checked_node(e, user);
  if (e.pg != &graph) {
    throw errors::GraphError(std::string(user) +
                             ": the expression belongs to another computation graph\n  " +
                             e.pg->state().graph.describe(n));
  }
  return n;
}
}  // namespace

const Dim& ComputationGraph::get_dimension(VariableIndex index) const {
  check_index(*state_, index, "get_dimension");
  return state_->graph.dim(index);
}

const Tensor& ComputationGraph::forward(const Expression& last) {
  return forward(own_node(*this, last, "forward"));
}

const Tensor& ComputationGraph::forward(VariableIndex i) {
  check_index(*state_, i, "forward");
  return exclusively(*state_, [&]() -> const Tensor& {
    detail::RepeatableDraws draws(this);
    state_->executor.invalidate();
    const Tensor& value = api::checked_value(*state_, i);
    draws.keep();
    return value;
  });
}

const Tensor& ComputationGraph::incremental_forward(const Expression& last) {
  return incremental_forward(own_node(*this, last, "incremental_forward"));
}

const Tensor& ComputationGraph::incremental_forward(VariableIndex i) {
  check_index(*state_, i, "incremental_forward");
  return value_of(*state_, i);
}

const Tensor& ComputationGraph::get_value(VariableIndex i) {
  check_index(*state_, i, "get_value");
  return value_of(*state_, i);
}
const Tensor& ComputationGraph::get_value(const Expression& e) {
  return value_of(*state_, own_node(*this, e, "get_value"));
}

const Tensor& ComputationGraph::get_gradient(VariableIndex i) {
  check_index(*state_, i, "get_gradient");
  return exclusively(*state_, [&]() -> const Tensor& { return state_->executor.gradient(i); });
}

const Tensor& ComputationGraph::get_gradient(const Expression& e) {
  return get_gradient(own_node(*this, e, "get_gradient"));
}

void ComputationGraph::invalidate() {
  exclusively(*state_, [&] { state_->executor.invalidate(); });
}

void ComputationGraph::backward(const Expression& last, bool full) {
  backward(own_node(*this, last, "backward"), full);
}

void ComputationGraph::backward(VariableIndex i, bool full) {
  check_index(*state_, i, "backward");
  if (exclusively(*state_, [&] { return state_->growth.is_endless(state_->graph); })) [[unlikely]] {
    params::warn("backward: the graph has " + std::to_string(state_->graph.size()) +
                 " nodes, and more come with each update; want a new graph for each: renew_cg() in "
                 "Python, in C++ a ComputationGraph of the loop's body or clear()");
  }
  exclusively(*state_, [&] {
    if (state_->check_validity) {
      static_cast<void>(api::checked_value(*state_, i));
    }
    state_->executor.backward(i, full);
  });
  api::suspect(*this, *state_);
}

void ComputationGraph::set_immediate_compute(bool ic) { state_->immediate = ic; }
void ComputationGraph::set_check_validity(bool cv) { state_->check_validity = cv; }

void ComputationGraph::set_batching(bool on) {
  exclusively(*state_, [&] { choose_policy(*state_, on); });
}

bool ComputationGraph::batching() const {
  return state_->executor.scheduler().chosen() != schedule::kOneByOne;
}

template <int>
std::string explain_batch(const Expression& a, const Expression& b) {
  const graph::NodeId x = api::checked_node(a, "explain_batch");
  const graph::NodeId y = api::checked_node(b, "explain_batch");
  if (a.pg != b.pg) {
    throw errors::GraphError(
        "explain_batch: the nodes are of different graphs, which never run together");
  }
  return exclusively(a.pg->state(), [&] { return schedule::explain(a.pg->state().graph, x, y); });
}
template std::string explain_batch<>(const Expression& a, const Expression& b);

void ComputationGraph::set_random_stream(std::uint64_t stream) {
  state_->executor.set_random_stream(stream);
  state_->has_random_stream = true;
}

void ComputationGraph::print_graphviz() const { std::cerr << to_dot(); }
std::string ComputationGraph::to_dot() const { return state_->graph.to_dot(); }

std::string ComputationGraph::to_svg() const {
  return exclusively(*state_, [&] {
    const graph::Graph& graph = state_->graph;
    std::vector<graph::NodeId> wanted;
    for (graph::NodeId n = 0; n < graph.size(); ++n) {
      if (graph[n].output == 0 && graph[n].record().reads_storage != ext::Storage::kWhole) {
        wanted.push_back(n);
      }
    }
    schedule::Scheduler scheduler;
    scheduler.choose(state_->executor.scheduler().chosen());
    schedule::Plan plan;
    if (!wanted.empty()) {
      scheduler.plan(graph, wanted, plan);
    }
    return schedule::to_svg(graph, plan);
  });
}

namespace {
void dump_numbers(std::ostream& out, const char* what, const Tensor& t, bool nan_check_only) {
  out << "  " << what << ": ";
  if (nan_check_only) {
    out << (t.is_valid() ? "finite" : "NaN or infinity");
  } else {
    for (const float x : as_vector(t)) {
      out << x << ' ';
    }
  }
  out << '\n';
}
}  // namespace

void ComputationGraph::dump(const std::string& filename, bool show_values, bool show_gradients,
                            bool nan_check_only) {
  std::ofstream file;
  if (!filename.empty()) {
    file.open(filename);
    if (!file) {
      throw errors::IoError("dump: cannot write " + filename + ": " + std::strerror(errno));
    }
  }
  std::ostream& out = filename.empty() ? std::cout : file;
  for (VariableIndex n = 0; n < state_->graph.size(); ++n) {
    out << state_->graph.describe(n) << '\n';
    if (show_values) {
      dump_numbers(out, "value", get_value(n), nan_check_only);
    }
    if (show_gradients && state_->executor.can_have_gradient(n)) {
      dump_numbers(out, "gradient", get_gradient(n), nan_check_only);
    }
  }
  out.flush();  // others may write to the same stream in their own ways: Python does
}

unsigned ComputationGraph::get_id() const { return state_->epoch; }

std::size_t ComputationGraph::NodeList::size() const { return graph_.state().graph.size(); }
ComputationGraph::NodeView ComputationGraph::NodeList::operator[](std::size_t i) const {
  check_index(graph_.state(), i, "nodes");
  const graph::Graph& graph = graph_.state().graph;
  const auto n = static_cast<graph::NodeId>(i);
  return {graph.dim(n), &graph[n].device()};
}

VariableIndex ComputationGraph::add_input(real s, Device* device) {
  return input({*this, Where()}, s, device).i;
}
VariableIndex ComputationGraph::add_input(const real* ps, Device* device) {
  return input({*this, Where()}, ps, device).i;
}
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<float>& data,
                                          Device* device) {
  return input({*this, Where()}, d, data, device).i;
}
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<float>* pdata,
                                          Device* device) {
  return input({*this, Where()}, d, pdata, device).i;
}
VariableIndex ComputationGraph::add_input(const Dim& d, const std::vector<unsigned>& ids,
                                          const std::vector<float>& data, Device* device,
                                          float defdata) {
  return input({*this, Where()}, d, ids, data, defdata, device).i;
}
VariableIndex ComputationGraph::add_parameters(const Parameter& p) {
  return parameter({*this, Where()}, p).i;
}
VariableIndex ComputationGraph::add_parameters(const LookupParameter& p) {
  return parameter({*this, Where()}, p).i;
}
VariableIndex ComputationGraph::add_const_parameters(const Parameter& p) {
  return const_parameter({*this, Where()}, p).i;
}
VariableIndex ComputationGraph::add_const_parameters(const LookupParameter& p) {
  return const_parameter({*this, Where()}, p).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p, unsigned index) {
  return lookup({*this, Where()}, p, index).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p, const unsigned* pindex) {
  return lookup({*this, Where()}, p, pindex).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p,
                                           const std::vector<unsigned>& indices) {
  return lookup({*this, Where()}, p, indices).i;
}
VariableIndex ComputationGraph::add_lookup(const LookupParameter& p,
                                           const std::vector<unsigned>* pindices) {
  return lookup({*this, Where()}, p, pindices).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p, unsigned index) {
  return const_lookup({*this, Where()}, p, index).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p, const unsigned* pindex) {
  return const_lookup({*this, Where()}, p, pindex).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p,
                                                 const std::vector<unsigned>& indices) {
  return const_lookup({*this, Where()}, p, indices).i;
}
VariableIndex ComputationGraph::add_const_lookup(const LookupParameter& p,
                                                 const std::vector<unsigned>* pindices) {
  return const_lookup({*this, Where()}, p, pindices).i;
}

int get_number_of_active_graphs() { return api::live_count(); }
unsigned get_current_graph_id() { return api::newest_epoch(); }

}  // namespace dynet
