// A call that fails, by a refused allocation or an interrupt, has drawn no random numbers: the
// program that repeats the call goes on with the numbers of a program without the failure.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/index-tensor.h"
#include "dynet/init.h"
#include "dynet/interrupt.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "support/refused_call.h"

namespace dynet::testing {
namespace {

using Program = std::function<Numbers()>;

/// Runs `program` again and again; each time another allocation of its calls is refused.
void expect_repeatable(const Program& program, long fewest) {
  const auto run = [&] {
    api::drop_resting_states();  // so that memory has to be taken anew
    reset_rng(7);
    return program();
  };
  FailingNew::arm(-1);
  const Numbers expected = run();
  const long all = FailingNew::count;
  EXPECT_GE(all, fewest);
  for (long n = 0; n < all && !::testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    FailingNew::arm(n);
    EXPECT_EQ(run().all, expected.all);
  }
}

/// Random nodes of all ways, computed, and computed anew.
Numbers evaluate(bool batching, bool is_immediate) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({4, 4}, ParameterInitConst(1.0F));
  const Parameter q = model.add_parameters({16, 4}, ParameterInitConst(0.5F));
  Numbers found;
  ComputationGraph graph(batching);
  graph.set_immediate_compute(is_immediate);
  Expression w;
  Expression gates;
  Expression x;
  Expression y;
  Expression drawn;
  Expression loss;
  call("parameter", [&] { w = parameter(graph, p); });
  call("parameter", [&] { gates = parameter(graph, q); });
  call("random_uniform", [&] { x = random_uniform(graph, {4}, 0.0F, 1.0F); });
  call("dropout", [&] { y = dropout(w * x, 0.5F); });
  call("noise", [&] { y = noise(y, 1.0F); });
  call("sample_categorical", [&] { drawn = sample_categorical(y); });
  Expression bias;
  call("zeros", [&] { bias = zeros(graph, {16}); });
  call("vanilla_lstm_gates", [&] { gates = vanilla_lstm_gates(x, y, gates, gates, bias, 1.0F); });
  call("dropout", [&] { x = dropout(y, 0.5F); });
  call("loss", [&] { loss = squared_norm(x) + squared_norm(gates) + squared_norm(drawn); });
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    call("forward", [&] { graph.forward(loss); });
    found.add(loss.value());
    found.add(x.value());
    call("backward", [&] { graph.backward(loss); });
    found.add(numbers(p.get_storage().g));
  }
  return found;
}

TEST(RepeatedDraws, OfGraphs) {
  for (const bool batching : {false, true}) {
    expect_repeatable([&] { return evaluate(batching, false); }, 40);
  }
}

/// A node that cannot be computed at once is repeated, too.
TEST(RepeatedDraws, OfGraphsThatComputeAtOnce) {
  expect_repeatable([] { return evaluate(true, true); }, 40);
}

/// First values of parameters, and a sample: both draw from the generator of the program.
Numbers initialise() {
  Numbers found;
  ParameterCollection model;
  const ParameterInitNormal normal;
  const ParameterInitGlorot glorot;
  const ParameterInitSaxe saxe;
  for (const ParameterInit* init :
       std::initializer_list<const ParameterInit*>{&normal, &glorot, &saxe}) {
    Parameter p;
    call("add_parameters", [&] { p = model.add_parameters({5, 5}, *init, "p"); });
    found.add(numbers(p.get_storage().values));
  }
  LookupParameter table;
  call("add_lookup_parameters", [&] { table = model.add_lookup_parameters(3, {5}); });
  found.add(numbers(table.get_storage().all_values));
  IndexTensor drawn;
  call("categorical_sample",
       [&] { drawn = TensorTools::categorical_sample_log_prob(table.get_storage().all_values); });
  for (const auto i : as_vector(drawn)) {
    found.add(static_cast<double>(i));
  }
  found.add(static_cast<double>(rand01()));
  return found;
}

TEST(RepeatedDraws, OfTheGenerator) { expect_repeatable(initialise, 20); }

// ---- interrupts

struct Stop {};

/// Throws when it is asked for the `at`-th time.
struct Asked {
  int at = 0;
  int times = 0;
  static void check(void* of) {
    auto& asked = *static_cast<Asked*>(of);
    if (++asked.times == asked.at) {
      throw Stop();
    }
  }
};

/// Makes the call, interrupts it when it asks for the `at`-th time, and then repeats it.
template <class F>
int call_interrupted(int at, F f) {
  Asked asked{at};
  const InterruptScope scope(&Asked::check, &asked, std::chrono::milliseconds(0));
  try {
    f();
  } catch (const Stop&) {
    f();
  }
  return asked.times;
}

template <class F>
void expect_same_after_interrupts(F program) {
  int asked = 0;
  const std::vector<double> expected = program(0, asked).all;
  ASSERT_GT(asked, 2);
  for (int at = 1; at <= asked; at += 1 + asked / 7) {
    int again = 0;
    EXPECT_EQ(program(at, again).all, expected) << "interrupt " << at;
  }
}

TEST(RepeatedDraws, OfAnInterruptedForward) {
  expect_same_after_interrupts([](int at, int& asked) {
    reset_rng(7);
    ComputationGraph graph(false);
    Expression x = ones(graph, {300, 300});
    for (int i = 0; i < 20; ++i) {
      x = dropout(x, 0.1F);
    }
    asked = call_interrupted(at, [&] { graph.forward(x); });
    Numbers found;
    found.add(x.value());
    return found;
  });
}

TEST(RepeatedDraws, OfAnInterruptedInitialiser) {
  expect_same_after_interrupts([](int at, int& asked) {
    reset_rng(7);
    ParameterCollection model;
    Parameter p;
    asked = call_interrupted(at, [&] { p = model.add_parameters({1000, 1000}); });
    Numbers found;
    found.add(numbers(p.get_storage().values));
    found.add(static_cast<double>(rand01()));
    EXPECT_EQ(p.get_fullname(), "/_0");
    return found;
  });
}

// ---- updates

/// A schedule of a program's own that fails once.
class FailingSchedule final : public trainers::Schedule {
 public:
  [[nodiscard]] double rate(std::uint64_t done) const override {
    if (done == 1 && !std::exchange(has_failed_, true)) {
      throw Stop();
    }
    return 1.0 / static_cast<double>(done + 1);
  }
  [[nodiscard]] const char* name() const override { return "FailingSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override { return {}; }

 private:
  mutable bool has_failed_ = false;
};

TEST(RepeatedDraws, AnUpdateWhoseScheduleFails) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(1.0F));
  AdamTrainer trainer(model);
  trainer.clip_threshold = 0.01F;
  trainer.set_schedule(std::make_shared<FailingSchedule>());
  ComputationGraph graph;
  graph.backward(squared_norm(parameter(graph, p)));
  EXPECT_THROW(trainer.update(), Stop);
  EXPECT_EQ(numbers(*p.values()), std::vector<double>{1.0});
  EXPECT_EQ(trainer.updates, 0.0F);
  EXPECT_EQ(trainer.clips, 0.0F);
  EXPECT_EQ(model.gradient_l2_norm(), 2.0F);
  EXPECT_EQ(trainer.learning_rate, 1.0F);
  trainer.update();
  EXPECT_EQ(trainer.updates, 1.0F);
  EXPECT_EQ(trainer.learning_rate, 0.5F);
  EXPECT_LT(numbers(*p.values())[0], 1.0);
}

}  // namespace
}  // namespace dynet::testing
