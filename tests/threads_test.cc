// Many graphs in many threads on one model: forward and backward give the sums of the serial run,
// and nothing races (this program also runs under the thread sanitizer).

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/globals.h"
#include "dynet/lstm.h"

#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kExamples = 24;

struct Model {
  ParameterCollection collection;
  Parameter w, u, b;
  LookupParameter words;
  Model() {
    w = collection.add_parameters({6, 4}, ParameterInitUniform(0.5F));
    u = collection.add_parameters({6, 6}, ParameterInitUniform(0.5F));
    b = collection.add_parameters({6}, ParameterInitUniform(0.5F));
    words = collection.add_lookup_parameters(20, {4}, ParameterInitUniform(0.5F));
  }

  /// One example: a chain over a few words, with dropout of a stream of its own.
  float run(unsigned example, bool batching) {
    Random random(example);
    ComputationGraph cg(batching);
    cg.set_random_stream(1000 + example);
    Expression h = input(cg, {6}, std::vector<float>(6, 0.1F));
    std::vector<Expression> losses;
    const unsigned length = 3 + random.below(8);
    for (unsigned i = 0; i < length; ++i) {
      const Expression x = lookup(cg, words, random.below(20));
      h = tanh(affine_transform({parameter(cg, b), parameter(cg, w), x, parameter(cg, u), h}));
      losses.push_back(pickneglogsoftmax(dropout(h, 0.3F), random.below(6)));
    }
    const Expression loss = sum(losses);
    const float value = as_scalar(cg.forward(loss));
    cg.backward(loss);
    return value;
  }

  [[nodiscard]] std::vector<std::vector<double>> gradients() {
    return {numbers(w.get_storage().g), numbers(u.get_storage().g), numbers(b.get_storage().g),
            numbers(words.get_storage().all_grads)};
  }
};

void run_in_threads(const std::function<void(unsigned)>& work) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back(work, t);
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

TEST(Threads, SumsOfGradientsAreThoseOfTheSerialRun) {
  Model model;
  std::vector<float> losses(kExamples);
  for (unsigned e = 0; e < kExamples; ++e) {
    losses[e] = model.run(e, false);
  }
  const auto serial = model.gradients();
  for (int round = 0; round < 5; ++round) {
    model.collection.reset_gradient();
    std::vector<float> in_threads(kExamples);
    run_in_threads([&](unsigned t) {
      for (unsigned e = t; e < kExamples; e += kThreads) {
        in_threads[e] = model.run(e, true);
      }
    });
    for (unsigned e = 0; e < kExamples; ++e) {
      EXPECT_NEAR(in_threads[e], losses[e],
                  tolerance::kFloatAgainstDouble * std::max(1.0F, losses[e]));
    }
    const auto parallel = model.gradients();
    for (std::size_t i = 0; i < serial.size(); ++i) {
      EXPECT_EQ(compare(parallel[i], serial[i], tolerance::kFloatAgainstDouble), "");
    }
  }
}

TEST(Threads, BuildersShareOneModel) {
  ParameterCollection collection;
  VanillaLSTMBuilder lstm(1, 4, 5, collection);
  LookupParameter words = collection.add_lookup_parameters(10, {4});
  const auto example = [&](VanillaLSTMBuilder builder, unsigned e) {
    ComputationGraph cg;
    builder.new_graph(cg);
    builder.start_new_sequence();
    for (unsigned i = 0; i < 5; ++i) {
      builder.add_input(lookup(cg, words, (e + i) % 10));
    }
    const Expression loss = squared_norm(builder.back());
    cg.backward(loss);
  };
  for (unsigned e = 0; e < kExamples; ++e) {
    example(lstm, e);
  }
  const std::vector<double> serial = numbers(words.get_storage().all_grads);
  collection.reset_gradient();
  run_in_threads([&](unsigned t) {
    for (unsigned e = t; e < kExamples; e += kThreads) {
      example(lstm, e);
    }
  });
  EXPECT_EQ(compare(numbers(words.get_storage().all_grads), serial, tolerance::kFloatAgainstDouble),
            "");
}

TEST(Threads, GraphsMoveBetweenThreads) {
  ComputationGraph cg;
  Expression x = input(cg, 1.0F);
  for (int i = 0; i < 4; ++i) {
    std::thread([&] {
      x = x * 2.0F;
      EXPECT_EQ(as_scalar(x.value()), static_cast<float>(2 << i));
    }).join();
  }
}

TEST(Threads, GraphsAreMadeAndDestroyedEverywhere) {
  const int before = get_number_of_active_graphs();
  run_in_threads([](unsigned t) {
    for (unsigned i = 0; i < 200; ++i) {
      ComputationGraph cg(i % 2 == 0);
      const Expression x = input(cg, static_cast<float>(t));
      ASSERT_EQ(as_scalar((x + static_cast<float>(i)).value()), static_cast<float>(t + i));
      if (i % 3 == 0) {
        cg.clear();
        ASSERT_TRUE(x.is_stale());
      }
    }
  });
  EXPECT_EQ(get_number_of_active_graphs(), before);
}

/// An operation of the test's that stays in its forward until it is told to go on.
struct Waiting {
  static inline std::atomic<bool> inside{false};
  static inline std::atomic<bool> go_on{false};
  static constexpr ext::Info kInfo{.name = "waiting", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& call) const {
    inside = true;
    while (!go_on) {
      std::this_thread::yield();
    }
    call.kernels.move(ext::whole_move(call.in[0].size()), call.in[0], call.out[0]);
  }
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Waiting>> examples() { return {{{}, {{1}}}}; }
};

/// Graphs that come and go at ever new places hide no live graph, even if they are so many that the
/// table of live graphs is cleared of the dead ones again and again.
TEST(Threads, LiveGraphsAreFoundWhileOthersComeAndGo) {
  struct alignas(ComputationGraph) Room {
    std::byte bytes[sizeof(ComputationGraph)];
  };
  ComputationGraph cg;
  const Expression x = input(cg, 1.0F);
  std::atomic<bool> is_done{false};
  std::thread others([&] {
    std::vector<Room> rooms(3000);
    for (Room& room : rooms) {
      auto* graph = new (&room) ComputationGraph;
      const Expression mine = input(*graph, 2.0F);
      EXPECT_FALSE(mine.is_stale());
      graph->~ComputationGraph();
      EXPECT_TRUE(mine.is_stale());
    }
    is_done = true;
  });
  bool was_hidden = false;
  while (!is_done) {
    was_hidden = was_hidden || x.is_stale();
  }
  others.join();
  EXPECT_FALSE(was_hidden);
}

/// A second thread that enters a graph while the first computes gets an error.
TEST(Threads, TwoThreadsInOneGraph) {
  ComputationGraph cg;
  const Expression x = input(cg, 3.0F);
  const Expression y = ext::add_node(Waiting{}, x);
  std::thread first([&] { EXPECT_EQ(as_scalar(y.value()), 3.0F); });
  while (!Waiting::inside) {
    std::this_thread::yield();
  }
  EXPECT_THROW(static_cast<void>(x.value()), errors::GraphError);
  EXPECT_THROW(cg.forward(y), errors::GraphError);
  EXPECT_THROW(cg.backward(y), errors::GraphError);
  EXPECT_THROW(tanh(x), errors::GraphError);
  EXPECT_THROW(cg.clear(), errors::GraphError);
  EXPECT_THROW(cg.checkpoint(), errors::GraphError);
  EXPECT_THROW(cg.invalidate(), errors::GraphError);
  Waiting::go_on = true;
  first.join();
  EXPECT_EQ(as_scalar((y + 1.0F).value()), 4.0F);
}

/// The stream decides the numbers of a random node, whatever thread runs the graph.
TEST(Threads, RandomStreamMakesRunsRepeatable) {
  const auto draw = [](std::uint64_t stream) {
    ComputationGraph cg;
    cg.set_random_stream(stream);
    return as_vector(random_normal(cg, {16}).value());
  };
  std::vector<std::vector<float>> serial;
  for (unsigned s = 0; s < kExamples; ++s) {
    serial.push_back(draw(s));
  }
  EXPECT_NE(serial[0], serial[1]);
  std::vector<std::vector<float>> parallel(kExamples);
  run_in_threads([&](unsigned t) {
    for (unsigned s = t; s < kExamples; s += kThreads) {
      parallel[s] = draw(s);
    }
  });
  EXPECT_EQ(parallel, serial);
}

}  // namespace
}  // namespace dynet::testing
