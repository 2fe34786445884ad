#include "dynet/tasks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynet/errors.h"
#include "dynet/evaluating.h"

#include "api/graph_state.h"
#include "api/nan.h"
#include "api/task_loop.h"
#include "execute/lifetimes.h"

namespace dynet {

template <int>
void compute_together(const std::vector<Expression>& es) {
  detail::with_typed_allocation([&] {
    std::vector<ComputationGraph*> graphs;
    for (const Expression& e : es) {
      api::checked_node(e, "compute_together");
      if (std::find(graphs.begin(), graphs.end(), e.pg) == graphs.end()) {
        graphs.push_back(e.pg);
      }
    }
    std::vector<graph::NodeId> nodes;
    for (ComputationGraph* const graph : graphs) {
      nodes.clear();
      for (const Expression& e : es) {
        if (e.pg == graph) {
          nodes.push_back(e.i);
        }
      }
      api::exclusively(graph->state(), [&] { api::compute_checked(graph->state(), nodes); });
    }
  });
}
template void compute_together<>(const std::vector<Expression>& es);

namespace detail {

TurnGuard::TurnGuard(ComputationGraph& cg)
    : graph_(&cg), life_(cg.state().born), outer_mark_(cg.state().turns.first_mark) {
  ++cg.state().turns.depth;
  begin();
}

TurnGuard::~TurnGuard() {
  if (api::is_live(graph_) && graph_->state().born == life_) {
    --graph_->state().turns.depth;
    graph_->state().turns.first_mark = outer_mark_;
  }
}

void TurnGuard::begin() {
  is_evaluating_ = Evaluating::is_on();
  is_inferring_ = execute::is_in_inference_scope();
  if (api::is_live(graph_) && graph_->state().born == life_) {
    graph_->state().turns.first_mark = graph_->state().marks.size();
  }
}

std::string TurnGuard::misuse() const {
  const char* open = nullptr;
  if (!api::is_live(graph_) || graph_->state().born != life_) {
    return "the graph of the tasks was destroyed";
  }
  if (Evaluating::is_on() != is_evaluating_) {
    open = "an evaluating scope";
  } else if (execute::is_in_inference_scope() != is_inferring_) {
    open = "an inference scope";
  } else if (graph_->state().marks.size() != graph_->state().turns.first_mark) {
    open = "a checkpoint";
  }
  return open == nullptr ? ""
                         : std::string("asks with ") + open +
                               " open, which would hold for the other tasks, too; want the end of "
                               "it before the question, or one around all tasks";
}

void refuse_task(std::size_t task, bool is_empty) {
  const std::string named = task == kAwaitedTask  ? "co_await: the task"
                            : task == kServedTask ? "RequestServer: the task of the request"
                                                  : "run_together: task " + std::to_string(task);
  throw errors::UsageError(named + (is_empty ? " is empty" : " has begun before") +
                           "; want a coroutine or a function that has not run yet");
}

void run_turns(ComputationGraph& cg, const std::vector<Turn>& turns,
               std::vector<std::exception_ptr>* failures) {
  std::vector<api::LoopTask> tasks(turns.size());
  api::TaskLoop loop(cg, "run_together", "task");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].turn = turns[i];
    tasks[i].number = i;
    loop.begin(tasks[i]);
  }
  while (!loop.waiting().empty()) {
    loop.answer();
  }
  if (failures != nullptr) {
    failures->clear();
    for (api::LoopTask& task : tasks) {
      failures->push_back(std::move(task.failure));
    }
    return;
  }
  const api::LoopTask* first = nullptr;  // in time
  for (const api::LoopTask& task : tasks) {
    if (task.failure != nullptr && (first == nullptr || task.end < first->end)) {
      first = &task;
    }
  }
  if (first != nullptr) {
    std::rethrow_exception(first->failure);
  }
}
}  // namespace detail

template <int>
void run_together(ComputationGraph& cg, const std::vector<TaskStep>& tasks,
                  std::vector<std::exception_ptr>* failures) {
  std::vector<detail::Turn> turns;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (!tasks[task]) {
      detail::refuse_task(task, true);
    }
    turns.emplace_back(
        [&step = tasks[task]](std::vector<Expression>& asked, const std::exception_ptr& failure) {
          if (failure != nullptr) {
            std::rethrow_exception(failure);
          }
          asked = step();
          return !asked.empty();
        });
  }
  detail::run_turns(cg, turns, failures);
}
template void run_together<>(ComputationGraph& cg, const std::vector<TaskStep>& tasks,
                             std::vector<std::exception_ptr>* failures);

}  // namespace dynet
