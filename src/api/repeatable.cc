#include "dynet/repeatable.h"

#include "api/graph_state.h"

namespace dynet::detail {

namespace {
/// Where the outermost call of this thread makes nodes: those of calls within it are its own.
thread_local ComputationGraph* under_way = nullptr;
}  // namespace

/// A graph that is gone draws nothing: the call will fail with an error about its arguments.
RepeatableDraws::RepeatableDraws(ComputationGraph* graph)
    : graph_(graph == nullptr || graph == under_way || !api::is_live(graph) ? nullptr : graph),
      outer_(under_way) {
  if (graph_ != nullptr) {
    draws_ = graph_->state().graph.draws();
    evaluation_ = graph_->state().executor.evaluation();
    under_way = graph_;
  }
}

RepeatableDraws::~RepeatableDraws() {
  if (graph_ == nullptr) {
    return;
  }
  under_way = outer_;
  if (!is_kept_) {
    graph_->state().graph.take_back_draws(draws_);
    graph_->state().executor.go_back_to(evaluation_);
  }
}

}  // namespace dynet::detail
