// Gradients of workers: against one process, for any number of workers, with all that a model may
// have.
#include "dynet/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "dynet/evaluating.h"
#include "dynet/training.h"

#include "kernels/team.h"
#include "params/shared_memory.h"
#include "testing/errors.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"
#include "worker_test_model.h"

#ifdef DYNET_THREADS_SANITIZED
#error "the thread sanitizer does not follow a fork"
#endif

namespace dynet {
namespace {

using testing::minibatch;
using testing::SmallModel;
using testing::Started;

/// Numbers that workers note and the parent takes.
class Notes {
 public:
  void note(double number) { shared_->numbers[shared_->count++] = number; }
  std::multiset<double> take() {
    const unsigned count = shared_->count.exchange(0);
    return {shared_->numbers, shared_->numbers + count};
  }

 private:
  struct Shared {
    std::atomic<unsigned> count;
    double numbers[64];
  };
  Shared* const shared_ =
      static_cast<Shared*>(params::shared_memory().allocate(sizeof(Shared), ext::Contents::kZeros));
};

constexpr unsigned kSteps = 8;

/// The values after some updates with Adam, and the loss.
std::pair<std::vector<float>, double> train(WorkerOptions options, float dropout = 0.0F) {
  const Started library;
  const SmallModel model(dropout);
  ParameterCollection parameters = model.parameters;
  AdamTrainer trainer(parameters, 0.02F);
  WorkerPool pool(parameters, model, options);
  double loss = 0;
  for (unsigned step = 0; step < kSteps; ++step) {
    loss += pool.learn(minibatch(step));
    trainer.update();
  }
  return {model.values(), loss + pool.evaluate(minibatch(0, 40))};
}

TEST(Workers, NumbersDoNotDependOnTheirNumber) {
  const auto one = train({1});
  for (const unsigned workers : {2U, 3U, 4U}) {
    const auto several = train({workers});
    EXPECT_EQ(several.first, one.first) << workers << " workers";
    EXPECT_EQ(several.second, one.second) << workers << " workers";
  }
  const WorkerOptions six{6, 4};
  EXPECT_EQ(train(six).first, one.first);
  EXPECT_NE(train({2, 3}).first, one.first);  // other pieces, other rounding
}

TEST(Workers, RandomNumbersDoNotDependOnTheirNumber) {
  const auto one = train({1}, 0.3F);
  EXPECT_EQ(train({3}, 0.3F), one);
  EXPECT_EQ(train({1}, 0.3F), one);
  EXPECT_NE(train({1}, 0.0F).first, one.first);
}

TEST(Workers, EvaluateHasNoDropout) {
  const Started library;
  const SmallModel model(0.5F);
  SmallModel plain = model;  // the same parameters
  plain.dropout = 0.0F;
  const std::vector<unsigned> all = minibatch(0, 40);
  WorkerPool pool(model.parameters, model, {2});
  const double loss = pool.evaluate(all);
  EXPECT_EQ(pool.evaluate(all), loss);
  EXPECT_EQ(WorkerPool(model.parameters, plain, {2}).evaluate(all), loss);
  EXPECT_NE(pool.learn(minibatch(0)), pool.learn(minibatch(0)));
  EXPECT_EQ(pool.evaluate(all), loss);
}

/// The fork copies the scopes of the thread that makes the pool.
TEST(Workers, LearnWithDropoutWhereverThePoolIsMade) {
  const auto learn = [](bool in_scope) {
    const Started library;
    const SmallModel model(0.5F);
    std::unique_ptr<Evaluating> scope;
    if (in_scope) {
      scope = std::make_unique<Evaluating>();
    }
    WorkerPool pool(model.parameters, model, {2});
    const double loss = pool.learn(minibatch(0));
    EXPECT_NE(pool.learn(minibatch(0)), loss);
    return loss;
  };
  EXPECT_EQ(learn(true), learn(false));
}

/// There is no backward here, but its gradients come.
TEST(Workers, AnUpdateOfWhatTheyLeftIsNotWarnedOf) {
  std::string told;
  set_log_sink([&](const std::string& text) { told += text; });
  train({2});
  set_log_sink(nullptr);
  EXPECT_EQ(told.find("warning"), std::string::npos) << told;
}

/// A graph that a worker keeps over an update of its parent.
TEST(Workers, BackwardOverValuesOfBeforeAnUpdateIsRefused) {
  const Started library;
  const SmallModel model;
  ParameterCollection parameters = model.parameters;
  SimpleSGDTrainer trainer(parameters, 0.1F);
  std::unique_ptr<ComputationGraph> graph;  // the worker's
  Expression loss;
  const workers::Work work = [&](const workers::Piece& piece) {
    if (graph == nullptr) {
      graph = std::make_unique<ComputationGraph>();
      loss = model(*graph, {1, 2});
    }
    graph->backward(loss);
    *static_cast<double*>(piece.result) = 0.0;
  };
  WorkerPool pool(parameters, work, {1}, {});
  pool.learn({0});
  pool.learn({0});
  trainer.update();
  const std::string text = testing::text_of_error<errors::WorkerError>([&] { pool.learn({0}); });
  EXPECT_NE(text.find("was changed (another process)"), std::string::npos) << text;
}

/// The same updates with one graph a minibatch, in double.
TEST(Workers, UpdatesAreThoseOfOneProcess) {
  for (const auto gradient : {WorkerGradient::kMean, WorkerGradient::kSum}) {
    const Started library("CPU:double");
    const SmallModel alone;
    rndeng->seed(5);
    const SmallModel shared;
    ParameterCollection parameters = alone.parameters;
    ParameterCollection shared_parameters = shared.parameters;
    for (std::size_t i = 0; i < parameters.parameters_list().size(); ++i) {
      shared_parameters.parameters_list()[i]->copy(*parameters.parameters_list()[i]);
    }
    shared.words.p->copy(*alone.words.p);
    AdamTrainer trainer(parameters, 0.02F);
    AdamTrainer shared_trainer(shared_parameters, 0.02F);
    WorkerPool pool(shared_parameters, shared, {3, 5, gradient});
    for (unsigned step = 0; step < kSteps; ++step) {
      const std::vector<unsigned> examples = minibatch(step, step == 3 ? 2 : 11);
      ComputationGraph cg;
      const Expression loss = alone(cg, examples);
      const auto value = static_cast<double>(as_scalar(loss.value()));
      cg.backward(gradient == WorkerGradient::kMean ? loss / static_cast<float>(examples.size())
                                                    : loss);
      trainer.update();
      EXPECT_NEAR(pool.learn(examples), value, value * tolerance::kThroughFloat);
      shared_trainer.update();
    }
    const std::vector<float> want = alone.values();
    const std::vector<float> got = shared.values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], tolerance::kTrainedInDouble) << "number " << i;
    }
  }
}

TEST(Workers, LossesAreAddedInOrder) {
  const Started library;
  const SmallModel model;
  WorkerPool pool(model.parameters, model, {2});
  EXPECT_EQ(pool.learn({}), 0.0);
  EXPECT_EQ(pool.evaluate({}), 0.0);
  const std::vector<unsigned> examples = minibatch(1, 47);
  double want = 0;
  for (std::size_t i = 0; i < 3; ++i) {  // pieces of at most 16
    ComputationGraph cg;
    const std::vector<unsigned> piece(
        examples.begin() + static_cast<std::ptrdiff_t>(47 * i / 3),
        examples.begin() + static_cast<std::ptrdiff_t>(47 * (i + 1) / 3));
    want += static_cast<double>(as_scalar(model(cg, piece).value()));
  }
  EXPECT_EQ(pool.evaluate(examples), want);
  EXPECT_EQ(model.parameters.gradient_l2_norm(), 0.0F);
}

/// Pieces of equal cost: each is computed in a graph of its own, and no loss is missing.
TEST(Workers, PiecesAreCutByCost) {
  const Started library("CPU:double");
  const SmallModel model;
  Notes sizes;
  const auto loss = [&](ComputationGraph& cg, const std::vector<unsigned>& examples) {
    if (!std::is_sorted(examples.begin(), examples.end())) {
      throw errors::UsageError("a piece changed the order of its examples");
    }
    double cost = 0;
    for (const unsigned n : examples) {
      cost += n;
    }
    sizes.note(cost);
    return model(cg, examples);
  };
  WorkerPool pool(model.parameters, loss, {2, 3, WorkerGradient::kSum});
  const std::vector<unsigned> examples = {1, 2, 3, 4, 5, 6, 21};
  const double want = pool.learn(examples);
  const float norm = model.parameters.gradient_l2_norm();
  ParameterCollection(model.parameters).reset_gradient();
  EXPECT_EQ(sizes.take(), (std::multiset<double>{3, 7, 32}));  // {1,2} {3,4} {5,6,21}
  EXPECT_NEAR(pool.learn(examples, {1, 2, 3, 4, 5, 6, 21}), want, tolerance::kThroughFloat);
  EXPECT_EQ(sizes.take(), (std::multiset<double>{10, 11, 21}));
  EXPECT_NEAR(model.parameters.gradient_l2_norm(), norm, norm * tolerance::kThroughFloat);
  EXPECT_NEAR(pool.learn(examples, std::vector<double>(7, 0.0)), want, tolerance::kThroughFloat);
  EXPECT_EQ(sizes.take().size(), 3U);  // none is empty
  EXPECT_THROW(pool.learn(examples, {1, 2}), errors::ValueError);
  EXPECT_THROW(pool.learn({1, 2}, {1, -1}), errors::ValueError);
}

TEST(Workers, AScoreTakesThePlaceOfLosses) {
  const Started library;
  const SmallModel model;
  WorkerPool pool(model.parameters, model, {2}, [](const std::vector<unsigned>& examples) {
    return static_cast<double>(examples.size()) / 2;
  });
  EXPECT_EQ(pool.evaluate(minibatch(0, 101)), 50.5);
}

/// A gradient that is there already stays part of the sum, dense and of rows.
TEST(Workers, GradientsAreAddedToTheModels) {
  const Started library("CPU:double");
  const SmallModel model;
  WorkerPool pool(model.parameters, model, {2, 3, WorkerGradient::kSum});
  const auto gradients = [&] {
    std::vector<float> all = as_vector(model.words.p->all_grads);
    for (const Parameter& p : {model.hidden, model.bias, model.scores}) {
      const std::vector<float> some = as_vector(*p.gradients());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  ComputationGraph cg;
  cg.backward(model(cg, {1, 2, 3, 4, 5, 6}) + model(cg, {3, 4}));
  model.words.get_storage();
  const std::vector<float> want = gradients();
  ParameterCollection(model.parameters).reset_gradient();
  cg.backward(model(cg, {1, 2}));
  pool.learn({3, 4, 5, 6});
  pool.learn({3, 4});
  model.words.get_storage();
  const std::vector<float> got = gradients();
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance::kThroughFloat) << "number " << i;
  }
}

/// Settings of parameters in the parent reach the workers.
TEST(Workers, FrozenParametersAndDecayAreKnownToWorkers) {
  const auto values = [](bool with_workers, LookupUpdates how) {
    const Started library("CPU:double");
    const SmallModel model(0.0F, 0.01F);
    ParameterCollection parameters = model.parameters;
    AdamTrainer trainer(parameters, 0.02F);
    trainer.set_lookup_updates(how);
    Parameter hidden = model.hidden;
    WorkerPool pool(parameters, model, {2, 2, WorkerGradient::kSum});
    for (unsigned step = 0; step < kSteps; ++step) {
      hidden.set_updated(step < 3);
      if (with_workers) {
        pool.learn(minibatch(step, 4));
      } else {
        ComputationGraph cg;
        cg.backward(model(cg, minibatch(step, 4)));
      }
      trainer.update();
    }
    trainer.rescale_and_reset_weight_decay();
    return model.values();
  };
  for (const LookupUpdates how :
       {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
    const std::vector<float> want = values(false, how);
    const std::vector<float> got = values(true, how);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], tolerance::kTrainedInDouble) << "number " << i;
    }
  }
}

/// A table that is used as a whole, and parameters that a program has looked into.
TEST(Workers, WholeTablesAndExposedGradients) {
  const Started library("CPU:double");
  const SmallModel model;
  model.hidden.get_storage();
  model.words.get_storage();
  const auto loss = [&model](ComputationGraph& cg, const std::vector<unsigned>& examples) {
    Expression all = model(cg, examples);
    for (const unsigned n : examples) {
      all = n % 2 == 0 ? all + sum_elems(square(parameter(cg, model.words))) : all;
    }
    return all;
  };
  WorkerPool pool(model.parameters, loss, {2, 3, WorkerGradient::kSum});
  for (const auto& examples : {minibatch(0, 6), std::vector<unsigned>{1, 3, 5}}) {
    ParameterCollection parameters = model.parameters;
    ComputationGraph cg;
    cg.backward(loss(cg, examples));
    const float want = parameters.gradient_l2_norm();
    const std::vector<float> rows = as_vector(model.words.p->all_grads);
    parameters.reset_gradient();
    pool.learn(examples);
    EXPECT_NEAR(parameters.gradient_l2_norm(), want, want * tolerance::kThroughFloat);
    const std::vector<float> got = as_vector(model.words.p->all_grads);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_NEAR(got[i], rows[i], tolerance::kThroughFloat) << "number " << i;
    }
    parameters.reset_gradient();
  }
}

/// Each piece has its own random numbers, for graphs and from `rndeng`, and again the same ones.
TEST(Workers, RandomNumbersOfPieces) {
  const auto draw = [] {
    const Started library;
    const SmallModel model;
    workers::Crew crew(model.parameters,
                       [](const workers::Piece& piece) {
                         ComputationGraph cg;
                         const float drawn[2] = {as_scalar(random_normal(cg, {1}).value()),
                                                 static_cast<float>((*rndeng)())};
                         std::memcpy(piece.result, drawn, sizeof drawn);
                       },
                       2 * sizeof(float), 1, {3});
    std::vector<unsigned> examples(50);
    std::vector<float> all;
    for (int call = 0; call < 4; ++call) {
      const std::byte* results = crew.run({examples.data(), 50, 50, false, 1.0});
      for (std::size_t i = 0; i < 50; ++i) {
        float drawn[2];
        std::memcpy(drawn, results + i * crew.result_stride(), sizeof drawn);
        all.insert(all.end(), drawn, drawn + 2);
      }
    }
    return all;
  };
  const std::vector<float> first = draw();
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size(), first.size());
  EXPECT_EQ(draw(), first);
}

TEST(Workers, GraphsAndThreadsAtTheFork) {
  const Started library;
  const SmallModel model;
  const SmallModel other;
  ComputationGraph cg;
  const Expression alive = model(cg, {1, 2, 3});
  const float before = as_scalar(alive.value());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&is_over, &other, t] {
      while (!is_over) {
        ComputationGraph own;
        own.backward(other(own, minibatch(t)));
      }
    });
  }
  double total = 0;
  for (int round = 0; round < 10; ++round) {
    WorkerPool pool(model.parameters, model, {2});
    total += pool.learn({1, 2, 3});
  }
  is_over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(as_scalar(cg.forward(alive)), before);
  EXPECT_NEAR(total, 10.0 * static_cast<double>(before), tolerance::kFloatAgainstDouble);
}

::testing::AssertionResult has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                              : ::testing::AssertionFailure() << text;
}

TEST(Workers, WhatIsRefused) {
  {
    const Started library("CPU", false);
    const SmallModel model;
    EXPECT_TRUE(has(testing::text_of_error<errors::UsageError>(
                        [&] { WorkerPool(model.parameters, model, {2}); }),
                    "is not in memory that processes share; want initialize(argc, argv, true)"));
  }
  const Started library;
  const SmallModel model;
  const auto make = [&](const WorkerOptions& options) {
    return testing::text_of_error<errors::ValueError>(
        [&] { WorkerPool(model.parameters, model, options); });
  };
  EXPECT_TRUE(has(make({0}), "0 workers; want 1 to 1024"));
  EXPECT_TRUE(has(make({2, 1025}), "1025 pieces; want 1 to 1024"));
  EXPECT_TRUE(has(make({2, 0, WorkerGradient::kMean, -1}), "patience of -1"));
  WorkerPool pool(model.parameters, model, {2});
  EXPECT_EQ(pool.pids().size(), 2U);
  ParameterCollection(model.parameters).add_parameters({2});
  EXPECT_TRUE(has(testing::text_of_error<errors::UsageError>([&] { pool.learn({1}); }),
                  "parameters were added"));
  pool.close();
  pool.close();
  EXPECT_TRUE(pool.pids().empty());
  EXPECT_TRUE(has(testing::text_of_error<errors::UsageError>([&] { pool.learn({1}); }),
                  "none any more, it was closed"));
}

/// A pool has no threads of its own, and its processes compute on one thread each.
TEST(Workers, ThreadsOfAPool) {
  const Started library;
  const SmallModel model;
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  set_threads(1);
  const auto before = threads();
  WorkerPool alone(model.parameters, model, {2});
  alone.learn({1, 2});
  EXPECT_EQ(threads(), before);
  alone.close();
  set_threads(0);
  WorkerPool pool(model.parameters, model, {2}, [](const std::vector<unsigned>& /*examples*/) {
    return static_cast<double>(get_threads());
  });
  EXPECT_EQ(pool.evaluate({1}), 1.0);
  EXPECT_EQ(get_threads(), kernels::usable_processors());
}

TEST(Workers, OneCallAtATime) {
  const Started library;
  const SmallModel model;
  WorkerPool pool(model.parameters, model, {1}, [](const std::vector<unsigned>& /*examples*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return 1.0;
  });
  std::thread first([&pool] { EXPECT_EQ(pool.evaluate({1}), 1.0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(has(testing::text_of_error<errors::UsageError>([&] { pool.evaluate({1}); }),
                  "another thread"));
  EXPECT_TRUE(
      has(testing::text_of_error<errors::UsageError>([&] { pool.close(); }), "close() after it"));
  first.join();
  EXPECT_EQ(pool.evaluate({1, 2}), 1.0);
  pool.close();
  EXPECT_TRUE(pool.pids().empty());
}

}  // namespace
}  // namespace dynet
