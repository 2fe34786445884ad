// How requests to a server end: exceptions, cancelling, time, overload, and the end of the server.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "dynet/serve.h"

#include "support/served.h"

namespace dynet {
namespace {

using testing::ask_for_ever;
using testing::error_of;
using testing::Gate;
using testing::got;
using testing::Reader;
using testing::Reading;
using testing::reading_of;
using testing::until_idle;
using Model = testing::ServedModel;
using std::chrono::milliseconds;

TEST(Serve, AnExceptionEndsItsRequestAlone) {
  Model model;
  RequestServer<Reader> server(model.reader);
  std::vector<Answer<Reading>> answers;
  std::vector<Answer<void>> bad;
  for (unsigned i = 0; i < 20; ++i) {
    answers.push_back(server.submit(reading_of(i)));
    bad.push_back(server.submit([i](ComputationGraph& cg, Reader& reader) -> Task<> {
      co_await value(input(cg, 1.0F));
      if (i % 2 == 0) {
        throw std::out_of_range("no letter " + std::to_string(i));
      }
      const std::vector<float> wrong(3);
      const Dim size({3});
      co_await value(reader.o * input(cg, size, wrong));
    }));
  }
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(got(answers[i]).steps, model.alone(i).steps);
    if (i % 2 == 0) {
      EXPECT_THROW(got(bad[i]), std::out_of_range);
    } else {
      EXPECT_THROW(got(bad[i]), errors::ShapeError);
    }
  }
  const ServeCounts counts = until_idle(server);
  EXPECT_EQ(counts.failed, 20U);
  EXPECT_EQ(counts.finished, 20U);
}

TEST(Serve, AFailedQuestionMeetsTheRequestThatAsked) {
  Model model;
  RequestServer<Reader> server(model.reader);
  auto stale = server.submit([](ComputationGraph& /*cg*/, Reader& /*reader*/) -> Task<> {
    Expression gone;
    {
      ComputationGraph other;
      gone = input(other, 1.0F);
    }
    co_await value(gone);
  });
  auto open = server.submit([](ComputationGraph& cg, Reader& /*reader*/) -> Task<> {
    cg.checkpoint();
    std::string told;
    try {
      co_await value(input(cg, 1.0F));
    } catch (const errors::UsageError& e) {
      told = e.what();
    }
    cg.revert();
    throw std::runtime_error(told);
  });
  EXPECT_EQ(error_of([&] { got(stale); }),
            "RequestServer: a question of request 0: stale expression 0: its computation graph was "
            "destroyed");
  EXPECT_EQ(error_of([&] { got(open); }),
            "RequestServer: request 1 asks with a checkpoint open, which would hold for the other "
            "tasks, too; want the end of it before the question, or one around all tasks");
  EXPECT_THROW(got(server.submit([](ComputationGraph& cg, Reader& /*reader*/) { cg.clear(); })),
               errors::GraphError);
  EXPECT_EQ(got(server.submit(reading_of(1))).steps, model.alone(1).steps);
}

TEST(Serve, ACancelledRequestEnds) {
  Model const model;
  RequestServer<Reader> server(model.reader);
  const auto held = std::make_shared<int>(0);
  auto endless = server.submit(
      [held](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg, held); });
  EXPECT_FALSE(endless.wait_for(milliseconds(2)));
  Gate gate;
  auto blocked = server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { gate.pass(); });
  gate.await_one();
  bool has_run = false;
  auto waiting =
      server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { has_run = true; });
  waiting.cancel();
  endless.cancel();
  gate.open();
  EXPECT_EQ(error_of([&] { got(endless); }), "RequestServer: the request was cancelled");
  EXPECT_EQ(held.use_count(), 1) << "the task and its function are gone before the answer";
  EXPECT_THROW(got(waiting), errors::CancelledError);
  EXPECT_FALSE(has_run);
  got(blocked);
  blocked.cancel();  // too late: nothing happens
  const ServeCounts counts = until_idle(server);
  EXPECT_EQ(counts.cancelled, 2U);
  EXPECT_EQ(counts.finished, 1U);
}

TEST(Serve, ARequestThatIsLateEnds) {
  Model const model;
  ServeOptions options;
  options.timeout = milliseconds(20);
  RequestServer<Reader> server(model.reader, options);
  auto endless =
      server.submit([](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg); });
  EXPECT_EQ(error_of([&] { got(endless); }),
            "RequestServer: the request has not ended in its time of 20 ms");
  Gate gate;
  auto blocked = server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { gate.pass(); },
                               milliseconds(0));
  gate.await_one();
  auto waiting = server.submit(reading_of(1), milliseconds(1));
  std::this_thread::sleep_for(milliseconds(5));
  gate.open();
  EXPECT_THROW(got(waiting), errors::TimeoutError);
  got(blocked);
  EXPECT_EQ(until_idle(server).timed_out, 2U);
  EXPECT_EQ(error_of([&] { got(blocked); }),
            "Answer: get() a second time; the result was given before");
}

TEST(Serve, AWaitingRequestIsLateWhileOthersRun) {
  Model const model;
  ServeOptions options;
  options.max_running = 1;
  RequestServer<Reader> server(model.reader, options);
  auto running =
      server.submit([](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg); });
  auto late = server.submit(reading_of(1), milliseconds(5));
  EXPECT_THROW(got(late), errors::TimeoutError);
  EXPECT_FALSE(running.wait_for(milliseconds(0))) << "nothing had to end first";
  running.cancel();
}

TEST(Serve, ARequestIsLateWhileTheServerWaitsForOthers) {
  Model const model;
  ServeOptions options;
  options.max_wait = std::chrono::hours(1);
  RequestServer<Reader> server(model.reader, options);
  auto late = server.submit(reading_of(1), milliseconds(5));
  EXPECT_THROW(got(late), errors::TimeoutError);
}

TEST(Serve, ATimeBeyondTheClockIsNoBound) {
  Model model;
  RequestServer<Reader> server(model.reader);
  auto answer = server.submit(reading_of(1), std::chrono::nanoseconds::max());
  EXPECT_TRUE(answer.wait_for(std::chrono::nanoseconds::max()));
  EXPECT_EQ(answer.get().steps, model.alone(1).steps);
}

TEST(Serve, ARequestWithTooManyNodesEnds) {
  Model const model;
  ServeOptions options;
  options.max_request_nodes = 50;
  RequestServer<Reader> server(model.reader, options);
  auto large =
      server.submit([](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg); });
  EXPECT_EQ(error_of([&] { got(large); }),
            "RequestServer: request 0 has made 51 nodes; want at most 50 (max_request_nodes)");
  got(server.submit(reading_of(1, 2)));
}

TEST(Serve, AnOverloadIsRefused) {
  Model const model;
  ServeOptions options;
  options.max_queue = 3;
  options.max_running = 2;
  RequestServer<Reader> server(model.reader, options);
  Gate gate;
  auto blocked = server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { gate.pass(); });
  gate.await_one();
  std::vector<Answer<Reading>> answers;
  answers.reserve(3);
  for (unsigned i = 0; i < 3; ++i) {
    answers.push_back(server.submit(reading_of(i)));
  }
  EXPECT_EQ(error_of([&] { server.submit(reading_of(9)); }),
            "RequestServer: 3 requests wait, which is max_queue; want a later request");
  EXPECT_THROW(server.submit(reading_of(9)), errors::OverloadError);
  gate.open();
  for (auto& answer : answers) {
    EXPECT_GT(got(answer).steps, 0U);
  }
  const ServeCounts counts = until_idle(server);
  EXPECT_EQ(counts.refused, 2U);
  EXPECT_EQ(counts.accepted, 4U);
  EXPECT_EQ(counts.most_running, 2U);
}

TEST(Serve, WrongOptionsAreRefused) {
  Model model;
  const auto made_with = [&](auto ServeOptions::* option, auto wrong) {
    ServeOptions options;
    options.*option = std::decay_t<decltype(options.*option)>(wrong);
    return error_of([&] { const RequestServer<Reader> server(model.reader, options); });
  };
  EXPECT_EQ(made_with(&ServeOptions::max_running, 0),
            "RequestServer: max_running is 0; want at least 1");
  EXPECT_EQ(made_with(&ServeOptions::max_queue, 0),
            "RequestServer: max_queue is 0; want at least 1");
  EXPECT_EQ(made_with(&ServeOptions::max_nodes, 0),
            "RequestServer: max_nodes is 0; want at least 1");
  EXPECT_EQ(made_with(&ServeOptions::max_request_nodes, 0),
            "RequestServer: max_request_nodes is 0; want at least 1");
  EXPECT_EQ(made_with(&ServeOptions::max_wait, -1),
            "RequestServer: max_wait is -1 ns; want 0 or more");
  EXPECT_EQ(made_with(&ServeOptions::timeout, -5),
            "RequestServer: timeout is -5 ns; want 0, for no bound, or more");
  RequestServer<Reader> server(model.reader);
  EXPECT_EQ(error_of([&] { server.submit(reading_of(1), std::chrono::nanoseconds(-2)); }),
            "RequestServer: timeout is -2 ns; want 0, for no bound, or more");
}

TEST(Serve, AnIdleServerWaitsForOthers) {
  Model const model;
  ServeOptions options;
  options.max_wait = std::chrono::nanoseconds::max();
  options.max_running = 4;
  RequestServer<Reader> server(model.reader, options);
  std::vector<Answer<Reading>> answers;
  answers.reserve(4);
  for (unsigned i = 0; i < 4; ++i) {
    answers.push_back(server.submit(reading_of(i, 1)));
  }
  for (auto& answer : answers) {
    got(answer);  // the fourth ends the wait
  }
  EXPECT_EQ(until_idle(server).rounds, 1U);
}

TEST(Serve, AStoppedServerEndsItsRequests) {
  Model const model;
  std::vector<Answer<void>> answers;
  {
    ServeOptions options;
    options.max_running = 3;
    RequestServer<Reader> server(model.reader, options);
    for (unsigned i = 0; i < 10; ++i) {
      answers.push_back(
          server.submit([](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg); }));
    }
  }  // the destructor waits for no request
  for (auto& answer : answers) {
    EXPECT_EQ(error_of([&] { got(answer); }),
              "RequestServer: the server stopped before the request was at its end");
  }
}

TEST(Serve, ADrainedServerAnswersAll) {
  Model const model;
  RequestServer<Reader> server(model.reader);
  std::vector<Answer<Reading>> answers;
  answers.reserve(300);
  for (unsigned i = 0; i < 300; ++i) {
    answers.push_back(server.submit(reading_of(i)));
  }
  std::thread other([&] { server.drain(); });
  server.drain();
  other.join();
  for (auto& answer : answers) {
    EXPECT_TRUE(answer.wait_for(milliseconds(0)));
    EXPECT_GT(got(answer).steps, 0U);
  }
  EXPECT_EQ(error_of([&] { server.submit(reading_of(1)); }),
            "RequestServer: submit after the server was closed");
  server.drain();
  server.stop();
}

TEST(Serve, ARequestMaySubmitAnotherAndLetGoOfTheServer) {
  Model model;
  auto server = std::make_unique<RequestServer<Reader>>(model.reader);
  auto outer = server->submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) {
    return std::make_shared<Answer<Reading>>(server->submit(reading_of(3)));
  });
  EXPECT_EQ(got(*got(outer)).steps, model.alone(3).steps);
  auto closes =
      server->submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { server->drain(); });
  EXPECT_EQ(error_of([&] { got(closes); }),
            "RequestServer: a request closes its own server; want another thread");
  Gate gate;
  auto last = server->submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) {
    gate.pass();  // submit() has returned
    server.reset();
  });
  gate.open();
  got(last);
  EXPECT_EQ(server, nullptr);
}

}  // namespace
}  // namespace dynet
