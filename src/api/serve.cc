// The server's thread: which requests begin, in which graph, and how they end.
//
// Rounds (task_loop.h) run in two graphs that take turns. Example with max_nodes = 1000: requests
// begin in graph A until A has 1000 nodes; then new ones begin in B, and A's last ones go on to
// their ends; then A is emptied, and waits until B has 1000 nodes. If B is full while A still has a
// request, nothing begins until one of the two is at its end: two graphs are the bound of memory.

#include "dynet/serve.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "dynet/evaluating.h"
#include "dynet/inference.h"

#include "api/serve_graph.h"
#include "util/fork.h"

namespace dynet::detail {

using Clock = std::chrono::steady_clock;
using api::ServeGraph;

void refuse_second_get() {
  throw errors::UsageError("Answer: get() a second time; the result was given before");
}

Clock::time_point moment_after(Clock::time_point begin, std::chrono::nanoseconds time) {
  constexpr Clock::time_point kLast = Clock::time_point::max();
  return time < kLast - begin ? begin + time : kLast;
}

ServedRequest::~ServedRequest() = default;

/// The members that threads share; `mutex` is for all but the first three.
struct Serving::Parts {
  ServeOptions options;
  std::uint32_t process = util::fork_count();
  std::thread thread;

  mutable std::mutex mutex;
  std::condition_variable wakes;  ///< for the server's thread
  std::deque<std::unique_ptr<ServedRequest>> queue;
  ServedModel model;
  std::uint64_t model_number = 0;
  std::uint64_t begun = 0;  ///< requests, for their numbers
  bool is_open = true;      ///< takes requests
  bool drains = true;       ///< runs the requests that it has; false: ends them
  ServeCounts counts;

  std::mutex closing;           ///< one thread joins
  std::shared_ptr<Parts> kept;  ///< itself, in a child process: memory that is never freed
};

namespace {

/// The Parts of the server whose thread this is, or null.
thread_local const void* own_parts = nullptr;

void check(const ServeOptions& o) {
  const auto refuse = [](const char* name, const std::string& given, const char* wanted) {
    throw errors::ValueError(std::string("RequestServer: ") + name + " is " + given + "; want " +
                             wanted);
  };
  const std::pair<const char*, std::size_t> counts[] = {{"max_running", o.max_running},
                                                        {"max_queue", o.max_queue},
                                                        {"max_nodes", o.max_nodes},
                                                        {"max_request_nodes", o.max_request_nodes}};
  for (const auto& [name, count] : counts) {
    if (count == 0) {
      refuse(name, "0", "at least 1");
    }
  }
  if (o.max_wait.count() < 0) {
    refuse("max_wait", std::to_string(o.max_wait.count()) + " ns", "0 or more");
  }
  if (o.timeout.count() < 0) {
    refuse("timeout", std::to_string(o.timeout.count()) + " ns", "0, for no bound, or more");
  }
}

/// A model that cannot be put into a graph is an error of the thread that gives it.
void try_out(const ServedModel& model) {
  ComputationGraph cg;
  std::shared_ptr<void> session;
  model(cg, session);
}

/// The exception that `work` throws, or null. A lack of memory for the exception is one as well: so
/// no request is without an answer.
template <class Work>
std::exception_ptr thrown_by(const Work& work) noexcept {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

bool has_to_end(const ServedRequest& request, Clock::time_point now) {
  return request.is_cancelled() || request.deadline <= now;
}

/// Throws if the request may not go on.
void check(const ServedRequest& request, Clock::time_point now) {
  if (request.is_cancelled()) {
    throw errors::CancelledError("RequestServer: the request was cancelled");
  }
  if (request.deadline <= now) {
    const auto time =
        std::chrono::duration_cast<std::chrono::milliseconds>(request.deadline - request.begin);
    throw errors::TimeoutError("RequestServer: the request has not ended in its time of " +
                               std::to_string(time.count()) + " ms");
  }
}

/// The work of the server's thread.
template <class Parts>
class Server {
 public:
  explicit Server(Parts& parts) : parts_(parts) {}

  void run() {
    const Evaluating no_dropout;
    const InferenceScope no_gradients;
    while (wait_for_work()) {
      try {
        end_late_requests();
        begin_requests();
        answer();
        give_back();
      } catch (...) {  // no memory for the lists here
        end_running([why = std::current_exception()] { return why; });
      }
      note();
    }
    end_all();
    note();
  }

 private:
  [[nodiscard]] std::size_t running() const { return graphs_[0].running() + graphs_[1].running(); }

  /// False when the thread has to end. Sleeps without requests, until a model is replaced.
  bool wait_for_work() {
    std::unique_lock lock(parts_.mutex);
    if (running() == 0 && parts_.queue.empty()) {
      is_idle_ = true;
      // An hour, not for ever: a wait without an end needs the C++ library of GCC 12, and wheels
      // run beside the one of GCC 11.
      while (parts_.queue.empty() && parts_.is_open && parts_.model_number == newest_model_) {
        parts_.wakes.wait_for(lock, std::chrono::hours(1));
      }
    }
    while (is_idle_ && parts_.options.max_wait.count() > 0 && parts_.is_open &&
           !parts_.queue.empty() && parts_.queue.size() < parts_.options.max_running &&
           parts_.wakes.wait_until(lock, end_of_wait()) == std::cv_status::no_timeout) {
    }
    is_idle_ = false;
    newest_model_ = parts_.model_number;
    return parts_.is_open || (parts_.drains && (running() != 0 || !parts_.queue.empty()));
  }

  /// Until then an idle server waits for more requests.
  [[nodiscard]] Clock::time_point end_of_wait() const {
    Clock::time_point end = moment_after(parts_.queue.front()->begin, parts_.options.max_wait);
    for (const auto& request : parts_.queue) {
      end = std::min(end, request->deadline);
    }
    return end;
  }

  void end_late_requests() {
    const Clock::time_point now = Clock::now();
    const auto reason = [now](const ServedRequest& request) {
      return thrown_by([&] { check(request, now); });
    };
    for (ServeGraph& graph : graphs_) {
      graph.end_those(reason);
      settle(graph);
    }
    std::vector<std::unique_ptr<ServedRequest>> ended;
    {
      const std::lock_guard lock(parts_.mutex);
      const auto goes_on = [now](const auto& request) { return !has_to_end(*request, now); };
      if (std::all_of(parts_.queue.begin(), parts_.queue.end(), goes_on)) {
        return;
      }
      const auto first = std::stable_partition(parts_.queue.begin(), parts_.queue.end(), goes_on);
      ended.resize(static_cast<std::size_t>(parts_.queue.end() - first));
      std::move(first, parts_.queue.end(), ended.begin());
      parts_.queue.erase(first, parts_.queue.end());
    }
    for (const auto& request : ended) {
      end(*request, reason(*request));
    }
  }

  void begin_requests() {
    while (running() < parts_.options.max_running) {
      ended_.reserve(running() + 1);  // so that an end needs no memory
      ServedModel model;
      std::uint64_t model_number = 0;
      std::uint64_t number = 0;
      std::unique_ptr<ServedRequest> request;
      ServeGraph* graph = nullptr;
      {
        const std::lock_guard lock(parts_.mutex);
        graph = parts_.queue.empty() ? nullptr : open_graph();
        if (graph == nullptr) {
          return;
        }
        model_number = parts_.model_number;
        newest_model_ = model_number;
        if (graph->model_number() != model_number || graph->is_to_be_emptied()) {
          model = parts_.model;
        }
        number = parts_.begun++;
        request = std::move(parts_.queue.front());
        parts_.queue.pop_front();
      }
      std::exception_ptr why = thrown_by([&] {
        check(*request, Clock::now());
        if (model) {
          graph->begin_anew(model, model_number);
          ++counts_.graphs;
        }
        current_ = graph == &graphs_[0] ? 0 : 1;
        graph->begin(request, number);
      });
      if (why != nullptr) {
        end(*request, std::move(why));
        continue;
      }
      counts_.most_running = std::max(counts_.most_running, running());
      settle(*graph);
    }
  }

  /// The graph in which the next request begins; null if both are full. The other graph is taken
  /// only when the current one is full, so that one plan is enough for most rounds.
  ServeGraph* open_graph() {
    for (const std::size_t i : {current_, 1 - current_}) {
      ServeGraph& graph = graphs_[i];
      const bool is_fit =
          graph.model_number() == parts_.model_number && graph.nodes() < parts_.options.max_nodes;
      if (graph.running() == 0 || is_fit) {
        return &graph;
      }
    }
    return nullptr;
  }

  void answer() {
    const std::uint64_t before = counts_.plans;
    for (ServeGraph& graph : graphs_) {
      counts_.plans += graph.answer() ? 1 : 0;
    }
    counts_.rounds += counts_.plans != before ? 1 : 0;
    for (ServeGraph& graph : graphs_) {
      settle(graph);
    }
  }

  /// Nodes and models that no request will see.
  void give_back() {
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      const bool is_old = graphs_[i].model_number() != newest_model_;
      if (graphs_[i].running() == 0 && (i != current_ || is_old)) {
        graphs_[i].give_back(is_old);
      }
    }
  }

  /// Answers for the requests of a graph that have ended.
  void settle(ServeGraph& graph) {
    graph.take_ended(ended_);
    for (ServeGraph::Ended& one : ended_) {
      one.request->drop();
      if (one.failure != nullptr) {
        end(*one.request, std::move(one.failure));
      } else {
        ++counts_.finished;
        note();
        one.request->finish();
      }
    }
    ended_.clear();
  }

  /// Ends a request by an exception, of which this thread keeps nothing: the text is then read, and
  /// the exception destroyed, by the thread that has the answer.
  void end(ServedRequest& request, std::exception_ptr why) {
    request.drop();
    try {
      std::rethrow_exception(why);
    } catch (const errors::TimeoutError&) {
      ++counts_.timed_out;
    } catch (const errors::CancelledError&) {
      ++counts_.cancelled;
    } catch (...) {
      ++counts_.failed;
    }
    note();
    request.fail(std::move(why));
  }

  /// `reason()` is an exception for one request.
  template <class Reason>
  void end_running(const Reason& reason) {
    for (ServeGraph& graph : graphs_) {
      graph.end_those([&reason](const ServedRequest&) { return reason(); });
      settle(graph);
    }
  }

  void end_all() {
    const auto reason = [] {
      return thrown_by([] {
        throw errors::CancelledError(
            "RequestServer: the server stopped before the request was at its end");
      });
    };
    end_running(reason);
    while (const std::unique_ptr<ServedRequest> request = next_of_queue()) {
      end(*request, reason());
    }
  }

  /// Null if none waits.
  std::unique_ptr<ServedRequest> next_of_queue() {
    const std::lock_guard lock(parts_.mutex);
    if (parts_.queue.empty()) {
      return nullptr;
    }
    std::unique_ptr<ServedRequest> request = std::move(parts_.queue.front());
    parts_.queue.pop_front();
    return request;
  }

  /// Lets other threads see the counts; before an answer is ready, so that its reader finds it
  /// counted.
  void note() {
    counts_.nodes = graphs_[0].nodes() + graphs_[1].nodes();
    counts_.most_nodes = std::max(counts_.most_nodes, counts_.nodes);
    const std::lock_guard lock(parts_.mutex);
    counts_.accepted = parts_.counts.accepted;
    counts_.refused = parts_.counts.refused;
    parts_.counts = counts_;
  }

  Parts& parts_;
  std::array<ServeGraph, 2> graphs_{ServeGraph(parts_.options), ServeGraph(parts_.options)};
  std::size_t current_ = 0;  ///< the graph of `graphs_` in which the last request began
  bool is_idle_ = true;      ///< without a request since it last slept, or from the beginning
  std::uint64_t newest_model_ = 0;
  std::vector<ServeGraph::Ended> ended_;
  ServeCounts counts_;
};

}  // namespace

Serving::Serving(ServedModel model, const ServeOptions& options)
    : parts_(std::make_shared<Parts>()) {
  check(options);
  try_out(model);
  parts_->options = options;
  parts_->model = std::move(model);
  sigset_t others;  // signals are the program's threads'
  sigset_t before;
  sigfillset(&others);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
    sigdelset(&others, fault);
  }
  pthread_sigmask(SIG_SETMASK, &others, &before);
  try {
    parts_->thread = std::thread([parts = parts_] {
      own_parts = parts.get();
      Server<Parts>(*parts).run();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Serving::~Serving() {
  if (parts_->process != util::fork_count()) {
    parts_->kept = parts_;  // a lock in it may be held for ever
    return;
  }
  if (is_own_thread()) {
    // The last owner was a request. The thread ends after that request's turn.
    const std::lock_guard lock(parts_->mutex);
    parts_->is_open = parts_->drains = false;
    parts_->thread.detach();
    return;
  }
  end(false);
}

void Serving::submit(std::unique_ptr<ServedRequest> request, std::chrono::nanoseconds timeout) {
  check_process();
  if (timeout.count() < 0) {
    throw errors::ValueError("RequestServer: timeout is " + std::to_string(timeout.count()) +
                             " ns; want 0, for no bound, or more");
  }
  request->begin = Clock::now();
  request->deadline =
      timeout.count() == 0 ? Clock::time_point::max() : moment_after(request->begin, timeout);
  {
    const std::lock_guard lock(parts_->mutex);
    if (!parts_->is_open) {
      throw errors::UsageError("RequestServer: submit after the server was closed");
    }
    if (parts_->queue.size() >= parts_->options.max_queue) {
      ++parts_->counts.refused;
      throw errors::OverloadError("RequestServer: " + std::to_string(parts_->queue.size()) +
                                  " requests wait, which is max_queue; want a later request");
    }
    parts_->queue.push_back(std::move(request));
    ++parts_->counts.accepted;
  }
  parts_->wakes.notify_one();
}

void Serving::replace(ServedModel model) {
  check_process();
  try_out(model);
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->model.swap(model);
    ++parts_->model_number;
  }
  parts_->wakes.notify_one();
}

void Serving::close(bool drains) {
  check_process();
  if (is_own_thread()) {
    throw errors::UsageError("RequestServer: a request closes its own server; want another thread");
  }
  end(drains);
}

void Serving::end(bool drains) {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->is_open = false;
    parts_->drains = parts_->drains && drains;
  }
  parts_->wakes.notify_one();
  const std::lock_guard lock(parts_->closing);
  if (parts_->thread.joinable()) {
    parts_->thread.join();
  }
}

ServeCounts Serving::counts() const {
  check_process();
  const std::lock_guard lock(parts_->mutex);
  ServeCounts counts = parts_->counts;
  counts.waiting = parts_->queue.size();
  counts.running = counts.accepted - counts.waiting - counts.finished - counts.failed -
                   counts.timed_out - counts.cancelled;
  return counts;
}

const ServeOptions& Serving::options() const { return parts_->options; }

bool Serving::is_own_thread() const { return own_parts == parts_.get(); }

void Serving::check_process() const {
  if (parts_->process != util::fork_count()) {
    throw errors::UsageError(
        "RequestServer: this process is a child of the process of the server; want a server of "
        "its own");
  }
}

}  // namespace dynet::detail
