#include "api/serve_graph.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace dynet::api {

void ServeGraph::begin_anew(const detail::ServedModel& model, std::uint64_t model_number) {
  give_back(model_number != in_session_);
  model(cg_, session_);
  in_session_ = model_number;
  loop_ = std::make_unique<TaskLoop>(cg_, "RequestServer", "request");
  model_number_ = model_number;
}

void ServeGraph::give_back(bool model_too) {
  model_number_ = kNoModel;
  loop_.reset();
  if (nodes() != 0) {
    cg_.clear();
  }
  if (model_too) {
    session_ = nullptr;
    in_session_ = kNoModel;
  }
}

void ServeGraph::begin(std::unique_ptr<detail::ServedRequest>& request, std::uint64_t number) {
  auto made = std::make_unique<Running>();
  Running& one = *made;
  one.task.number = number;
  one.task.turn = [this, &one](std::vector<Expression>& asked, std::exception_ptr failure) {
    return turn(one, asked, std::move(failure));
  };
  running_.push_back(std::move(made));
  one.request = std::move(request);
  try {
    loop_->begin(one.task);
  } catch (...) {  // no memory for the list of the loop
    one.task.failure = std::current_exception();
    one.task.is_over = true;
  }
}

bool ServeGraph::turn(Running& one, std::vector<Expression>& asked, std::exception_ptr failure) {
  const std::size_t before = nodes();
  const bool goes_on = one.request->turn(cg_, session_.get(), asked, std::move(failure));
  one.task.work = nodes() - std::min(before, nodes());
  one.nodes += one.task.work;
  if (one.nodes > options_.max_request_nodes) {
    throw errors::UsageError("RequestServer: request " + std::to_string(one.task.number) +
                             " has made " + std::to_string(one.nodes) + " nodes; want at most " +
                             std::to_string(options_.max_request_nodes) + " (max_request_nodes)");
  }
  return goes_on;
}

bool ServeGraph::answer() {
  if (loop_ == nullptr || loop_->waiting().empty()) {
    return false;
  }
  try {
    loop_->answer(kPatience);
  } catch (...) {  // no memory for the round itself
    const std::exception_ptr why = std::current_exception();
    end_those([&why](const detail::ServedRequest&) { return std::exception_ptr(why); });
  }
  return true;
}

void ServeGraph::take_ended(std::vector<Ended>& ended) {
  const auto first =
      std::stable_partition(running_.begin(), running_.end(),
                            [](const std::unique_ptr<Running>& one) { return !one->task.is_over; });
  for (auto one = first; one != running_.end(); ++one) {
    ended.push_back({std::move((*one)->request), std::move((*one)->task.failure)});
  }
  running_.erase(first, running_.end());
}

}  // namespace dynet::api
