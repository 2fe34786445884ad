// The team: every share once, errors, sections of several threads, children, and sleep.

#include "kernels/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/float_mode.h"
#include "testing/temporary_folder.h"

namespace dynet::kernels {
namespace {

constexpr double kMuch = 1e6;  // nanoseconds

class TeamTest : public ::testing::Test {
 protected:
  void SetUp() override { set_threads(4); }
  void TearDown() override { set_threads(0); }
};

/// How often each number of a cut loop was visited.
std::vector<int> visits(std::size_t count, std::size_t unit) {
  std::vector<int> all(count, 0);
  cut(count, unit, kMuch, [&](std::size_t first, std::size_t last) {
    EXPECT_EQ(first % unit, 0U);
    for (std::size_t i = first; i < last; ++i) {
      ++all[i];
    }
  });
  return all;
}

TEST_F(TeamTest, RunsEachShareOnce) {
  for (unsigned round = 0; round < 2000; ++round) {
    const Section section;
    if (round % 100 == 0) {
      set_threads(1 + round / 100 % 9);  // takes effect with the next section
      std::this_thread::sleep_for(std::chrono::microseconds(500));  // the threads fall asleep
    }
    for (unsigned loop = 0; loop < 5; ++loop) {
      const std::size_t count = (7 * round + loop) % 130;
      ASSERT_EQ(visits(count, 1 + round % 9), std::vector<int>(count, 1)) << round;
    }
  }
}

TEST_F(TeamTest, ThreadsTakeTheirShares) {
  const CutEverything cuts(true);
  for (const unsigned n : {2U, 3U, 7U}) {
    set_threads(n);
    const Section section;
    const TeamCounts before = team_counts();
    std::vector<std::thread::id> of(n);
    run_shares(shares_of(0.0), [&](unsigned s) { of[s] = std::this_thread::get_id(); });
    EXPECT_EQ(of[0], std::this_thread::get_id());
    for (unsigned s = 1; s < n; ++s) {
      EXPECT_NE(of[s], of[0]);
      EXPECT_NE(of[s], of[s - 1]);
    }
    EXPECT_EQ(team_counts().loops, before.loops + 1);
    EXPECT_EQ(team_counts().shares, before.shares + n - 1);
    EXPECT_EQ(team_counts().threads, n - 1);
    std::vector<std::thread::id> again(n);
    run_shares(n, [&](unsigned s) { again[s] = std::this_thread::get_id(); });
    EXPECT_EQ(of, again);  // the numbers of a share stay in one cache
  }
}

TEST_F(TeamTest, SmallLoopsWakeNobody) {
  set_threads(1);
  set_threads(4);
  ASSERT_EQ(team_counts().threads, 0U);
  const TeamCounts before = team_counts();
  {
    const Section section;
    EXPECT_EQ(shares_of(100.0), 1U);
    EXPECT_EQ(shares_of(20000.0), 1U);  // worth a share, but not the waking
    EXPECT_EQ(shares_of(200000.0), 4U);
    cut(1000, 1, 100.0,
        [](std::size_t first, std::size_t last) { EXPECT_EQ(last - first, 1000U); });
  }
  EXPECT_EQ(team_counts().threads, 0U);
  EXPECT_EQ(team_counts().loops, before.loops);
}

TEST_F(TeamTest, OutsideOfSectionsAndInsideSharesLoopsAreWhole) {
  EXPECT_EQ(shares_of(kMuch), 1U);
  const Section section;
  const Section inner;
  EXPECT_EQ(shares_of(kMuch), 4U);
  std::atomic<unsigned> whole{0};
  run_shares(4, [&](unsigned) { whole += shares_of(kMuch) == 1 ? 1 : 0; });
  EXPECT_EQ(whole, 4U);
  EXPECT_EQ(shares_of(kMuch), 4U);
}

TEST_F(TeamTest, ExceptionsReachTheCaller) {
  const CutEverything cuts(true);
  const Section section;
  for (const unsigned thrower : {0U, 1U, 3U}) {
    std::atomic<unsigned> ran{0};
    try {
      run_shares(4, [&](unsigned s) {
        ++ran;
        if (s >= thrower) {
          throw std::runtime_error("share " + std::to_string(s));
        }
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "share " + std::to_string(thrower));
    }
    EXPECT_EQ(ran, 4U);
    EXPECT_EQ(visits(100, 3), std::vector<int>(100, 1));
    EXPECT_EQ(shares_of(kMuch), 4U);
  }
}

TEST_F(TeamTest, ThreadsHaveTheFloatModeOfTheCaller) {
  const CutEverything cuts(true);
  const Section section;
  const auto denormal_lives = [](unsigned) {
    volatile float x = 1e-38F;
    x = x / 16.0F;
    return x != 0.0F;
  };
  const auto count = [&] {
    std::atomic<unsigned> living{0};
    run_shares(4, [&](unsigned s) { living += denormal_lives(s) ? 1 : 0; });
    return living.load();
  };
  EXPECT_EQ(count(), 4U);
  {
    const FlushDenormals mode;
    EXPECT_EQ(count(), FlushDenormals::is_on() ? 0U : 4U);
  }
  EXPECT_EQ(count(), 4U);
}

/// A program with a graph for each thread: each has a processor of its own.
TEST_F(TeamTest, TwoSectionsComputeAlone) {
  const Section section;
  ASSERT_EQ(shares_of(kMuch), 4U);
  std::thread([&] {
    const Section other;
    EXPECT_EQ(shares_of(kMuch), 1U);
    std::thread([] {
      const Section third;
      EXPECT_EQ(shares_of(kMuch), 1U);
    }).join();
  }).join();
  EXPECT_EQ(shares_of(kMuch), 4U);
}

TEST_F(TeamTest, TheTeamOfASectionIsFreeAfterwards) {
  std::thread([] {
    const Section other;
    EXPECT_EQ(shares_of(kMuch), 4U);
    EXPECT_EQ(visits(100, 3), std::vector<int>(100, 1));
  }).join();
  const Section section;
  EXPECT_EQ(shares_of(kMuch), 4U);
}

/// The exit status of `f` in a child process; -1 if it does not end by itself.
template <class F>
int in_child(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a deadlock ends
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(TeamTest, AChildMakesItsOwnThreads) {
  const CutEverything cuts(true);
  const auto works = [] {
    const Section section;
    const bool is_right = shares_of(0.0) == 4 && visits(100, 3) == std::vector<int>(100, 1);
    return is_right && team_counts().threads == 3 ? 0 : 1;
  };
  EXPECT_EQ(works(), 0);
  EXPECT_EQ(in_child(works), 0);
  const Section section;
  EXPECT_EQ(visits(100, 3), std::vector<int>(100, 1));
  // Forked inside a section: the section is the parent's.
  EXPECT_EQ(in_child([] { return shares_of(kMuch) == 1 ? 0 : 1; }), 0);
  EXPECT_EQ(shares_of(0.0), 4U);
}

TEST_F(TeamTest, AChildOfAnotherThreadMakesItsOwnThreads) {
  const Section section;
  EXPECT_EQ(visits(100, 3), std::vector<int>(100, 1));
  std::thread([] {
    EXPECT_EQ(in_child([] {
                const Section own;
                return visits(100, 3) == std::vector<int>(100, 1) && shares_of(kMuch) == 4 ? 0 : 1;
              }),
              0);
  }).join();
}

TEST_F(TeamTest, ThreadsThatAreTooManyEnd) {
  const CutEverything cuts(true);
  set_threads(7);
  {
    const Section section;
    run_shares(shares_of(0.0), [](unsigned) {});
    EXPECT_EQ(team_counts().threads, 6U);
    set_threads(3);
    EXPECT_EQ(shares_of(0.0), 7U);
  }
  {
    const Section section;
    EXPECT_EQ(shares_of(0.0), 3U);
  }
  EXPECT_EQ(team_counts().threads, 2U);
  set_threads(1);
  EXPECT_EQ(team_counts().threads, 0U);
  EXPECT_EQ(threads(), 1U);
}

TEST_F(TeamTest, Quota) {
  const dynet::testing::TemporaryFolder folder;
  const std::string file = folder.file("cpu.max");
  const auto processors = [&](const char* text) {
    std::ofstream(file) << text;
    return processors_of_quota(file.c_str());
  };
  EXPECT_EQ(processors("200000 100000"), 2U);
  EXPECT_EQ(processors("250000 100000"), 2U);
  EXPECT_EQ(processors("50000 100000"), 1U);
  EXPECT_GT(processors("max 100000"), 1000U);
  EXPECT_GT(processors(""), 1000U);
  EXPECT_GT(processors_of_quota("/nothing/there"), 1000U);
  set_threads(0);
  EXPECT_EQ(threads(), usable_processors());
  EXPECT_GE(threads(), 1U);
}

TEST(Range, CoversAllOnce) {
  for (const std::size_t count : {0U, 1U, 7U, 16U, 100U}) {
    for (const std::size_t unit : {1U, 4U, 16U}) {
      for (const unsigned shares : {1U, 2U, 3U, 7U, 200U}) {
        std::size_t at = 0;
        for (unsigned s = 0; s < shares; ++s) {
          const Range range(count, unit, s, shares);
          EXPECT_EQ(range.first, at);
          EXPECT_TRUE(range.first % unit == 0 || range.empty());
          at = range.last;
        }
        EXPECT_EQ(at, count);
      }
    }
  }
}

}  // namespace
}  // namespace dynet::kernels
