// Every allocation of a training step fails once: the exception is out_of_memory, and the failed
// call, repeated, leads to the numbers of a step without failures. In a server's thread, each
// request has an answer all the same.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ops/input.h"
#include "dynet/replay.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "graph/graph.h"
#include "support/refused_call.h"
#include "support/served.h"
#include "testing/device.h"
#include "testing/on_threads.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

class FailedAllocation : public ::testing::TestWithParam<std::tuple<bool, LookupUpdates>> {};
INSTANTIATE_TEST_SUITE_P(Ways, FailedAllocation,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(LookupUpdates::kSparse,
                                                              LookupUpdates::kExact)));

struct Setting {
  bool batching;
  LookupUpdates updates;
  unsigned threads;
  bool waits;  ///< the caller leaves each share of a loop to its thread
};

/// Two steps of training with everything a graph offers.
class Training {
 public:
  explicit Training(const Setting& setting) {
    trainer_.set_lookup_updates(setting.updates);
    std::optional<ComputationGraph> cg;
    call("graph", [&] { cg.emplace(setting.batching); });
    for (int step = 0; cg && step < 2; ++step) {
      train(*cg);
    }
  }
  Numbers found;  ///< values, losses, gradients and parameters, in the order of their making

 private:
  void train(ComputationGraph& cg) {
    Expression x;
    Expression y;
    Expression loss;
    call("parameter", [&] { pw_ = parameter(cg, w_); });
    call("* number", [&] { pw_ = pw_ * 0.9F; });  // its gradient waits for the end of the pass
    call("parameter", [&] { pb_ = parameter(cg, b_); });
    call("input", [&] { h_ = input(cg, {3}, data_); });
    for (std::size_t t = 0; t < losses_.size(); ++t) {
      call("lookup", [&] { x = lookup(cg, e_, &pointed_); });
      call("+", [&] { x = x + h_; });
      call("*", [&] { y = pw_ * x; });
      call("+", [&] { y = y + pb_; });
      call("tanh", [&] { h_ = tanh(y); });
      if (t == 1) {
        try_and_revert(cg);
      }
      call("table", [&] { pe_ = parameter(cg, e_); });
      call("transpose", [&] { y = transpose(pe_); });
      call("product", [&] { y = y * h_; });
      call("pickneglogsoftmax", [&] { losses_[t] = pickneglogsoftmax(y, 1U); });
    }
    call("lookup", [&] { x = lookup(cg, e_, rows_); });
    call("* columns", [&] { x = pw_ * x; });  // its gradients are packed in scratch memory
    call("sum_batches", [&] { x = sum_batches(x); });
    call("squared_norm", [&] { losses_[0] = squared_norm(x) + losses_[0]; });
    call("sum", [&] { loss = sum(losses_); });
    call("forward", [&] { cg.forward(loss); });
    found.add(loss.value());
    call("backward", [&] { cg.backward(loss); });
    call("gradient", [&] { static_cast<void>(pe_.gradient()); });
    found.add(pe_.gradient());
    call("update", [&] { trainer_.update(); });
    found.add(numbers(*w_.values()));
    found.add(parameter(cg, e_).value());  // rows that lag included
    call("clear", [&] { cg.clear(); });
  }

  void try_and_revert(ComputationGraph& cg) {
    Expression y;
    call("value", [&] { static_cast<void>(h_.value()); });
    found.add(h_.value());
    call("checkpoint", [&] { cg.checkpoint(); });
    call("tanh", [&] { y = tanh(h_); });
    call("value", [&] { static_cast<void>(y.value()); });
    call("invalidate", [&] { cg.invalidate(); });
    call("value", [&] { static_cast<void>(y.value()); });
    call("revert", [&] { cg.revert(); });
  }

  ParameterCollection model_;
  Parameter w_ = model_.add_parameters(
      {3, 3}, ParameterInitFromVector({.1F, .2F, .3F, .4F, .5F, .6F, .7F, .8F, .9F}));
  Parameter b_ = model_.add_parameters({3}, ParameterInitConst(0.1F));
  LookupParameter e_ = model_.add_lookup_parameters(4, {3}, ParameterInitConst(0.3F));
  AdamTrainer trainer_{model_};
  unsigned pointed_ = 2;
  const std::vector<unsigned> rows_ = [] {
    std::vector<unsigned> rows(300, 3);  // often enough for sums of their own, and for panels
    rows[5] = 0;
    return rows;
  }();
  const std::vector<float> data_{1, -1, 2};
  std::vector<Expression> losses_ = std::vector<Expression>(3);
  Expression pw_, pb_, pe_, h_;
};

Numbers train(const Setting& setting) {
  api::drop_resting_states();  // so that memory has to be taken anew
  set_threads(1);              // so that threads begin anew, without scratch memory
  const OnThreads on(setting.threads, setting.waits);
  const testing::DefaultDevice scope(setting.threads > 1 ? float_device() : double_device());
  return Training(setting).found;
}

/// The threads' allocation has the same number in each training, up to some that failures add.
constexpr long kNear = 4;

/// On several threads their scratch memory is refused as well: a share of a loop fails. The other
/// allocations are those of one thread, and each eighth is refused once more: a training on threads
/// takes a second if other programs run.
TEST_P(FailedAllocation, TheCallRepeatedIsRight) {
  for (const unsigned threads : {1U, 3U}) {
    Setting setting{std::get<0>(GetParam()), std::get<1>(GetParam()), threads, true};
    train(setting);  // allocates for later ones, too
    FailingNew::arm(-1);
    const Numbers expected = train(setting);
    const long all = FailingNew::count;
    const long in_a_thread = FailingNew::last_in_threads;
    EXPECT_GT(all, 100);
    long in_threads = 0;
    for (long n = 0; n < all && !HasFailure(); ++n) {
      SCOPED_TRACE("allocation " + std::to_string(n) + " on " + std::to_string(threads));
      setting.waits = std::abs(n - in_a_thread) < kNear;
      if (threads > 1 && !setting.waits && n % 8 != 0) {
        continue;
      }
      FailingNew::arm(n);
      const Numbers found = train(setting);
      EXPECT_EQ(compare(found.all, expected.all, tolerance::kSameInDouble), "");
      in_threads += FailingNew::refused_in_threads;
    }
    EXPECT_EQ(in_threads > 0, threads > 1);
    std::printf("%ld allocations, %ld refused in threads\n", all, in_threads);
  }
}

/// Requests of all ends, while allocation `n` of the server's thread is refused. Whether it was.
bool serve_without(long n, bool stops) {
  ServedModel const model;
  ServeOptions options;
  options.max_nodes = 60;
  options.max_running = 4;
  RequestServer<Reader> server(model.reader, options);
  Gate gate;
  auto first = server.submit([&](ComputationGraph& /*cg*/, Reader& /*reader*/) { gate.pass(); });
  gate.await_one();
  std::vector<Answer<Reading>> answers;
  answers.reserve(6);
  for (unsigned i = 0; i < 6; ++i) {
    answers.push_back(server.submit(reading_of(i, 3)));
  }
  answers[1].cancel();
  answers.push_back(server.submit(reading_of(1), std::chrono::nanoseconds(1)));
  auto endless =
      server.submit([](ComputationGraph& cg, Reader& /*reader*/) { return ask_for_ever(cg); });
  FailingNew::arm(n);
  FailingNew::armed = true;
  gate.open();
  if (stops) {
    server.stop();
  }
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer.wait_for(kTooLong));
  }
  endless.cancel();
  EXPECT_TRUE(endless.wait_for(kTooLong));
  EXPECT_TRUE(first.wait_for(kTooLong));
  const ServeCounts counts = until_idle(server);
  FailingNew::armed = false;
  EXPECT_EQ(counts.accepted, 9U);
  EXPECT_EQ(counts.finished + counts.failed + counts.timed_out + counts.cancelled, 9U);
  return FailingNew::refused != 0;
}

TEST(FailedAllocation, EachRequestHasAnAnswer) {
  for (const bool stops : {false, true}) {
    long n = 0;
    for (; serve_without(n, stops) && !HasFailure(); ++n) {
    }
    EXPECT_GT(n, stops ? 1 : 100);
    std::printf("%ld allocations\n", n);
  }
}

/// A Replay that could not begin leaves the collection as it was: additions are new parameters, not
/// existing ones.
TEST(FailedAllocation, AReplayThatCannotBegin) {
  for (long n = 0, refused = 1; refused != 0; ++n) {
    SCOPED_TRACE(n);
    ParameterCollection root;
    ParameterCollection part = root.add_subcollection("part");
    const Parameter there = part.add_parameters({2}, "w");
    FailingNew::arm(n);
    FailingNew::armed = true;
    try {
      const Replay replay(root, "/part/", {{"w", 0}}, {{"below", 1}});
      FailingNew::armed = false;
      EXPECT_EQ(replay.collection().add_parameters({2}, "w").p, there.p);
    } catch (const std::bad_alloc&) {
      FailingNew::armed = false;
    }
    refused = FailingNew::refused;
    EXPECT_EQ(part.add_parameters({1}, "w").get_fullname(), "/part/w_1");
  }
}

/// The tables of shapes and signatures are given up when large: all of them or none.
TEST(FailedAllocation, TablesAreForgottenTogether) {
  const auto build = [](graph::Graph& graph) {
    const ops::Constant constant{Dim({2, 3}), 1.0F};
    return graph.add(ext::kRecord<ops::Constant>, &constant, {}, {}, {}, 1);
  };
  for (long n = 0, refused = 1; refused != 0; ++n) {
    SCOPED_TRACE(n);
    graph::Interner interner;
    graph::Graph graph{interner};
    build(graph);
    const std::size_t keys = interner.key_count();
    graph.clear();
    FailingNew::arm(n);
    FailingNew::armed = true;
    EXPECT_NO_THROW(try { interner.trim(0); } catch (const std::bad_alloc&){});
    FailingNew::armed = false;
    refused = FailingNew::refused;
    EXPECT_EQ(interner.key_count(), refused == 0 ? 0 : keys);
    EXPECT_EQ(graph.dim(build(graph)), Dim({2, 3}));
    EXPECT_EQ(interner.shape(interner.absent()), ext::absent());
    EXPECT_EQ(interner.key_count(), keys);
  }
}

}  // namespace
}  // namespace dynet::testing
