#include "dynet/tasks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynet/errors.h"
#include "dynet/evaluating.h"

#include "api/graph_state.h"
#include "api/nan.h"
#include "execute/lifetimes.h"
#include "util/interrupt.h"

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
  throw errors::UsageError(
      (task == kAwaitedTask ? "co_await: the task" : "run_together: task " + std::to_string(task)) +
      (is_empty ? " is empty" : " has begun before") +
      "; want a coroutine or a function that has not run yet");
}

namespace {

/// The program's check for interrupts, with a note whether it threw: such an exception is no
/// task's. Belongs to the thread.
class NotedInterrupts {
 public:
  NotedInterrupts() : outer_(util::exchange_check(nullptr)) {
    if (outer_ != nullptr) {
      own_ = *outer_;
      own_.check = &look;
      own_.of = this;
      util::exchange_check(&own_);
    }
  }
  NotedInterrupts(const NotedInterrupts&) = delete;
  NotedInterrupts& operator=(const NotedInterrupts&) = delete;
  ~NotedInterrupts() {
    if (outer_ != nullptr) {
      outer_->last = own_.last;
      outer_->budget = own_.budget;
    }
    util::exchange_check(outer_);
  }
  [[nodiscard]] bool have_thrown() const { return have_thrown_; }

 private:
  static void look(void* of) {
    auto& self = *static_cast<NotedInterrupts*>(of);
    try {
      self.outer_->check(self.outer_->of);
    } catch (...) {
      self.have_thrown_ = true;
      throw;
    }
  }

  util::Check* outer_;
  util::Check own_;
  bool have_thrown_ = false;
};

/// The tasks of one run_together.
class TaskLoop {
 public:
  TaskLoop(ComputationGraph& cg, const std::vector<Turn>& turns)
      : guard_(cg), turns_(turns), asked_(turns.size()), failures_(turns.size()) {}

  void run() {
    std::vector<std::size_t> waiting;
    for (std::size_t task = 0; task < turns_.size(); ++task) {
      if (go_on(task, nullptr)) {
        waiting.push_back(task);
      }
    }
    std::vector<std::exception_ptr> answers;
    while (!waiting.empty()) {
      compute(waiting, answers);
      std::size_t still = 0;
      for (std::size_t k = 0; k < waiting.size(); ++k) {
        if (go_on(waiting[k], answers[k])) {
          waiting[still++] = waiting[k];
        }
      }
      waiting.resize(still);
    }
  }
  [[nodiscard]] std::vector<std::exception_ptr>& failures() { return failures_; }
  /// Null if no task has thrown.
  [[nodiscard]] const std::exception_ptr& first_failure() const { return first_failure_; }

 private:
  /// The turn of a task. False if that is the end of the task. A task that may not ask is told so
  /// once, and then ended.
  bool go_on(std::size_t task, std::exception_ptr failure) {
    guard_.begin();
    try {
      for (bool was_told = false;; was_told = true) {
        asked_[task].clear();
        if (!turns_[task](asked_[task], std::move(failure))) {
          return false;
        }
        failure = refusal(task);
        if (failure == nullptr) {
          return true;
        }
        if (was_told) {
          std::rethrow_exception(failure);
        }
      }
    } catch (...) {
      failures_[task] = std::current_exception();
      first_failure_ = first_failure_ == nullptr ? failures_[task] : first_failure_;
      return false;
    }
  }

  /// Null if the task may ask this question.
  std::exception_ptr refusal(std::size_t task) {
    try {
      if (const std::string why = guard_.misuse(); !why.empty()) {
        throw errors::UsageError("run_together: task " + std::to_string(task) + " " + why);
      }
      for (const Expression& e : asked_[task]) {
        api::checked_node(e, "run_together: a question of task " + std::to_string(task));
      }
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Answers all questions by one plan. If that fails, each by a plan of its own, so that the
  /// failure meets the task whose question fails; `answers` gets its exception.
  void compute(const std::vector<std::size_t>& waiting, std::vector<std::exception_ptr>& answers) {
    const NotedInterrupts interrupts;
    answers.assign(waiting.size(), nullptr);
    std::vector<Expression> all;
    for (const std::size_t task : waiting) {
      all.insert(all.end(), asked_[task].begin(), asked_[task].end());
    }
    try {
      compute_together(all);
      return;
    } catch (...) {
      if (interrupts.have_thrown()) {
        throw;
      }
    }
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      try {
        compute_together(asked_[waiting[k]]);
      } catch (...) {
        if (interrupts.have_thrown()) {
          throw;
        }
        answers[k] = std::current_exception();
      }
    }
  }

  TurnGuard guard_;
  const std::vector<Turn>& turns_;
  std::vector<std::vector<Expression>> asked_;  ///< by task
  std::vector<std::exception_ptr> failures_;    ///< by task
  std::exception_ptr first_failure_;            ///< in time
};

}  // namespace

void run_turns(ComputationGraph& cg, const std::vector<Turn>& turns,
               std::vector<std::exception_ptr>* failures) {
  TaskLoop loop(cg, turns);
  loop.run();
  if (failures != nullptr) {
    failures->swap(loop.failures());
  } else if (loop.first_failure() != nullptr) {
    std::rethrow_exception(loop.first_failure());
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
