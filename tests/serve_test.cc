// A server of requests: answers, models that are replaced, memory, threads and processes. The ends
// of requests are in serve_ends_test.cc.

#include "dynet/serve.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/inference.h"

#include "execute/lifetimes.h"
#include "support/observe.h"
#include "support/served.h"
#include "testing/sanitized.h"

namespace dynet {
namespace {

using testing::error_of;
using testing::Gate;
using testing::got;
using testing::read;
using testing::Reader;
using testing::Reading;
using testing::reading_of;
using testing::until;
using testing::until_idle;
using Model = testing::ServedModel;
using std::chrono::milliseconds;

// ---- answers

TEST(Serve, AnswersAreThoseOfOneRequestAfterTheOther) {
  Model model;
  RequestServer<Reader> server(model.reader);
  std::vector<Answer<Reading>> answers;
  answers.reserve(200);
  for (unsigned first = 0; first < 200; ++first) {
    answers.push_back(server.submit(reading_of(first)));
  }
  unsigned lengths = 0;
  for (unsigned first = 0; first < 200; ++first) {
    const Reading served = got(answers[first]);
    const Reading alone = model.alone(first);
    EXPECT_EQ(served.steps, alone.steps) << first;
    EXPECT_NEAR(served.score, alone.score, tolerance::kFloatAgainstDouble) << first;
    lengths |= 1U << served.steps;
  }
  EXPECT_NE(lengths & (lengths - 1), 0U) << "requests differ in length";
  EXPECT_EQ(until_idle(server).finished, 200U);
}

struct Groups final : execute::Hook {
  void after_plan(const std::vector<graph::NodeId>& /*nodes*/,
                  const schedule::Plan& plan) override {
    groups.push_back(plan.groups.size());
  }
  std::vector<std::size_t> groups;
};

TEST(Serve, ARoundIsOnePlanOfTheGroupsOfRunTogether) {
  Model model;
  Groups together;
  {
    const InferenceScope no_gradients;
    ComputationGraph cg;
    testing::observe(cg, &together);
    model.reader.new_graph(cg);
    std::vector<Task<Reading>> tasks;
    tasks.reserve(32);
    for (unsigned i = 0; i < 32; ++i) {
      tasks.push_back(read(cg, model.reader, i, 1));
    }
    run_together(cg, std::move(tasks));
  }
  ASSERT_EQ(together.groups.size(), 1U);
  EXPECT_LT(together.groups[0], 32U);
  Groups groups;
  Gate gate;
  {
    RequestServer<Reader> server(model.reader);
    auto first = server.submit([&](ComputationGraph& cg, Reader& /*reader*/) {
      testing::observe(cg, &groups);
      gate.pass();
    });
    gate.await_one();
    std::vector<Answer<Reading>> answers;
    answers.reserve(32);
    for (unsigned i = 0; i < 32; ++i) {
      answers.push_back(server.submit(reading_of(i, 1)));
    }
    gate.open();
    for (auto& answer : answers) {
      got(answer);
    }
    const ServeCounts counts = until_idle(server);
    EXPECT_EQ(counts.rounds, 1U);
    EXPECT_EQ(counts.plans, 1U);
    EXPECT_EQ(counts.most_running, 32U);
  }
  EXPECT_EQ(groups.groups, together.groups);
}

TEST(Serve, SmallQuestionsGoAheadOfLargeOnesForSomeRounds) {
  Model const model;
  RequestServer<Reader> server(model.reader);
  Gate gate;
  auto first = server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { gate.pass(); });
  gate.await_one();
  unsigned small_rounds = 0;
  auto small = server.submit([&](ComputationGraph& cg, Reader& /*reader*/) -> Task<> {
    for (; small_rounds < 20; ++small_rounds) {
      co_await value(input(cg, 1.0F));
    }
  });
  auto large = server.submit([&](ComputationGraph& cg, Reader& /*reader*/) -> Task<unsigned> {
    Expression x = input(cg, 1.0F);
    for (unsigned i = 0; i < 100; ++i) {
      x = tanh(x);
    }
    co_await value(x);
    co_return small_rounds;
  });
  gate.open();
  EXPECT_EQ(got(large), 8U);
  got(small);
  EXPECT_EQ(until_idle(server).rounds, 20U);
}

TEST(Serve, RequestsJoinWhileOthersRun) {
  Model const model;
  RequestServer<Reader> server(model.reader);
  std::atomic<bool> has_joined = false;
  auto waits = server.submit([&](ComputationGraph& cg, Reader& /*reader*/) -> Task<int> {
    int rounds = 0;
    while (!has_joined) {
      co_await value(input(cg, 1.0F));
      ++rounds;
    }
    co_return rounds;
  });
  until([&] { return server.counts().rounds >= 3; });
  got(server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { has_joined = true; }));
  EXPECT_GE(got(waits), 3);
}

TEST(Serve, RequestsMayBeFunctionsOfAllForms) {
  Model model;
  RequestServer<Reader> server(model.reader);
  auto number = server.submit([](ComputationGraph& cg, Reader& reader) {
    return as_scalar((reader.o * lookup(cg, reader.letters, 2U)).value());
  });
  float stepped = 0;
  auto step = server.submit([&](ComputationGraph& cg, Reader& reader) -> TaskStep {
    return [&cg, &reader, &stepped, asked = Expression()]() mutable -> std::vector<Expression> {
      if (asked.pg != nullptr) {
        stepped = as_scalar(asked.value());
        return {};
      }
      asked = reader.o * lookup(cg, reader.letters, 2U);
      return {asked};
    };
  });
  auto text = server.submit([](ComputationGraph& cg, Reader& reader) -> Task<std::string> {
    const Reading inner = co_await read(cg, reader, 4, 3);
    co_return std::to_string(inner.steps);
  });
  got(step);
  EXPECT_EQ(got(number), stepped);
  EXPECT_EQ(got(text), std::to_string(model.alone(4, 3).steps));
  auto none =
      server.submit([](ComputationGraph& /*cg*/, Reader& /*reader*/) { return TaskStep(); });
  EXPECT_EQ(
      error_of([&] { got(none); }),
      "RequestServer: the task of the request is empty; want a coroutine or a function that has "
      "not run yet");
}

TEST(Serve, RequestsRunWithoutDropoutAndGradients) {
  Model const model;
  RequestServer<Reader> server(model.reader);
  auto is_on = server.submit([](ComputationGraph& /*cg*/, Reader& /*reader*/) {
    return Evaluating::is_on() && execute::is_in_inference_scope();
  });
  EXPECT_TRUE(got(is_on));
}

// ---- models

TEST(Serve, RequestsEndWithTheModelWithWhichTheyBegan) {
  Model old_model;
  Model new_model;
  testing::draw_values(new_model.m, 0.3);
  RequestServer<Reader> server(old_model.reader);
  std::atomic<bool> may_end = false;
  const auto score_twice = [&](ComputationGraph& cg,
                               Reader& reader) -> Task<std::pair<float, float>> {
    const float first = as_scalar(co_await value(reader.o * lookup(cg, reader.letters, 1U)));
    while (!may_end) {
      co_await value(input(cg, 1.0F));
    }
    co_return std::pair(first,
                        as_scalar(co_await value(reader.o * lookup(cg, reader.letters, 1U))));
  };
  const auto score_of = [](Model& model) {
    ComputationGraph cg;
    return as_scalar(
        (parameter(cg, model.reader.out) * lookup(cg, model.reader.letters, 1U)).value());
  };
  auto before = server.submit(score_twice);
  until([&] { return server.counts().rounds != 0; });
  server.replace(new_model.reader);
  auto after = server.submit(reading_of(5));
  EXPECT_EQ(got(after).score, new_model.alone(5).score);
  EXPECT_FALSE(before.wait_for(milliseconds(0)));
  may_end = true;
  const auto [first, last] = got(before);
  EXPECT_EQ(first, score_of(old_model));
  EXPECT_EQ(last, score_of(old_model));
  EXPECT_NE(last, score_of(new_model));
}

/// Counts its copies, and fails if it is told to.
struct Counted {
  std::shared_ptr<int> living;
  bool is_broken = false;
  void new_graph(ComputationGraph& /*cg*/) const {
    if (is_broken) {
      throw std::runtime_error("no such file");
    }
  }
};

TEST(Serve, AReplacedModelIsGivenBackAndABrokenOneRefused) {
  const auto living = std::make_shared<int>(0);
  EXPECT_EQ(error_of([&] { const RequestServer<Counted> server(Counted{living, true}); }),
            "no such file");
  RequestServer<Counted> server(Counted{living});
  got(server.submit([](ComputationGraph& /*cg*/, Counted& /*model*/) {}));
  EXPECT_GT(living.use_count(), 1);
  EXPECT_EQ(error_of([&] { server.replace(Counted{living, true}); }), "no such file");
  got(server.submit([](ComputationGraph& /*cg*/, Counted& /*model*/) {}));
  server.replace(Counted{nullptr});
  until([&] { return living.use_count() == 1; });  // an idle server lets go of it, too
}

// ---- memory

TEST(Serve, MemoryIsFlat) {
  constexpr unsigned kRequests = testing::trials(100'000U, 3000U);
  Model const model;
  ServeOptions options;
  options.max_nodes = 2000;
  options.max_running = 32;
  RequestServer<Reader> server(model.reader, options);
  // There is never a moment without a request, so that no quiet point helps.
  std::atomic<bool> is_over = false;
  struct Stay {
    RequestServer<Reader>& server;
    std::atomic<bool>& is_over;
    Task<> operator()(ComputationGraph& cg, Reader& /*reader*/) const {
      for (unsigned i = 0; i < 50; ++i) {
        if (i == 25 && !is_over) {
          server.submit(*this);
        }
        co_await value(input(cg, 1.0F));
      }
    }
  };
  server.submit(Stay{server, is_over});
  std::vector<std::size_t> bytes;
  std::vector<Answer<Reading>> answers;
  for (unsigned i = 0; i < kRequests; ++i) {
    answers.push_back(server.submit(reading_of(i, 3)));
    if (answers.size() == 100) {
      for (auto& answer : answers) {
        got(answer);
      }
      answers.clear();
    }
    if (i == kRequests / 10 || i + 1 == kRequests) {
      const struct mallinfo2 heap = mallinfo2();
      bytes.push_back(heap.uordblks + heap.hblkhd);
    }
  }
  is_over = true;
  const ServeCounts counts = until_idle(server);
  EXPECT_EQ(counts.finished + counts.failed, counts.accepted);
  EXPECT_GT(counts.graphs, kRequests / 500);
  // Two graphs, each with the nodes of the requests that began before it was full.
  EXPECT_LT(counts.most_nodes, 2 * (options.max_nodes + options.max_running * 60));
  EXPECT_LT(bytes[1], bytes[0] + (std::size_t{1} << 20));
}

TEST(Serve, NothingBeginsWhileBothGraphsAreFull) {
  Model model;
  ServeOptions options;
  options.max_nodes = 100;
  RequestServer<Reader> server(model.reader, options);
  std::atomic<bool> may_end = false;
  const auto fill = [&](ComputationGraph& cg, Reader& /*reader*/) -> Task<float> {
    Expression x = input(cg, 7.0F);
    for (std::size_t i = 0; i < options.max_nodes; ++i) {
      x = x + 1.0F;
    }
    while (!may_end) {
      co_await value(input(cg, 1.0F));
    }
    co_return as_scalar(co_await value(x));
  };
  auto first = server.submit(fill);
  auto second = server.submit(fill);
  std::vector<Answer<Reading>> answers;
  answers.reserve(8);
  for (unsigned i = 0; i < 8; ++i) {
    answers.push_back(server.submit(reading_of(i)));
  }
  until([&] { return server.counts().rounds >= 5; });
  const ServeCounts counts = server.counts();
  EXPECT_EQ(counts.graphs, 2U);
  EXPECT_EQ(counts.running, 2U);
  EXPECT_EQ(counts.waiting, 8U);
  may_end = true;
  EXPECT_EQ(got(first), 107.0F);
  EXPECT_EQ(got(second), 107.0F);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(got(answers[i]).steps, model.alone(i).steps);
  }
}

// ---- threads and processes

/// Counts of all threads of a test.
struct Tally {
  std::atomic<unsigned> wrong = 0;
  std::atomic<unsigned> answered = 0;
};

/// Asks for the reading of one letter; every seventh is given up. A full server refuses.
void submit_one(RequestServer<Reader>& server, unsigned letter, const std::vector<Reading>& alone,
                Tally& tally) {
  try {
    auto answer = server.submit(reading_of(letter));
    if (letter % 7 == 0) {
      answer.cancel();
    }
    tally.wrong += got(answer).steps != alone[letter % Reader::kLetters].steps ? 1 : 0;
    ++tally.answered;
  } catch (const errors::OverloadError&) {
    std::this_thread::yield();
  } catch (const errors::CancelledError&) {
    ++tally.answered;
  }
}

TEST(Serve, ManyThreadsSubmit) {
  Model model;
  std::vector<Reading> alone;
  alone.reserve(Reader::kLetters);
  for (unsigned i = 0; i < Reader::kLetters; ++i) {
    alone.push_back(model.alone(i));
  }
  ServeOptions options;
  options.max_nodes = 3000;
  options.max_queue = 50;
  RequestServer<Reader> server(model.reader, options);
  Tally tally;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        submit_one(server, t + i, alone, tally);
        if (i == 50 && t == 0) {
          server.replace(model.reader);
        }
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(tally.wrong, 0U);
  const ServeCounts counts = until_idle(server);
  EXPECT_EQ(counts.finished + counts.cancelled, tally.answered);
  EXPECT_EQ(counts.accepted + counts.refused, 800U);
}

TEST(Serve, AChildProcessHasNoServer) {
  Model model;
  auto server = std::make_unique<RequestServer<Reader>>(model.reader);
  EXPECT_GT(got(server->submit(reading_of(1))).steps, 0U);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string told = error_of([&] { server->submit(reading_of(1)); });
    server.reset();  // hangs if it waits for the thread
    RequestServer<Reader> own(model.reader);
    const bool is_right =
        got(own.submit(reading_of(1))).steps == model.alone(1).steps &&
        told ==
            "RequestServer: this process is a child of the process of the server; want a server of "
            "its own";
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_GT(got(server->submit(reading_of(2))).steps, 0U);
}

}  // namespace
}  // namespace dynet
