#pragma once

// Rounds of tasks: each task runs until it asks, one plan answers all questions, each task goes on.
// run_together (tasks.h) and RequestServer (serve.h) share the loop; a server adds tasks between
// two rounds.

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "dynet/tasks.h"

namespace dynet::api {

/// A task of a loop. Stays at its address until it is over or removed.
struct LoopTask {
  detail::Turn turn;
  std::size_t number = 0;  ///< in errors
  std::size_t work = 0;    ///< nodes since its question before; only for `patience`
  std::size_t waited = 0;  ///< rounds that went on without it since it asked
  std::vector<Expression> asked = {};
  std::exception_ptr failure = nullptr;  ///< the exception that ended it
  std::size_t end = 0;                   ///< its place among the tasks that failed, from 1
  bool is_over = false;
};

/// Tasks that take turns in a graph. Invariant: waiting() are the tasks with a question.
/// Thread rule: one thread, which has the graph.
class TaskLoop {
 public:
  /// Errors begin with `call`, and name a task by `kind` and number. Both outlive the loop.
  TaskLoop(ComputationGraph& cg, const char* call, const char* kind)
      : guard_(cg), call_(call), kind_(kind) {}

  /// Runs a task to its first question, or to its end.
  void begin(LoopTask& task);
  /// Answers all questions by one plan, and lets each task go on. If the plan fails, each question
  /// gets a plan of its own, so that the exception meets the task that asked. An exception of an
  /// InterruptScope is thrown. With `patience` a question of much more work than the lightest one
  /// waits, at most for so many rounds, and then all are answered: a task that asks for little and
  /// often would have to wait for each large question of the others.
  void answer(std::size_t patience = 0);
  /// A task that waits gets no turn any more.
  void remove(const LoopTask& task);

  [[nodiscard]] const std::vector<LoopTask*>& waiting() const { return waiting_; }

 private:
  bool go_on(LoopTask& task, std::exception_ptr failure);
  std::exception_ptr refusal(LoopTask& task);
  void choose(std::size_t patience);
  void compute();
  /// "run_together: task 3", with `part` before the kind.
  [[nodiscard]] std::string text_of(const LoopTask& task, const char* part) const;

  detail::TurnGuard guard_;
  const char* call_;
  const char* kind_;
  std::vector<LoopTask*> waiting_;
  std::vector<LoopTask*> now_, later_;       ///< the parts of `waiting_` in a round
  std::vector<Expression> all_;              ///< questions of a round
  std::vector<std::exception_ptr> answers_;  ///< of `now_`: null for an answered question
  std::size_t failures_ = 0;
};

}  // namespace dynet::api
