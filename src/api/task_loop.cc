#include "api/task_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynet/errors.h"

#include "api/graph_state.h"
#include "util/interrupt.h"

namespace dynet::api {
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

}  // namespace

void TaskLoop::begin(LoopTask& task) {
  waiting_.reserve(waiting_.size() + 1);
  if (go_on(task, nullptr)) {
    waiting_.push_back(&task);
  }
}

void TaskLoop::answer(std::size_t patience) {
  choose(patience);
  compute();
  waiting_ = later_;
  waiting_.reserve(later_.size() + now_.size());
  for (std::size_t k = 0; k < now_.size(); ++k) {
    now_[k]->waited = 0;
    if (go_on(*now_[k], std::move(answers_[k]))) {
      waiting_.push_back(now_[k]);
    }
  }
}

/// Divides the waiting tasks into those of this round and the others.
void TaskLoop::choose(std::size_t patience) {
  constexpr std::size_t kMuch = 8;  // times the lightest work
  now_.clear();
  later_.clear();
  std::size_t least = ~std::size_t{0} / kMuch;
  bool is_out_of_patience = patience == 0;
  for (const LoopTask* task : waiting_) {
    least = std::min(least, std::max<std::size_t>(1, task->work));
    is_out_of_patience = is_out_of_patience || task->waited >= patience;
  }
  for (LoopTask* task : waiting_) {
    const bool is_now = is_out_of_patience || task->work <= kMuch * least;
    task->waited += is_now ? 0 : 1;
    (is_now ? now_ : later_).push_back(task);
  }
}

void TaskLoop::remove(const LoopTask& task) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), &task), waiting_.end());
}

/// The turn of a task. False if that is the end of the task. A task that may not ask is told so
/// once, and then ended.
bool TaskLoop::go_on(LoopTask& task, std::exception_ptr failure) {
  guard_.begin();
  try {
    for (bool was_told = false;; was_told = true) {
      task.asked.clear();
      if (!task.turn(task.asked, std::move(failure))) {
        break;
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
    task.failure = std::current_exception();
    task.end = ++failures_;
  }
  task.is_over = true;
  return false;
}

std::string TaskLoop::text_of(const LoopTask& task, const char* part) const {
  return std::string(call_) + ": " + part + kind_ + " " + std::to_string(task.number);
}

/// Null if the task may ask its question.
std::exception_ptr TaskLoop::refusal(LoopTask& task) {
  try {
    if (const std::string why = guard_.misuse(); !why.empty()) {
      throw errors::UsageError(text_of(task, "") + " " + why);
    }
    for (const Expression& e : task.asked) {
      if (e.is_stale()) {
        checked_node(e, text_of(task, "a question of "));
      }
    }
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void TaskLoop::compute() {
  const NotedInterrupts interrupts;
  answers_.assign(now_.size(), nullptr);
  all_.clear();
  for (const LoopTask* task : now_) {
    all_.insert(all_.end(), task->asked.begin(), task->asked.end());
  }
  try {
    compute_together(all_);
    return;
  } catch (...) {
    if (interrupts.have_thrown()) {
      throw;
    }
  }
  for (std::size_t k = 0; k < now_.size(); ++k) {
    try {
      compute_together(now_[k]->asked);
    } catch (...) {
      if (interrupts.have_thrown()) {
        throw;
      }
      answers_[k] = std::current_exception();
    }
  }
}

}  // namespace dynet::api
