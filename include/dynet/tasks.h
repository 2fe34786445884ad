#pragma once

// Decisions that batch: tasks that ask for values in the middle of a graph, run together.
//
// A parser reads a number, decides, and goes on building. Each such question ends the groups of
// nodes, so that sentences that are parsed one after the other run one by one. Written as tasks
// that pause at their questions, many sentences go on together: all tasks run until each waits for
// a value, then one plan computes all these values, then all tasks go on. With C++20 a task is a
// coroutine:
//
//   Task<unsigned> decide(ComputationGraph& cg, Expression state) {
//     unsigned shifts = 0;
//     while (as_scalar(co_await value(score(cg, state))) > 0) {
//       state = shift(cg, state);
//       ++shifts;
//     }
//     co_return shifts;
//   }
//   std::vector<Task<unsigned>> tasks;
//   for (const Expression& state : states) { tasks.push_back(decide(cg, state)); }
//   const std::vector<unsigned> shifts = run_together(cg, std::move(tasks));
//
// With C++17 a task is a function object that is called at first and after each of its questions,
// and returns the expressions that it waits for, at its end none (TaskStep).
//
// A question is a request like `e.value()`: it computes missing nodes alone, and gradients, scopes
// of inference and random numbers are as without tasks. Losses of all tasks may be summed for one
// `backward` afterwards.
//
// An exception ends its task alone. Random numbers of nodes depend on the order in which nodes are
// made, so tasks with dropout draw other numbers than one task after the other would. Thread rule:
// all tasks run in the calling thread, which has the graph.

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

#include "dynet/dynet.h"

namespace dynet {

/// Computes missing values of all of these by one plan, in the kernel calls that the largest of
/// them needs, or a few more; `value()` of each then computes nothing. One plan for each graph if
/// they are of several graphs. A failure computes nothing of its graph, but for
/// a NaN or infinity under check_validity: then the values stay. StaleExpression; the errors
/// of Expression::value.
template <int = 0>
void compute_together(const std::vector<Expression>& es);

/// A task of run_together without coroutines. Called at first, and again when all expressions that
/// it returned last are computed: their `value()` computes nothing. An empty list ends the task.
using TaskStep = std::function<std::vector<Expression>()>;

/// Runs all tasks to their ends, as above. If tasks have thrown, the first such exception is thrown
/// when all others are at their ends. With `failures` nothing is thrown for tasks: the list gets
/// the exception of each task, null for the others.
///
/// A question whose computing fails ends its task, and no other. A task may not leave a checkpoint,
/// an Evaluating scope or an InferenceScope open at a question, because these hold for the other
/// tasks, too: UsageError. Until the end the graph refuses `clear()`, and `revert()` to a mark that
/// is older than the turn of the task: GraphError. Within a task run_together may be called again;
/// the inner tasks come to their ends first. An exception of an InterruptScope ends all tasks, and
/// is thrown. Errors: UsageError for a task without a function.
template <int = 0>
void run_together(ComputationGraph& cg, const std::vector<TaskStep>& tasks,
                  std::vector<std::exception_ptr>* failures = nullptr);

namespace detail {

/// Runs a task up to its next question, or to its end: false. `failure`: the exception of the
/// question before, which is to be thrown in the task; null if the question is answered.
using Turn = std::function<bool(std::vector<Expression>& asked, std::exception_ptr failure)>;
void run_turns(ComputationGraph& cg, const std::vector<Turn>& turns,
               std::vector<std::exception_ptr>* failures);
/// The places in refuse_task of tasks without a number of run_together.
inline constexpr std::size_t kAwaitedTask = static_cast<std::size_t>(-1);
inline constexpr std::size_t kServedTask = kAwaitedTask - 1;
/// UsageError for a task without a coroutine or function, or one that has begun before.
[[noreturn]] void refuse_task(std::size_t task, bool is_empty);

/// Guards a graph while tasks take turns in it: the graph refuses to be emptied. Scopes nest.
class TurnGuard {
 public:
  explicit TurnGuard(ComputationGraph& cg);
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;
  ~TurnGuard();
  /// A task begins its turn.
  void begin();
  /// The reason why the task may not ask now: something that is open and would hold for the other
  /// tasks. Empty if it may.
  [[nodiscard]] std::string misuse() const;

 private:
  ComputationGraph* graph_;
  unsigned life_;           ///< of the graph: another may be made at its place
  std::size_t outer_mark_;  ///< the graph's limit for reverts before
  bool is_evaluating_ = false;
  bool is_inferring_ = false;
};

}  // namespace detail

#if defined(__cpp_impl_coroutine)

template <class T>
class Task;

namespace detail {

/// One task of run_together, with the tasks that it awaits.
struct TaskFlow {
  std::coroutine_handle<> innermost;  ///< the coroutine that waits
  std::vector<Expression> asked;
  std::exception_ptr failure;  ///< of the question
};

/// The common part of all promises.
class TaskPromise {
 public:
  struct End {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> task) const noexcept {
      const std::coroutine_handle<> waiting = task.promise().outer;
      return waiting ? waiting : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] End final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  std::coroutine_handle<> outer;  ///< the task that awaits this one, or null
  TaskFlow* flow = nullptr;       ///< set before the first turn
  std::exception_ptr error;
  bool has_begun = false;
};

/// A task is about to begin. UsageError if the task is empty or has begun before: its next turn
/// belongs to the program that began it, and its result is given once.
template <class Promise>
void begin_task(std::coroutine_handle<Promise> task, std::size_t number) {
  if (!task || task.promise().has_begun) {
    refuse_task(number, !task);
  }
  task.promise().has_begun = true;
}

template <class T>
class TaskPromiseOf : public TaskPromise {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& given) {
    result_.emplace(std::forward<U>(given));
  }
  /// The result of a task at its end, or its exception.
  T take() {
    if (error != nullptr) {
      std::rethrow_exception(std::exchange(error, nullptr));
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a task at its end has one
    return std::move(*result_);
  }

 private:
  std::optional<T> result_;
};

template <>
class TaskPromiseOf<void> : public TaskPromise {
 public:
  inline Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() {
    if (error != nullptr) {
      std::rethrow_exception(std::exchange(error, nullptr));
    }
  }
};

/// Waits for the values of some expressions.
class Question {
 public:
  explicit Question(std::vector<Expression> es) : es_(std::move(es)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> task) {
    flow_ = task.promise().flow;
    flow_->asked = es_;
    flow_->innermost = task;
  }

 protected:
  /// Throws the exception of the question. Else the values are there.
  [[nodiscard]] const std::vector<Expression>& answered() {
    if (flow_->failure != nullptr) {
      std::rethrow_exception(std::exchange(flow_->failure, nullptr));
    }
    return es_;
  }

 private:
  std::vector<Expression> es_;
  TaskFlow* flow_ = nullptr;
};

struct ValueQuestion : Question {
  using Question::Question;
  const Tensor& await_resume() { return answered()[0].value(); }
};
struct ValuesQuestion : Question {
  using Question::Question;
  std::vector<Tensor> await_resume() {
    std::vector<Tensor> values;
    for (const Expression& e : answered()) {
      values.push_back(e.value());
    }
    return values;
  }
};

}  // namespace detail

/// A task as a coroutine with the result T. It begins to run in run_together, or when another task
/// awaits it: `const T result = co_await task;`, which gives its result or throws its exception. A
/// task runs once: UsageError if it is awaited or run again.
/// Owns the coroutine, which ends with it: local objects of an unfinished task are destroyed.
/// A parameter of the coroutine is best passed by value: a reference has to live as long as the
/// task does.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromiseOf<T>;  // NOLINT(readability-identifier-naming)
  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> task) : task_(task) {}
  Task(Task&& other) noexcept : task_(std::exchange(other.task_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (task_) {
      task_.destroy();
    }
  }
  /// Whether there is no coroutine: made without one, or moved from.
  [[nodiscard]] bool is_empty() const { return !task_; }

  /// Runs in the task that awaits it.
  class Awaited {
   public:
    explicit Awaited(std::coroutine_handle<promise_type> task) : task_(task) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> outer) {
      task_.promise().outer = outer;
      task_.promise().flow = outer.promise().flow;
      return task_;
    }
    T await_resume() { return task_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> task_;
  };
  Awaited operator co_await() const {
    detail::begin_task(task_, detail::kAwaitedTask);
    return Awaited(task_);
  }

  /// The library's own.
  [[nodiscard]] std::coroutine_handle<promise_type> handle() const { return task_; }

 private:
  std::coroutine_handle<promise_type> task_;
};

namespace detail {

template <class T>
Task<T> TaskPromiseOf<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromiseOf>::from_promise(*this));
}
inline Task<void> TaskPromiseOf<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromiseOf>::from_promise(*this));
}

/// A turn of a coroutine that has begun, as Turn.
template <class Promise>
bool resume_task(std::coroutine_handle<Promise> task, TaskFlow& flow,
                 std::vector<Expression>& asked, std::exception_ptr failure) {
  flow.failure = std::move(failure);
  flow.innermost.resume();
  if (!task.done()) {
    asked.swap(flow.asked);
    return true;
  }
  if (task.promise().error != nullptr) {
    std::rethrow_exception(std::exchange(task.promise().error, nullptr));
  }
  return false;
}

/// Runs coroutines to their ends.
template <class T>
void run_coroutines(ComputationGraph& cg, const std::vector<Task<T>>& tasks,
                    std::vector<std::exception_ptr>* failures) {
  std::vector<TaskFlow> flows(tasks.size());
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto task = tasks[i].handle();
    begin_task(task, i);
    task.promise().flow = &flows[i];
    flows[i].innermost = task;
    turns.emplace_back(
        [task, &flow = flows[i]](std::vector<Expression>& asked, std::exception_ptr failure) {
          return resume_task(task, flow, asked, std::move(failure));
        });
  }
  run_turns(cg, turns, failures);
}

}  // namespace detail

/// `co_await value(e)` in a Task: e.value(), computed together with the questions of all other
/// tasks. An exception of the computation is thrown at the co_await.
template <int = 0>
[[nodiscard]] detail::ValueQuestion value(const Expression& e) {
  return detail::ValueQuestion({e});
}
/// `co_await values(es)` or `co_await values(a, b)`: the value of each.
template <int = 0>
[[nodiscard]] detail::ValuesQuestion values(std::vector<Expression> es) {
  return detail::ValuesQuestion(std::move(es));
}
template <class... More>
[[nodiscard]] detail::ValuesQuestion values(const Expression& first, const More&... more) {
  return detail::ValuesQuestion({first, more...});
}

/// run_together for coroutines: their results, in the order of the tasks. With `failures` the
/// result of a task that threw is T().
template <class T>
std::vector<T> run_together(ComputationGraph& cg, std::vector<Task<T>> tasks,
                            std::vector<std::exception_ptr>* failures = nullptr) {
  detail::run_coroutines(cg, tasks, failures);
  std::vector<T> results;
  results.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool has_failed = failures != nullptr && (*failures)[i] != nullptr;
    results.push_back(has_failed ? T() : tasks[i].handle().promise().take());
  }
  return results;
}
/// run_together for coroutines without results.
// NOLINTNEXTLINE(performance-unnecessary-value-param): coroutines end with the call
inline void run_together(ComputationGraph& cg, std::vector<Task<void>> tasks,
                         std::vector<std::exception_ptr>* failures = nullptr) {
  detail::run_coroutines(cg, tasks, failures);
}

#endif

}  // namespace dynet
