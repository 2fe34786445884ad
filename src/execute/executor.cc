#include "execute/executor.h"

#include <algorithm>

#include "execute/reading.h"
#include "kernels/float_mode.h"
#include "kernels/team.h"
#include "util/timeline.h"

namespace dynet::execute {

void Executor::follow_device() {
  ext::Memory& own = *context_.graph.device().memory;
  values_.pools().set_own(own);
  backward_.gradients().pools().set_own(own);
  tools_.memory.pools().set_own(own);
}

const Tensor& Executor::value(NodeId n) {
  compute({&n, 1}, false);
  return views_.view(n, context_.tensor(n, values_.at(n)));
}

/// An alias lies where its argument does. Memory in no pool belongs to a stored parameter.
std::shared_ptr<const void> Executor::share(NodeId n) {
  const graph::Graph& graph = context_.graph;
  NodeId from = n;
  while (graph[from].record().aliases) {
    from = graph.args(from)[0];
  }
  if (graph.bytes(from) == 0) {
    return nullptr;  // there is nothing to read
  }
  if (values_.pools().contains(context_.memory(from), values_.at(from))) {
    return values_.pools().share(context_.memory(from), values_.at(from));
  }
  return graph.storages()[graph[from].payload->storage_slot].storage;
}

void Executor::backward(NodeId root, bool full) {
  const graph::Graph& graph = context_.graph;
  if (is_in_inference_scope()) {
    throw errors::GraphError(
        "backward: within an inference scope there are no gradients; call it outside\n  " +
        graph.describe(root));
  }
  if (graph.dim(root).elements() != 1) {
    throw errors::ShapeError("backward: the node has shape " + to_string(graph.dim(root)) +
                             "; want one element, such as a loss summed over its batch\n  " +
                             graph.describe(root));
  }
  const kernels::Section section;
  compute({&root, 1}, false);
  try {
    backward_.run(root, full);
  } catch (...) {
    give_back_unused();
    throw;
  }
}

const Tensor& Executor::gradient(NodeId n) {
  const kernels::Section section;
  try {
    return backward_.gradient(n);
  } catch (...) {
    give_back_unused();
    throw;
  }
}

void Executor::refuse_old(NodeId root, std::span<const NodeId> path) {
  const Reading reading(context_.graph);
  values_.grow();
  changes_.begin_backward(root);
  for (std::size_t i = 0; changes_.has_any() && i < path.size(); ++i) {
    changes_.refuse_old(path[i], "gradient");
  }
}

void Executor::compute_all() {
  if (context_.graph.size() != 0) {
    compute({}, true);
  }
}

void Executor::compute(std::span<const NodeId> asked, bool all) {
  values_.grow();
  if (!all && std::all_of(asked.begin(), asked.end(), [this](NodeId n) {
        return values_.has(n) && !is_changed_parameter(n);
      })) {
    return;
  }
  const Reading reading(context_.graph);
  if (!changes_.is_current()) {
    changes_.follow();
  }
  const kernels::Section section;
  const kernels::FlushDenormals float_mode;
  const Hooks::Request request(hooks_, false);
  const Mark before = mark();
  try {
    if (all) {
      wanted_.collect_all(context_.graph, values_, values_.complete_below());
    } else {
      wanted_.collect(context_.graph, values_, asked);
    }
    if (!is_in_inference_scope()) {
      changes_.open();
    }
    for (const NodeId n : wanted_.parameters()) {
      values_.place_parameter(n);
      changes_.note(n);
    }
    pass_sweep();
    run_wanted(asked, all);
  } catch (...) {
    roll_back(before);
    give_back_unused();
    throw;
  }
  if (all) {
    values_.set_complete();
  }
  hooks_.each([all](Hook& hook) { hook.after_request(all ? "checkpoint" : "value"); });
}

/// Before a sweep over the wanted nodes, which takes some 30 ns for each.
void Executor::pass_sweep() {
  const auto microseconds = static_cast<std::int64_t>(wanted_.nodes().size() / 32);
  hooks_.each([microseconds](Hook& hook) { hook.before_work(microseconds); });
}

/// A parameter's own value is the value of its storage, with pending decay, whenever a program
/// asks.
bool Executor::is_changed_parameter(NodeId n) const {
  return context_.graph[n].record().reads_storage == ext::Storage::kWhole && !changes_.is_current();
}

void Executor::run_wanted(std::span<const NodeId> asked, bool all_nodes) {
  const graph::Graph& graph = context_.graph;
  const std::vector<NodeId>& all = wanted_.nodes();
  if (!all.empty() && is_in_inference_scope() && !lifetimes_.keeps_all(wanted_, all_nodes)) {
    planning_.plan(graph, all);
    run_dropping(asked, history_.size());
    return;
  }
  planning_.for_each_piece(all, [&](const std::vector<NodeId>& nodes) {
    const std::uint32_t first_group = history_.size();
    const schedule::Plan& plan = planning_.plan(graph, nodes);
    hooks_.each([&](Hook& hook) { hook.after_plan(nodes, plan); });
    history_.append(plan);
    const std::size_t before = values_.used();
    place_and_run(first_group);
    const std::size_t used = values_.used() - before;
    hooks_.each([&](Hook& hook) { hook.after_placing(nodes.size(), used, used); });
  });
}

/// A group, or a few small ones, is placed just before it runs, while its nodes are in the cache.
/// If the payload of all calls is sent before the first one, all groups are placed before.
void Executor::place_and_run(std::uint32_t first_group) {
  constexpr std::uint32_t kNodesAtOnce = 64;
  std::uint32_t begin = first_group;
  while (begin < history_.size()) {
    std::uint32_t end = history_.size();
    if (values_.pools().are_host_visible()) {
      end = begin;
      for (std::uint32_t n = 0; n < kNodesAtOnce && end < history_.size(); ++end) {
        n += history_.group(end).members;
      }
    }
    values_.place(history_, begin, end);
    forward_.run(begin, end, true);
    begin = end;
  }
}

/// After a failure: the memory of the failed request is there for smaller ones, of other graphs
/// too.
void Executor::give_back_unused() {
  tools_.memory.pools().reset();
  tools_.memory.pools().give_back_unused();
  values_.pools().give_back_unused();
  backward_.gradients().pools().give_back_unused();
}

/// Computes `asked` by the last plan, shortened, and keeps the results that `lifetimes_` names.
void Executor::run_dropping(std::span<const NodeId> asked, std::uint32_t first_group) {
  const graph::Graph& graph = context_.graph;
  const schedule::Plan& plan = planning_.shorten(graph);
  pass_sweep();
  hooks_.each([&](Hook& hook) { hook.after_plan(wanted_.nodes(), plan); });
  history_.append(plan);
  util::Stamped<std::uint8_t>& stays = lifetimes_.decide(graph, values_, plan, asked);
  try {
    pass_sweep();
    values_.place_by_lifetime(history_, plan, first_group, stays);
    hooks_.each([&](Hook& hook) {
      hook.after_placing(wanted_.nodes().size(), static_cast<std::size_t>(values_.layout().bytes()),
                         static_cast<std::size_t>(values_.layout().kept_bytes()));
    });
    forward_.run(first_group, history_.size(), false);
    values_.keep(plan, first_group, stays);
  } catch (...) {
    lifetimes_.undo(graph, plan);
    throw;
  }
  lifetimes_.note_dropped(graph, plan);
  history_.shrink(first_group);
}

void Executor::forget() {
  history_.clear();
  values_.forget();
  changes_.forget();
  views_.clear();
  tools_.arena.release({});
  lifetimes_.forget();
  backward_.forget();
}

void Executor::invalidate() {
  forget();
  tools_.payload.next_evaluation();
}

/// Forgets all that was computed after a mark of this generation.
void Executor::roll_back(const Mark& mark) {
  tools_.upload.clear();
  values_.roll_back(mark.values, history_, mark.groups);
  history_.shrink(mark.groups);
  changes_.roll_back(mark.parameters);
  tools_.arena.release(mark.operands);
}

void Executor::revert(const Mark& mark, NodeId first_removed) {
  if (mark.generation == history_.generation()) {
    roll_back(mark);
    views_.clear();
    backward_.forget();
  } else {
    forget();
  }
  values_.truncate(first_removed);
  changes_.truncate(first_removed);
  lifetimes_.truncate(first_removed);
}

void Executor::remove_all() {
  forget();
  values_.truncate(0);
  tools_.payload.restart_evaluations();
}

void Executor::clear() {
  remove_all();
  hooks_.remove_added();
  set_limits({});
}

void Executor::give_back(std::size_t keep_bytes) {
  values_.pools().trim(keep_bytes);
  backward_.gradients().pools().trim(keep_bytes);
  tools_.memory.pools().trim(keep_bytes);
}

}  // namespace dynet::execute
