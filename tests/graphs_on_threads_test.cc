// Graphs on several threads: the same bits as on one, for every example of every operation and
// for random graphs. A server has a thread that computes beside the program's.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/targets.h"
#include "kernels/team.h"
#include "support/generator.h"
#include "support/samples.h"
#include "support/served.h"
#include "testing/cases.h"
#include "testing/on_threads.h"
#include "testing/sanitized.h"
#include "testing/targets.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

/// The bits, so that NaN equals NaN and 0 differs from -0.
bool are_same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}
bool are_same(const Rows& a, const Rows& b) {
  bool is_same = a.size() == b.size();
  for (std::size_t i = 0; is_same && i < a.size(); ++i) {
    is_same = are_same(a[i], b[i]);
  }
  return is_same;
}
/// Where two runs of a program differ; empty if nowhere.
std::string difference(const Result& a, const Result& b) {
  for (std::size_t s = 0; s < a.values.size(); ++s) {
    const std::string step = "step " + std::to_string(s);
    if (!are_same(a.values[s], b.values[s])) {
      return "values of " + step;
    }
    if (!are_same(a.gradients[s], b.gradients[s])) {
      return "gradient of " + step;
    }
  }
  return are_same(a.source_gradients, b.source_gradients) ? "" : "gradients of parameters";
}

/// Runs programs on one thread, then on more: one number of threads after the other, as threads
/// take longer to begin than most programs to run.
class Comparison {
 public:
  /// `for_each(f)` calls f(program, text) for each program, always in the same order.
  template <class ForEach>
  void run_all(const ForEach& for_each) {
    std::vector<Result> expected;
    for (const unsigned n : {1U, 2U, 3U, 7U}) {
      const OnThreads on(n);
      std::size_t turn = 0;
      for_each([&](const Program& program, const std::string& text) {
        if (::testing::Test::HasFatalFailure()) {
          return;
        }
        SimdTarget::use(all_[turn % all_.size()]);  // from graph to graph
        const Result found = run(program, {float_device(), true});
        if (n == 1) {
          expected.push_back(found);
        } else {
          check(expected[turn], found, program, text + ", " + std::to_string(n) + " threads");
        }
        ++turn;
      });
      count_ = turn;
    }
    const std::uint64_t loops = kernels::team_counts().loops - before_;
    std::printf("%zu graphs, %zu loops in shares\n", count_, static_cast<std::size_t>(loops));
    EXPECT_GT(loops, 3 * count_);
  }

 private:
  static void check(const Result& expected, const Result& found, const Program& program,
                    const std::string& text) {
    ASSERT_EQ(difference(expected, found), "") << text << '\n' << program.text();
  }

  const SimdTarget usual_;
  const std::vector<std::string> all_ = kernels::supported_targets();
  std::size_t count_ = 0;
  const std::uint64_t before_ = kernels::team_counts().loops;
};

TEST(GraphsOnThreads, EveryExampleOfEveryOperation) {
  Comparison().run_all([](const auto& f) {
    std::size_t turn = 0;
    for (const Sample* sample : operation_samples()) {
      for (const Case& c : cases_of(*sample)) {
        if (turn++ % trials(std::size_t{1}, std::size_t{10}) == 0) {
          f(c.program, sample->text() + ", " + c.name);
        }
      }
    }
  });
}

TEST(GraphsOnThreads, RandomGraphs) {
  constexpr std::uint64_t kGraphs = trials(5000, 100);
  const std::vector<Combination> combinations = combinations_of(all_samples());
  Comparison().run_all([&combinations](const auto& f) {
    const Counts counts;
    for (std::uint64_t seed = 1; seed <= kGraphs; ++seed) {
      f(random_program(seed, combinations, counts), "seed " + std::to_string(seed));
    }
  });
}

TEST(GraphsOnThreads, AServerComputesBesideTheProgram) {
  ServedModel model;
  const auto all_alone = [&] {
    std::vector<Reading> readings;
    readings.reserve(Reader::kLetters);
    for (unsigned i = 0; i < Reader::kLetters; ++i) {
      readings.push_back(model.alone(i));
    }
    return readings;
  };
  std::vector<Reading> right;
  {
    const OnThreads one(1);
    right = all_alone();
  }
  const OnThreads three(3);
  RequestServer<Reader> server(model.reader);
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<Answer<Reading>> answers;
    answers.reserve(Reader::kLetters);
    for (unsigned i = 0; i < Reader::kLetters; ++i) {
      answers.push_back(server.submit(reading_of(i)));
    }
    const std::vector<Reading> alone = all_alone();
    for (unsigned i = 0; i < Reader::kLetters; ++i) {
      EXPECT_EQ(alone[i].score, right[i].score) << i;
      const Reading served = got(answers[i]);
      EXPECT_EQ(served.steps, right[i].steps) << i;
      EXPECT_NEAR(served.score, right[i].score, tolerance::kFloatAgainstDouble) << i;
    }
  }
}

}  // namespace
}  // namespace dynet::testing
