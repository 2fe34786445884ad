#include "execute/executor.h"

#include <algorithm>

#include "execute/reading.h"
#include "kernels/float_mode.h"
#include "util/timeline.h"

namespace dynet::execute {

void Executor::follow_device() {
  ext::Memory& own = *context_.graph.device().memory;
  values_.pools().set_own(own);
  gradients_.pools().set_own(own);
  call_memory_.pools().set_own(own);
}

const Tensor& Executor::value(NodeId n) {
  compute(n, false);
  return value_views_.view(n, context_.tensor(n, values_.at(n)));
}

/// An alias lies where its argument does. What is in no pool is a parameter as it is stored.
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

void Executor::compute_all() {
  if (context_.graph.size() != 0) {
    compute(context_.graph.size() - 1, true);
  }
}

void Executor::compute(NodeId last, bool all) {
  values_.grow();
  if (!all && values_.has(last) && !is_changed_parameter(last)) {
    return;
  }
  const Reading reading(context_.graph);
  if (!changes_.is_current()) {
    changes_.follow();
  }
  const kernels::FlushDenormals float_mode;
  const Hooks::Request request(hooks_, false);
  const Mark before = mark();
  try {
    if (all) {
      wanted_.collect_all(context_.graph, values_, values_.complete_below());
    } else {
      wanted_.collect(context_.graph, values_, last);
    }
    if (!is_in_inference_scope()) {
      changes_.open();
    }
    for (const NodeId n : wanted_.parameters()) {
      values_.place_parameter(n);
      changes_.note(n);
    }
    pass_sweep();
    run_wanted(last, all);
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

/// A parameter's own value is that of its storage, pending decay and all, whenever it is asked for.
bool Executor::is_changed_parameter(NodeId n) const {
  return context_.graph[n].record().reads_storage == ext::Storage::kWhole && !changes_.is_current();
}

void Executor::plan(const std::vector<NodeId>& nodes) {
  const util::Slice slice("plan");
  scheduler_.plan(context_.graph, nodes, plan_);
}

/// Nodes stand in the order they were made in, so a piece depends on none after it.
void Executor::run_wanted(NodeId asked, bool all_nodes) {
  const std::vector<NodeId>& all = wanted_.nodes();
  if (!all.empty() && is_in_inference_scope() && !lifetimes_.keeps_all(wanted_, all_nodes)) {
    plan(all);
    run_dropping(asked, history_.size());
    return;
  }
  for (std::size_t begin = 0; begin < all.size(); begin += limits_.planned_nodes) {
    const bool is_whole = all.size() <= limits_.planned_nodes;
    if (!is_whole) {
      const std::size_t end = std::min(all.size(), begin + limits_.planned_nodes);
      piece_.assign(all.begin() + static_cast<std::ptrdiff_t>(begin),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
    }
    const std::vector<NodeId>& nodes = is_whole ? all : piece_;
    const std::uint32_t first_group = history_.size();
    plan(nodes);
    hooks_.each([&](Hook& hook) { hook.after_plan(nodes, plan_); });
    history_.append(plan_);
    const std::size_t before = values_.used();
    place_and_run(first_group);
    const std::size_t used = values_.used() - before;
    hooks_.each([&](Hook& hook) { hook.after_placing(nodes.size(), used, used); });
  }
}

/// A group, or a few small ones, is placed just before it runs, while its nodes are in the cache.
/// Where the payload of all calls is sent before the first one, all groups are placed before.
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
    run(begin, end, true);
    begin = end;
  }
}

/// After a failure: what the failed request took is there for smaller ones, of other graphs too.
void Executor::give_back_unused() {
  call_memory_.pools().reset();
  call_memory_.pools().give_back_unused();
  values_.pools().give_back_unused();
  gradients_.pools().give_back_unused();
}

/// Computes `asked` by the plan and keeps what `lifetimes_` says.
void Executor::run_dropping(NodeId asked, std::uint32_t first_group) {
  const graph::Graph& graph = context_.graph;
  shortener_.shorten(graph, plan_, short_plan_);
  pass_sweep();
  hooks_.each([&](Hook& hook) { hook.after_plan(wanted_.nodes(), short_plan_); });
  history_.append(short_plan_);
  util::Stamped<std::uint8_t>& stays = lifetimes_.decide(graph, values_, short_plan_, asked);
  try {
    pass_sweep();
    values_.place_by_lifetime(history_, short_plan_, first_group, stays);
    hooks_.each([&](Hook& hook) {
      hook.after_placing(wanted_.nodes().size(), static_cast<std::size_t>(values_.layout().bytes()),
                         static_cast<std::size_t>(values_.layout().kept_bytes()));
    });
    run(first_group, history_.size(), false);
    values_.keep(short_plan_, first_group, stays);
  } catch (...) {
    lifetimes_.undo(graph, short_plan_);
    throw;
  }
  lifetimes_.note_dropped(graph, short_plan_);
  history_.shrink(first_group);
}

void Executor::forget() {
  history_.clear();
  values_.forget();
  changes_.forget();
  value_views_.clear();
  arena_.release({});
  lifetimes_.forget();
  forget_gradients();
}

void Executor::forget_gradients() {
  request_ = {};
  gradient_views_.clear();
}

void Executor::invalidate() {
  forget();
  payload_.next_evaluation();
}

/// Forgets what was computed after a mark of this generation.
void Executor::roll_back(const Mark& mark) {
  upload_.clear();
  values_.roll_back(mark.values, history_, mark.groups);
  history_.shrink(mark.groups);
  changes_.roll_back(mark.parameters);
  arena_.release(mark.operands);
}

void Executor::revert(const Mark& mark, NodeId first_removed) {
  if (mark.generation == history_.generation()) {
    roll_back(mark);
    value_views_.clear();
    forget_gradients();
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
  payload_.restart_evaluations();
}

void Executor::clear() {
  remove_all();
  hooks_.remove_added();
  limits_ = {};
}

void Executor::give_back(std::size_t keep_bytes) {
  values_.pools().trim(keep_bytes);
  gradients_.pools().trim(keep_bytes);
  call_memory_.pools().trim(keep_bytes);
}

}  // namespace dynet::execute
