#pragma once

// Requests from any thread, computed together: a server with one thread, which has the model in
// graphs of its own.
//
// A request is a task (tasks.h). Requests join while others run: in each round one plan answers the
// questions of all running requests, and between two rounds new requests begin. With C++20:
//
//   struct Tagger {                          // a model: copied and put into a graph by the server
//     LookupParameter words;
//     BiRNNBuilder<VanillaLSTMBuilder> reader;
//     Parameter out;
//     void new_graph(ComputationGraph& cg) { reader.new_graph(cg); }
//   };
//   Task<Tags> tag(ComputationGraph& cg, Tagger& tagger, std::vector<unsigned> words);
//
//   RequestServer<Tagger> server(tagger);
//   Answer<Tags> answer = server.submit([words](ComputationGraph& cg, Tagger& tagger) {
//     return tag(cg, tagger, words);
//   });                                      // from any thread
//   const Tags tags = answer.get();
//
// Nodes of finished requests are given back by graphs that take turns: a graph with many nodes
// takes no new requests, and is emptied when its last request ends, while the other graph goes on
// with new ones. So there are at most two graphs, and a model is in one of them at a time.
//
// Requests run within scopes of Evaluating and InferenceScope: without dropout and gradients.
// docs/serving.md has worked examples, also over HTTP.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/errors.h"
#include "dynet/tasks.h"

namespace dynet::errors {

/// A server refuses a request, because as many requests wait as may.
struct OverloadError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// A request has not ended in its time.
struct TimeoutError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// A request was cancelled, or its server stopped.
struct CancelledError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};

}  // namespace dynet::errors

namespace dynet {

/// Bounds of a RequestServer. ValueError for a number of 0, and for a negative time.
struct ServeOptions {
  std::size_t max_running = 64;  ///< requests that run together
  std::size_t max_queue = 1024;  ///< requests that wait for their begin; more are refused
  /// The time that the first request of an idle server waits for others, so that they begin
  /// together. A server at work waits for nobody.
  std::chrono::nanoseconds max_wait{0};
  /// The time of a request from submit() to its end, in the queue and at work. 0: no bound.
  std::chrono::nanoseconds timeout{0};
  /// Nodes of a graph, from which on the graph takes no new requests. Best are a few times the
  /// nodes of the requests that run: with more, the values that ended requests leave behind fill
  /// the processor's caches; with fewer, not all requests can run in one graph.
  std::size_t max_nodes = 32'000;
  /// Nodes that one request may make; counted when the request asks and at its end.
  std::size_t max_request_nodes = 1'000'000;
};

/// The work of a server so far. Invariant: accepted = waiting + running + finished +
/// failed + timed_out + cancelled.
struct ServeCounts {
  std::uint64_t accepted = 0, refused = 0;
  std::uint64_t finished = 0;   ///< with a result
  std::uint64_t failed = 0;     ///< with an exception of their own
  std::uint64_t timed_out = 0;  ///< with a TimeoutError
  std::uint64_t cancelled = 0;  ///< with a CancelledError
  std::uint64_t rounds = 0;     ///< in each, every running request gets its answer
  std::uint64_t plans = 0;      ///< one for a round, two while a graph waits for its last requests
  std::uint64_t graphs = 0;     ///< begun anew, with the model's nodes alone
  std::size_t waiting = 0;
  std::size_t running = 0;  ///< begun, or about to
  std::size_t most_running = 0;
  std::size_t nodes = 0, most_nodes = 0;  ///< of the graphs together
};

namespace detail {

[[noreturn]] void refuse_second_get();
/// The moment so long after `begin`; the clock's last one if the clock has none so late.
std::chrono::steady_clock::time_point moment_after(std::chrono::steady_clock::time_point begin,
                                                   std::chrono::nanoseconds time);

/// A result as a member.
template <class T>
using Kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The place of an answer, which a request and its Answer share. Moves an exception instead of
/// sharing it, so that one thread alone reads and destroys it.
template <class T>
class AnswerPlace {
 public:
  void put(Kept<T> result) {
    const std::lock_guard lock(mutex_);
    result_.emplace(std::move(result));
    is_ready_ = true;
    ready_.notify_all();
  }
  void fail(std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
    is_ready_ = true;
    ready_.notify_all();
  }
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    const auto end = moment_after(std::chrono::steady_clock::now(), time);
    return ready_.wait_until(lock, end, [this] { return is_ready_; });
  }
  Kept<T> take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return is_ready_; });
    if (failure_ != nullptr) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    if (auto result = std::exchange(result_, std::nullopt)) {
      return *std::move(result);
    }
    refuse_second_get();
  }

  std::atomic<bool> is_cancelled{false};

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  bool is_ready_ = false;
  std::optional<Kept<T>> result_;
  std::exception_ptr failure_;
};

}  // namespace detail

/// The result of a request, later. Destroying an answer does not cancel the request. Thread-safe.
template <class T>
class Answer {
 public:
  /// Waits, and gives the result or throws the exception of the request. Once: UsageError
  /// afterwards.
  T get() {
    if constexpr (std::is_void_v<T>) {
      place_->take();
    } else {
      return place_->take();
    }
  }
  /// Whether the result is there, at the latest after this time.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time) const {
    return place_->wait_for(time);
  }
  /// Asks for an end of the request, which then has a CancelledError, before its next turn.
  /// A request that has ended keeps its result.
  void cancel() { place_->is_cancelled.store(true, std::memory_order_relaxed); }

  /// The library's own.
  explicit Answer(std::shared_ptr<detail::AnswerPlace<T>> place) : place_(std::move(place)) {}

 private:
  std::shared_ptr<detail::AnswerPlace<T>> place_;
};

namespace detail {

/// A request as the server's thread sees it. The thread drops the task before it gives the answer,
/// so that local objects of a coroutine end first.
class ServedRequest {
 public:
  ServedRequest() = default;
  ServedRequest(const ServedRequest&) = delete;
  ServedRequest& operator=(const ServedRequest&) = delete;
  virtual ~ServedRequest();
  /// As Turn; the first one begins the task.
  virtual bool turn(ComputationGraph& cg, void* model, std::vector<Expression>& asked,
                    std::exception_ptr failure) = 0;
  /// Destroys the task and the function; the result stays.
  virtual void drop() noexcept = 0;
  /// The answer: the result of a task that came to its end, and was dropped.
  virtual void finish() noexcept = 0;
  virtual void fail(std::exception_ptr why) noexcept = 0;

  [[nodiscard]] virtual bool is_cancelled() const = 0;

  std::chrono::steady_clock::time_point begin, deadline;
};

/// The result of a function of a request, and how the function goes on after its first call.
template <class Returned>
struct ServedTask {  // any value, or none: the function has come to its end
  using Result = Returned;
  std::optional<Kept<Returned>> result;
  template <class Make>
  bool begin(Make make, std::vector<Expression>& /*asked*/) {
    if constexpr (std::is_void_v<Returned>) {
      make();
      result.emplace();
    } else {
      result.emplace(make());
    }
    return false;
  }
  bool go_on(std::vector<Expression>& /*asked*/, const std::exception_ptr& /*failure*/) {
    return false;
  }
  void end() {}
  Kept<Returned> take() {
    return std::move(*result);  // NOLINT(bugprone-unchecked-optional-access): the task is over
  }
};
template <>
struct ServedTask<TaskStep> {  // a task without coroutines, called again after each question
  using Result = void;
  TaskStep step;
  template <class Make>
  bool begin(Make make, std::vector<Expression>& asked) {
    step = make();
    if (!step) {
      refuse_task(kServedTask, true);
    }
    return go_on(asked, nullptr);
  }
  bool go_on(std::vector<Expression>& asked, const std::exception_ptr& failure) {
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    asked = step();
    return !asked.empty();
  }
  void end() { step = nullptr; }
  std::monostate take() { return {}; }
};
#if defined(__cpp_impl_coroutine)
template <class T>
struct ServedTask<Task<T>> {
  using Result = T;
  Task<T> task;
  TaskFlow flow;
  std::optional<Kept<T>> result;
  template <class Make>
  bool begin(Make make, std::vector<Expression>& asked) {
    task = make();
    begin_task(task.handle(), kServedTask);
    task.handle().promise().flow = &flow;
    flow.innermost = task.handle();
    return go_on(asked, nullptr);
  }
  bool go_on(std::vector<Expression>& asked, std::exception_ptr failure) {
    if (resume_task(task.handle(), flow, asked, std::move(failure))) {
      return true;
    }
    if constexpr (std::is_void_v<T>) {
      result.emplace();
    } else {
      result.emplace(task.handle().promise().take());
    }
    return false;
  }
  void end() { task = Task<T>(); }
  Kept<T> take() {
    return std::move(*result);  // NOLINT(bugprone-unchecked-optional-access): the task is over
  }
};
#endif

/// A request as the program gave it: `function(cg, model)`.
template <class Model, class Function>
class RequestOf final : public ServedRequest {
 public:
  using Served =
      ServedTask<std::decay_t<std::invoke_result_t<Function&, ComputationGraph&, Model&>>>;
  using Result = typename Served::Result;

  explicit RequestOf(Function function) : function_(std::move(function)) {}
  [[nodiscard]] Answer<Result> answer() const { return Answer<Result>(place_); }
  [[nodiscard]] bool is_cancelled() const override {
    return place_->is_cancelled.load(std::memory_order_relaxed);
  }

  bool turn(ComputationGraph& cg, void* model, std::vector<Expression>& asked,
            std::exception_ptr failure) override {
    if (has_begun_) {
      return task_.go_on(asked, std::move(failure));
    }
    has_begun_ = true;
    return task_.begin([&] { return (*function_)(cg, *static_cast<Model*>(model)); }, asked);
  }
  void drop() noexcept override {
    task_.end();
    function_.reset();
  }
  void finish() noexcept override {
    try {
      place_->put(task_.take());
    } catch (...) {
      fail(std::current_exception());
    }
  }
  void fail(std::exception_ptr why) noexcept override { place_->fail(std::move(why)); }

 private:
  std::optional<Function> function_;  ///< lives as long as its task, which may refer to it
  Served task_;
  std::shared_ptr<AnswerPlace<Result>> place_ = std::make_shared<AnswerPlace<Result>>();
  bool has_begun_ = false;
};

/// Puts a model into a graph. `session` is the model in this graph before, or null.
using ServedModel = std::function<void(ComputationGraph& cg, std::shared_ptr<void>& session)>;

/// The server without its types.
class Serving {
 public:
  Serving(ServedModel model, const ServeOptions& options);
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving();
  void submit(std::unique_ptr<ServedRequest> request, std::chrono::nanoseconds timeout);
  void replace(ServedModel model);
  void close(bool drains);
  [[nodiscard]] ServeCounts counts() const;
  [[nodiscard]] const ServeOptions& options() const;

 private:
  struct Parts;
  void check_process() const;
  [[nodiscard]] bool is_own_thread() const;
  void end(bool drains);
  std::shared_ptr<Parts> parts_;  ///< of the thread, too
};

template <class Model, class = void>
struct HasNewGraph : std::false_type {};
template <class Model>
struct HasNewGraph<Model, std::void_t<decltype(std::declval<Model&>().new_graph(
                              std::declval<ComputationGraph&>()))>> : std::true_type {};

template <class Model>
ServedModel served(Model&& model) {
  using Plain = std::decay_t<Model>;
  return [given = std::make_shared<const Plain>(std::forward<Model>(model))](
             ComputationGraph& cg, std::shared_ptr<void>& session) {
    if (session == nullptr) {
      session = std::make_shared<Plain>(*given);
    }
    if constexpr (HasNewGraph<Plain>::value) {
      static_cast<Plain*>(session.get())->new_graph(cg);
    }
  };
}

}  // namespace detail

/// A server of requests to a model. `Model` is a copyable class whose copies share parameters, as
/// copies of Parameter and of builders do; the server has a copy in each of its two graphs. If the
/// class has `new_graph(cg)`, it is called before the first request of an empty graph: the place to
/// call new_graph of builders, and start_new_sequence of builders whose states pass a question.
///
/// A request is a function object `f(ComputationGraph& cg, Model& model)` that returns a Task<T>,
/// a TaskStep (its result is void), or, without questions, the result itself. The object lives as
/// long as its task. The function, the task and their destructors run in the server's thread. So
/// does `new_graph`, except for a trial by the constructor and replace(). A request may submit
/// others, but not wait for them.
///
/// Results are those of one request after the other, up to the rounding of batching. An exception
/// ends its request alone and is thrown by Answer::get. A request ends with a TimeoutError or a
/// CancelledError between its turns; a turn or plan under way is not stopped.
///
/// Thread rule: any number of threads may call all functions but the destructor. A child process of
/// fork() has no server: UsageError there, and destruction leaves the server's memory as it is. An
/// answer that was not there at the fork does not come in the child.
template <class Model>
class RequestServer {
 public:
  /// Errors: ValueError for options; the exceptions of Model::new_graph.
  explicit RequestServer(Model model, const ServeOptions& options = {})
      : serving_(detail::served(std::move(model)), options) {}

  /// Begins a request when there is room. Without `timeout` the options' bound holds; 0 is none.
  /// Errors: OverloadError if max_queue requests wait; UsageError after drain() and stop();
  /// ValueError for a negative timeout.
  template <class Function>
  auto submit(Function function, std::optional<std::chrono::nanoseconds> timeout = std::nullopt) {
    auto request = std::make_unique<detail::RequestOf<Model, Function>>(std::move(function));
    auto answer = request->answer();
    serving_.submit(std::move(request), timeout.value_or(serving_.options().timeout));
    return answer;
  }

  /// Requests that have not begun get this model. Requests that have begun with the old model end
  /// with it. Errors: the exceptions of Model::new_graph, and nothing is replaced.
  void replace(Model model) { serving_.replace(detail::served(std::move(model))); }

  /// Takes no more requests, runs those that were accepted to their ends, and ends the thread.
  void drain() { serving_.close(true); }
  /// Takes no more requests, ends the running and the waiting ones with a CancelledError, and ends
  /// the thread. The destructor does the same.
  void stop() { serving_.close(false); }

  [[nodiscard]] ServeCounts counts() const { return serving_.counts(); }

 private:
  detail::Serving serving_;
};

}  // namespace dynet
