// The server's thread: which requests begin, in which graph, and how they end.
//
// Rounds (task_loop.h) run in two graphs that take turns. Example with max_nodes = 1000: requests
// begin in graph A until A has 1000 nodes; then new ones begin in B, and A's last ones go on to
// their ends; then A is emptied, and waits until B has 1000 nodes. If B is full while A still has a
// request, nothing begins until one of the two is at its end: two graphs are the bound of memory.

#include "dynet/serve.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <iterator>
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

std::exception_ptr lost_request() {
  return std::make_exception_ptr(
      errors::UsageError("RequestServer: the request was lost, because there was no memory"));
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

/// Why a request may not go on; null if it may.
std::exception_ptr reason_to_end(const ServedRequest& request, Clock::time_point now) {
  if (request.is_cancelled()) {
    return std::make_exception_ptr(
        errors::CancelledError("RequestServer: the request was cancelled"));
  }
  if (request.deadline <= now) {
    const std::chrono::duration<double> time = request.deadline - request.begin;
    return std::make_exception_ptr(errors::TimeoutError(
        "RequestServer: the request has not ended in its time of " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
        " ms"));
  }
  return nullptr;
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
  using Queue = std::deque<std::unique_ptr<ServedRequest>>;

  [[nodiscard]] std::size_t running() const { return graphs_[0].running() + graphs_[1].running(); }

  /// False when the thread has to end. Sleeps without requests, until a model is replaced.
  bool wait_for_work() {
    std::unique_lock lock(parts_.mutex);
    if (running() == 0 && parts_.queue.empty()) {
      parts_.wakes.wait(lock, [this] {
        return !parts_.queue.empty() || !parts_.is_open || parts_.model_number != newest_model_;
      });
      if (parts_.options.max_wait.count() > 0 && !parts_.queue.empty()) {
        parts_.wakes.wait_until(
            lock, parts_.queue.front()->begin + parts_.options.max_wait, [this] {
              return parts_.queue.size() >= parts_.options.max_running || !parts_.is_open;
            });
      }
    }
    newest_model_ = parts_.model_number;
    return parts_.is_open || (parts_.drains && (running() != 0 || !parts_.queue.empty()));
  }

  void end_late_requests() {
    const Clock::time_point now = Clock::now();
    for (ServeGraph& graph : graphs_) {
      graph.end_those([now](const ServedRequest& r) { return reason_to_end(r, now); });
      settle(graph);
    }
    Queue ended;
    {
      const std::lock_guard lock(parts_.mutex);
      const auto goes_on = [now](const auto& r) { return reason_to_end(*r, now) == nullptr; };
      if (std::all_of(parts_.queue.begin(), parts_.queue.end(), goes_on)) {
        return;
      }
      const auto first = std::stable_partition(parts_.queue.begin(), parts_.queue.end(), goes_on);
      std::move(first, parts_.queue.end(), std::back_inserter(ended));
      parts_.queue.erase(first, parts_.queue.end());
    }
    for (const auto& request : ended) {
      end(*request, reason_to_end(*request, now));
    }
  }

  void begin_requests() {
    while (running() < parts_.options.max_running) {
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
        request = std::move(parts_.queue.front());
        parts_.queue.pop_front();
        number = parts_.begun++;
        model_number = parts_.model_number;
        newest_model_ = model_number;
        if (graph->model_number() != model_number || graph->is_to_be_emptied()) {
          model = parts_.model;
        }
      }
      if (std::exception_ptr why = reason_to_end(*request, Clock::now()); why != nullptr) {
        end(*request, std::move(why));
        continue;
      }
      if (model) {
        try {
          graph->begin_anew(model, model_number);
          ++counts_.graphs;
        } catch (...) {
          end(*request, std::current_exception());
          continue;
        }
      }
      current_ = graph == &graphs_[0] ? 0 : 1;
      graph->begin(std::move(request), number);
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
      return std::make_exception_ptr(errors::CancelledError(
          "RequestServer: the server stopped before the request was at its end"));
    };
    Queue waiting;
    {
      const std::lock_guard lock(parts_.mutex);
      waiting.swap(parts_.queue);
    }
    end_running(reason);
    for (const auto& request : waiting) {
      end(*request, reason());
    }
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
    parts_->thread = std::thread([parts = parts_] { Server<Parts>(*parts).run(); });
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
  if (parts_->thread.get_id() == std::this_thread::get_id()) {
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
  request->deadline = timeout.count() == 0 ? Clock::time_point::max() : request->begin + timeout;
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
  if (parts_->thread.get_id() == std::this_thread::get_id()) {
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

void Serving::check_process() const {
  if (parts_->process != util::fork_count()) {
    throw errors::UsageError(
        "RequestServer: this process is a child of the process of the server; want a server of "
        "its own");
  }
}

}  // namespace dynet::detail
