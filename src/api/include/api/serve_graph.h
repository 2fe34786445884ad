#pragma once

// One of the two graphs of a server (serve.cc), with the requests that run in it.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "dynet/serve.h"

#include "api/task_loop.h"

namespace dynet::api {

/// Invariant: all requests have begun with the model that is in the graph. Thread rule: the
/// server's thread.
class ServeGraph {
 public:
  /// A request that has ended: by its result, or by an exception.
  struct Ended {
    std::unique_ptr<detail::ServedRequest> request;
    std::exception_ptr failure;
  };

  explicit ServeGraph(const ServeOptions& options) : options_(options) {}

  /// Empties the graph, which has no requests, and puts a model into it. If that throws, there is
  /// no model.
  void begin_anew(const detail::ServedModel& model, std::uint64_t model_number);
  /// Removes all nodes of a graph without requests; with `model_too` the model as well.
  void give_back(bool model_too);
  /// Runs a request to its first question. If that throws, for want of memory, the caller has the
  /// request as before.
  void begin(std::unique_ptr<detail::ServedRequest>& request, std::uint64_t number);
  /// A round; false if no request waits. An exception that is no request's ends all of them.
  bool answer();
  /// Ends each request for which `reason(request)` is an exception.
  template <class Reason>
  void end_those(const Reason& reason);
  /// Appends the requests that have ended since the last call. Throws nothing if there is room for
  /// all running ones.
  void take_ended(std::vector<Ended>& ended);

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t nodes() const { return cg_.nodes.size(); }
  /// kNoModel if there is none.
  [[nodiscard]] std::uint64_t model_number() const { return model_number_; }
  /// Whether it has no requests, and enough nodes for an end of them. A graph that is emptied after
  /// each request would have the model's nodes made for each.
  [[nodiscard]] bool is_to_be_emptied() const {
    return running_.empty() && nodes() >= options_.max_nodes / kPartToKeep;
  }

  static constexpr std::uint64_t kNoModel = ~std::uint64_t{0};

 private:
  static constexpr std::size_t kPartToKeep = 8;
  /// Rounds that a large question waits for the small ones of others, so that several large ones
  /// run together (docs/measurements/serving.md).
  static constexpr std::size_t kPatience = 8;
  struct Running {
    std::unique_ptr<detail::ServedRequest> request;
    LoopTask task;
    std::size_t nodes = 0;  ///< that it has made
  };
  bool turn(Running& one, std::vector<Expression>& asked, std::exception_ptr failure);

  const ServeOptions& options_;
  ComputationGraph cg_;
  std::unique_ptr<TaskLoop> loop_;  ///< null: no model is in the graph
  std::shared_ptr<void> session_;   ///< the copy of the model for this graph
  std::uint64_t in_session_ = kNoModel;
  std::uint64_t model_number_ = kNoModel;  ///< in the graph
  std::vector<std::unique_ptr<Running>> running_;
};

template <class Reason>
void ServeGraph::end_those(const Reason& reason) {
  for (const auto& one : running_) {
    if (std::exception_ptr why = reason(*one->request); why != nullptr) {
      loop_->remove(one->task);
      one->task.failure = std::move(why);
      one->task.is_over = true;
    }
  }
}

}  // namespace dynet::api
