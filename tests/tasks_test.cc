// Tasks that ask for values in the middle of a graph: coroutines and function objects, against one
// task after the other; plans; exceptions, scopes, checkpoints and interrupts.

#include "dynet/tasks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/expr.h"
#include "dynet/inference.h"
#include "dynet/interrupt.h"

#include "api/graph_state.h"
#include "execute/executor.h"
#include "support/differences.h"
#include "support/observe.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Failures = std::vector<std::exception_ptr>;

std::string text_of(const std::exception_ptr& failure) {
  if (failure == nullptr) {
    return "";
  }
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Counts the work of a graph.
struct Counts final : execute::Hook {
  void after_plan(const std::vector<graph::NodeId>& /*nodes*/,
                  const schedule::Plan& plan) override {
    ++plans;
    groups += plan.groups.size();
  }
  void before_call(const graph::Graph& /*graph*/, const Call& call) override {
    members += call.members.size();
  }
  std::size_t plans = 0, groups = 0, members = 0;
};

/// Goes on while its value says so: the decisions are read from the graph.
class Walker {
 public:
  ParameterCollection model;

  Expression start(ComputationGraph& cg, float x) {
    return input(cg, {kSize}, std::vector<float>(kSize, x));
  }
  Expression score(ComputationGraph& cg, const Expression& x) { return parameter(cg, v_) * x; }
  Expression step(ComputationGraph& cg, const Expression& x) {
    return 0.9F * tanh(parameter(cg, w_) * x);
  }

 private:
  static constexpr unsigned kSize = 4;
  Parameter w_ = model.add_parameters({kSize, kSize}, ParameterInitIdentity());
  Parameter v_ = model.add_parameters({1, kSize}, ParameterInitConst(1.0F));
};

struct Walk {
  unsigned steps = 0;
  Expression loss{};
};

Task<Walk> walk(ComputationGraph& cg, Walker& walker, float from) {
  Expression x = walker.start(cg, from);
  std::vector<Expression> losses{squared_norm(x)};
  while (as_scalar(co_await value(walker.score(cg, x))) > 1.0F) {
    x = walker.step(cg, x);
    losses.push_back(squared_norm(x));
  }
  co_return Walk{static_cast<unsigned>(losses.size() - 1), sum(losses)};
}

/// A walk as a function object.
class WalkStep {
 public:
  WalkStep(ComputationGraph& cg, Walker& walker, float from, Walk& result)
      : graph_(cg), walker_(walker), result_(result), x_(walker.start(cg, from)) {}
  std::vector<Expression> operator()() {
    if (score_.pg != nullptr && as_scalar(score_.value()) <= 1.0F) {
      result_ = {static_cast<unsigned>(losses_.size() - 1), sum(losses_)};
      return {};
    }
    x_ = score_.pg == nullptr ? x_ : walker_.step(graph_, x_);
    losses_.push_back(squared_norm(x_));
    score_ = walker_.score(graph_, x_);
    return {score_};
  }

 private:
  ComputationGraph& graph_;
  Walker& walker_;
  Walk& result_;
  Expression x_, score_;
  std::vector<Expression> losses_;
};

const std::vector<float> kStarts{0.1F, 0.3F, 0.9F, 1.5F, 3.0F};

struct Outcome {
  std::vector<unsigned> steps;
  std::vector<double> losses;
  std::vector<double> gradient;
};
Outcome outcome_of(ComputationGraph& cg, Walker& walker, const std::vector<Walk>& walks) {
  Outcome all;
  std::vector<Expression> losses;
  for (const Walk& w : walks) {
    all.steps.push_back(w.steps);
    all.losses.push_back(as_scalar(w.loss.value()));
    losses.push_back(w.loss);
  }
  cg.backward(sum(losses));
  all.gradient = as_double_vector(walker.model.parameters_list()[0]->g);
  walker.model.reset_gradient();
  return all;
}
Outcome one_by_one(Walker& walker) {
  ComputationGraph cg;
  std::vector<Walk> walks;
  for (const float from : kStarts) {
    Expression x = walker.start(cg, from);
    std::vector<Expression> losses{squared_norm(x)};
    while (as_scalar(walker.score(cg, x).value()) > 1.0F) {
      x = walker.step(cg, x);
      losses.push_back(squared_norm(x));
    }
    walks.push_back({static_cast<unsigned>(losses.size() - 1), sum(losses)});
  }
  return outcome_of(cg, walker, walks);
}
void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(testing::compare(a.losses, b.losses, tolerance::kFloatAgainstDouble), "");
  EXPECT_EQ(testing::compare(a.gradient, b.gradient, tolerance::kFloatAgainstDouble), "");
}

TEST(Tasks, CoroutinesDecideAsOneByOne) {
  Walker walker;
  const Outcome expected = one_by_one(walker);
  EXPECT_GT(expected.steps.back(), expected.steps.front() + 1);
  ComputationGraph cg;
  std::vector<Task<Walk>> tasks;
  tasks.reserve(kStarts.size());
  for (const float from : kStarts) {
    tasks.push_back(walk(cg, walker, from));
  }
  expect_same(outcome_of(cg, walker, run_together(cg, std::move(tasks))), expected);
}

TEST(Tasks, FunctionObjectsDecideAsOneByOne) {
  Walker walker;
  const Outcome expected = one_by_one(walker);
  ComputationGraph cg;
  std::vector<Walk> walks(kStarts.size());
  std::vector<TaskStep> tasks;
  tasks.reserve(kStarts.size());
  for (std::size_t i = 0; i < kStarts.size(); ++i) {
    tasks.emplace_back(WalkStep(cg, walker, kStarts[i], walks[i]));
  }
  run_together(cg, tasks);
  expect_same(outcome_of(cg, walker, walks), expected);
}

Task<> ask_three_times(ComputationGraph& cg, Parameter p) {
  Expression x = parameter(cg, p);
  for (int i = 0; i < 3; ++i) {
    x = tanh(x);
    co_await value(x);
  }
}

TEST(Tasks, ARoundOfQuestionsIsOnePlan) {
  ParameterCollection model;
  for (const std::size_t count : {1U, 8U}) {
    ComputationGraph cg;
    std::vector<Task<>> tasks;
    tasks.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back(ask_three_times(cg, model.add_parameters({3})));
    }
    Counts counts;
    testing::observe(cg, &counts);
    run_together(cg, std::move(tasks));
    EXPECT_EQ(counts.plans, 3U);
    EXPECT_EQ(counts.groups, 3U);
  }
}

TEST(ComputeTogether, SeveralRootsAreOnePlanInAndOutOfInference) {
  for (const bool is_inference : {false, true}) {
    ComputationGraph cg;
    std::vector<Expression> roots;
    std::vector<Expression> later;
    for (int i = 0; i < 6; ++i) {
      const Expression x = input(cg, {2}, {1.0F, static_cast<float>(i)});
      roots.push_back(tanh(x));  // used by the next, and would be dropped unless it were asked for
      roots.push_back(exp(roots.back()));
      later.push_back(roots.back() + 1);
    }
    Counts counts;
    testing::observe(cg, &counts);
    std::optional<InferenceScope> scope;
    if (is_inference) {
      scope.emplace();
    }
    compute_together(roots);
    EXPECT_EQ(counts.plans, 1U);
    const std::size_t members = counts.members;
    EXPECT_FLOAT_EQ(as_vector(roots[10].value())[1], std::tanh(5.0F));
    EXPECT_FLOAT_EQ(as_vector(roots[11].value())[1], std::exp(std::tanh(5.0F)));
    for (const Expression& e : roots) {
      e.value();
    }
    EXPECT_EQ(counts.members, members);  // nothing was computed again
    compute_together(later);
    EXPECT_EQ(counts.plans, 2U);
    EXPECT_EQ(counts.members, members + 6);
  }
}

TEST(ComputeTogether, OfSeveralGraphsAndOfNothing) {
  ComputationGraph a;
  ComputationGraph b;
  const std::vector<Expression> all{tanh(input(a, 1)), tanh(input(b, 2)), tanh(input(a, 3))};
  Counts in_a;
  testing::observe(a, &in_a);
  Counts in_b;
  testing::observe(b, &in_b);
  compute_together(all);
  EXPECT_EQ(in_a.plans, 1U);
  EXPECT_EQ(in_b.plans, 1U);
  compute_together(all);
  compute_together({});
  EXPECT_EQ(in_a.plans + in_b.plans, 2U);
  a.clear();
  EXPECT_THROW(compute_together(all), errors::StaleExpression);
}

Task<int> plus_one(ComputationGraph& cg, int x) {
  co_return static_cast<int>(as_scalar(co_await value(input(cg, static_cast<float>(x))))) + 1;
}
Task<int> nested(ComputationGraph& cg, int x) {
  int sum = co_await plus_one(cg, x);
  const Task<int> later = plus_one(cg, sum);
  sum += co_await later;
  const std::vector<Tensor> both = co_await values(input(cg, 1.0F), input(cg, 2.0F));
  sum += static_cast<int>(as_scalar(both[0]) + as_scalar(both[1]));
  std::vector<Task<int>> inner;
  inner.push_back(plus_one(cg, sum));
  co_return run_together(cg, std::move(inner))[0];
}
Task<int> never_asks(int x) { co_return x; }

TEST(Tasks, NestedTasksAndTasksThatNeverAsk) {
  ComputationGraph cg;
  std::vector<Task<int>> tasks;
  tasks.push_back(nested(cg, 0));
  tasks.push_back(never_asks(7));
  tasks.push_back(nested(cg, 10));
  EXPECT_EQ(run_together(cg, std::move(tasks)),
            (std::vector<int>{1 + 2 + 3 + 1, 7, 11 + 12 + 3 + 1}));
  EXPECT_TRUE(run_together(cg, std::vector<Task<int>>()).empty());
}

/// Counts the objects of unfinished tasks.
struct Alive {
  explicit Alive(int& count) : count_(count) { ++count_; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --count_; }

 private:
  int& count_;
};

Task<int> failing(ComputationGraph& cg, int when, int& alive, int& ended) {
  const Alive here(alive);
  for (int step = 0; step < 3; ++step) {
    if (step == when) {
      throw std::logic_error("at " + std::to_string(when));
    }
    co_await value(input(cg, 1.0F));
  }
  ++ended;
  co_return when;
}

TEST(Tasks, AnExceptionEndsItsTaskAlone) {
  ComputationGraph cg;
  int alive = 0;
  int ended = 0;
  const auto tasks = [&] {
    std::vector<Task<int>> all;
    for (const int when : {9, 2, 1, 8}) {
      all.push_back(failing(cg, when, alive, ended));
    }
    return all;
  };
  try {
    run_together(cg, tasks());
    ADD_FAILURE();
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "at 1");  // the first in time, when the others are at their ends
  }
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(alive, 0);
  Failures failures;
  EXPECT_EQ(run_together(cg, tasks(), &failures), (std::vector<int>{9, 0, 0, 8}));
  EXPECT_EQ(text_of(failures.at(0)) + text_of(failures.at(3)), "");
  EXPECT_EQ(text_of(failures.at(1)), "at 2");
  EXPECT_EQ(text_of(failures.at(2)), "at 1");
}

Task<int> take_log(ComputationGraph& cg, float x) {
  try {
    co_await value(log(input(cg, x)));
  } catch (const errors::NumericError&) {
    co_return -1;
  }
  co_return 1;
}

TEST(Tasks, AQuestionThatFailsFailsItsTaskAlone) {
  ComputationGraph cg;
  cg.set_check_validity(true);
  std::vector<Task<int>> tasks;
  for (const float x : {1.0F, -1.0F, 2.0F}) {
    tasks.push_back(take_log(cg, x));
  }
  EXPECT_EQ(run_together(cg, std::move(tasks)), (std::vector<int>{1, -1, 1}));
  Failures failures;
  run_together(cg, {[&, asked = false]() mutable -> std::vector<Expression> {
                 return std::exchange(asked, true) ? std::vector<Expression>{}
                                                   : std::vector<Expression>{log(input(cg, -1.0F))};
               }},
               &failures);
  EXPECT_NE(text_of(failures.at(0)).find("log"), std::string::npos);
}

Task<> ask_stale(Expression old) { co_await value(old); }
Task<> clear_it(ComputationGraph& cg) {
  co_await value(input(cg, 1.0F));
  cg.clear();
}
Task<> revert_it(ComputationGraph& cg) {
  co_await value(input(cg, 1.0F));
  cg.revert();
}
Task<> hold_checkpoint(ComputationGraph& cg) {
  cg.checkpoint();
  try {
    co_await value(input(cg, 1.0F));
  } catch (const errors::UsageError&) {
    cg.revert();
    throw;
  }
}
Task<> try_and_take_back(ComputationGraph& cg, unsigned& nodes) {
  co_await value(input(cg, 1.0F));
  cg.checkpoint();
  tanh(input(cg, 1.0F)).value();
  cg.revert();
  nodes = static_cast<unsigned>(cg.nodes.size());
  co_await value(input(cg, 1.0F));
}

TEST(Tasks, TheGraphMayNotBeEmptied) {
  ComputationGraph other;
  const Expression old = tanh(input(other, 1.0F));
  other.clear();
  ComputationGraph cg;
  const Expression outside = input(cg, 1.0F);
  cg.checkpoint();
  unsigned nodes = 0;
  std::vector<Task<>> tasks;
  tasks.push_back(ask_stale(old));
  tasks.push_back(clear_it(cg));
  tasks.push_back(revert_it(cg));
  tasks.push_back(hold_checkpoint(cg));
  tasks.push_back(try_and_take_back(cg, nodes));
  Failures failures;
  run_together(cg, std::move(tasks), &failures);
  EXPECT_NE(text_of(failures[0]).find("a question of task 0: stale expression"), std::string::npos);
  EXPECT_NE(text_of(failures[1]).find("may not be emptied"), std::string::npos);
  EXPECT_NE(text_of(failures[2]).find("checkpoint is older"), std::string::npos);
  EXPECT_NE(text_of(failures[3]).find("task 3 asks with a checkpoint open"), std::string::npos);
  EXPECT_EQ(text_of(failures[4]), "");
  EXPECT_EQ(nodes, 4U);  // `outside`, and one question of tasks 1, 2 and 4
  cg.revert();
  EXPECT_FALSE(outside.is_stale());
  cg.clear();  // afterwards it may
  EXPECT_TRUE(outside.is_stale());
}

template <class Scope>
Task<> ask_within(ComputationGraph& cg) {
  const Scope scope;
  co_await value(input(cg, 1.0F));
}
template <class Scope>
Task<> ask_again_within(ComputationGraph& cg, unsigned& told) {
  const Scope scope;
  for (;;) {
    try {
      co_await value(input(cg, 1.0F));
    } catch (const errors::UsageError&) {
      ++told;  // and asks again
    }
  }
}
Task<> look(ComputationGraph& cg, bool& was_on) {
  co_await value(input(cg, 1.0F));
  was_on = was_on || Evaluating::is_on();
}

TEST(Tasks, AScopeDoesNotHoldForOtherTasks) {
  ComputationGraph cg;
  bool was_on = false;
  {
    std::vector<Task<>> tasks;
    tasks.push_back(ask_within<Evaluating>(cg));
    tasks.push_back(ask_within<InferenceScope>(cg));
    tasks.push_back(look(cg, was_on));
    Failures failures;
    run_together(cg, std::move(tasks), &failures);
    EXPECT_NE(text_of(failures[0]).find("an evaluating scope open"), std::string::npos);
    EXPECT_NE(text_of(failures[1]).find("an inference scope open"), std::string::npos);
    EXPECT_EQ(text_of(failures[2]), "");
    EXPECT_FALSE(was_on);
  }
  std::vector<Task<>> stubborn;
  unsigned told = 0;
  stubborn.push_back(ask_again_within<Evaluating>(cg, told));
  EXPECT_THROW(run_together(cg, std::move(stubborn)), errors::UsageError);
  EXPECT_EQ(told, 1U);
  EXPECT_FALSE(Evaluating::is_on());
}

struct Stop {};

TEST(Tasks, AnInterruptEndsAllTasks) {
  ComputationGraph cg;
  int alive = 0;
  int ended = 0;
  int calls = 0;
  {
    std::vector<Task<int>> tasks;
    tasks.push_back(failing(cg, 9, alive, ended));
    tasks.push_back(failing(cg, 9, alive, ended));
    struct Check {
      int& calls;
    } check{calls};
    const InterruptScope scope(
        [](void* of) {
          ++static_cast<Check*>(of)->calls;
          throw Stop();
        },
        &check, std::chrono::milliseconds(0));
    Failures failures;
    EXPECT_THROW(run_together(cg, std::move(tasks), &failures), Stop);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(ended, 0);
  cg.clear();
}

TEST(Tasks, EmptyTasks) {
  ComputationGraph cg;
  EXPECT_THROW(run_together(cg, {TaskStep()}), errors::UsageError);
  std::vector<Task<int>> tasks(1);
  EXPECT_THROW(run_together(cg, std::move(tasks)), errors::UsageError);
}

Task<> await_shared(const Task<int>& shared, std::vector<int>& results) {
  results.push_back(co_await shared);
}

TEST(Tasks, ATaskRunsOnce) {
  ComputationGraph cg;
  Task<int> shared = nested(cg, 0);
  std::vector<int> results;
  const auto two = [&] {
    std::vector<Task<>> tasks;
    tasks.push_back(await_shared(shared, results));
    tasks.push_back(await_shared(shared, results));
    return tasks;
  };
  const std::string want = "co_await: the task has begun before; want a coroutine";
  Failures failures;
  run_together(cg, two(), &failures);  // the second finds a task that waits for a value
  EXPECT_EQ(text_of(failures.at(0)), "");
  EXPECT_NE(text_of(failures.at(1)).find(want), std::string::npos);
  run_together(cg, two(), &failures);  // both find one that is over
  EXPECT_NE(text_of(failures.at(0)).find(want), std::string::npos);
  EXPECT_NE(text_of(failures.at(1)).find(want), std::string::npos);
  EXPECT_EQ(results, std::vector<int>{1 + 2 + 3 + 1});
  std::vector<Task<int>> again;
  again.push_back(std::move(shared));
  EXPECT_THROW(run_together(cg, std::move(again)), errors::UsageError);

  int alive = 0;
  int ended = 0;
  shared = failing(cg, 1, alive, ended);
  run_together(cg, two(), &failures);
  EXPECT_EQ(text_of(failures.at(0)), "at 1");
  run_together(cg, two(), &failures);  // without a result to give
  EXPECT_NE(text_of(failures.at(0)).find(want), std::string::npos);
  EXPECT_EQ(alive, 0);

  shared = Task<int>();
  run_together(cg, two(), &failures);
  EXPECT_NE(text_of(failures.at(0)).find("co_await: the task is empty"), std::string::npos);
}

TEST(Tasks, AGraphThatIsGone) {
  std::optional<ComputationGraph> cg(std::in_place);
  Failures failures;
  const std::vector<TaskStep> tasks{[&]() -> std::vector<Expression> {
    const Expression x = input(*cg, 1.0F);
    cg.reset();
    return {x};
  }};
  run_together(*cg, tasks, &failures);
  EXPECT_NE(text_of(failures.at(0)).find("destroyed"), std::string::npos);
}

}  // namespace
}  // namespace dynet
