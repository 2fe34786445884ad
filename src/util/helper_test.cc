// Loops shared by two threads: every part once, in any order of arrival, and errors.
#include "util/helper.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "testing/sanitized.h"
#include "testing/temporary_folder.h"

namespace dynet::util {
namespace {

/// Which threads took parts.
class Threads {
 public:
  void note() { (std::this_thread::get_id() == caller_ ? is_caller_ : is_other_) = true; }
  [[nodiscard]] bool has_other() const { return is_other_; }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> is_caller_{false};
  std::atomic<bool> is_other_{false};
};

/// Shares a loop over `count` numbers; returns the count of each.
std::vector<int> counts_after(std::size_t count, std::size_t piece, Threads& threads) {
  std::vector<int> counts(count, 0);
  share_loop(count, piece, [&](std::size_t first, std::size_t last) {
    EXPECT_EQ(first % piece, 0U);
    threads.note();
    for (std::size_t i = first; i < last; ++i) {
      ++counts[i];
    }
  });
  return counts;
}

TEST(Helper, RunsEachPartOnce) {
  Helper helper;
  Threads threads;
  for (unsigned round = 0; round < 3000; ++round) {
    if (round % 7 == 0) {
      helper.expect();
    }
    if (round % 11 == 0) {
      helper.rest();
    }
    if (round % 100 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));  // it falls asleep
    }
    const std::size_t count = round % 130;
    ASSERT_EQ(counts_after(count, 1 + round % 9, threads), std::vector<int>(count, 1)) << round;
  }
}

/// A loop that is long enough has help, if there are two processors.
TEST(Helper, Helps) {
  if (!has_two_processors()) {
    GTEST_SKIP() << "one processor";
  }
  Helper helper;
  helper.expect();
  Helper::set_begins(true);
  for (unsigned round = 0; round < 20; ++round) {
    Threads threads;
    EXPECT_EQ(counts_after(100, 30, threads), std::vector<int>(100, 1));
    EXPECT_TRUE(threads.has_other());
    helper.rest();
  }
  Helper::set_begins(false);
}

/// On its caller's processor the helper would wait until the caller sleeps.
TEST(Helper, HasAnotherProcessorThanItsCaller) {
  if (!has_two_processors()) {
    GTEST_SKIP() << "one processor";
  }
  const auto processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
  };
  Helper helper;
  helper.expect();
  Helper::set_begins(true);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> of_helper{0};
  share_loop(2, 1, [&](std::size_t /*first*/, std::size_t /*last*/) {
    if (std::this_thread::get_id() != caller) {
      of_helper = processors();
    }
  });
  Helper::set_begins(false);
  EXPECT_EQ(of_helper, processors() - 1);
}

TEST(Helper, AContainerMayHaveLessThanTwoProcessors) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("cpu.max");
  EXPECT_TRUE(has_quota_of_two(file.c_str()));  // there is none
  const auto with = [&file](const char* text) {
    std::ofstream(file) << text;
    return has_quota_of_two(file.c_str());
  };
  EXPECT_TRUE(with("max 100000\n"));
  EXPECT_TRUE(with("200000 100000\n"));
  EXPECT_FALSE(with("150000 100000\n"));
  EXPECT_FALSE(with("50000 50000\n"));
}

/// A signal interrupts the program's own thread; a fault goes to the thread that made it.
TEST(Helper, TakesNoSignalsButThoseOfItsOwnFaults) {
  if (!has_two_processors()) {
    GTEST_SKIP() << "one processor";
  }
  Helper helper;
  helper.expect();
  Helper::set_begins(true);
  const std::thread::id caller = std::this_thread::get_id();
  sigset_t blocked;
  sigemptyset(&blocked);
  share_loop(2, 1, [&](std::size_t /*first*/, std::size_t /*last*/) {
    if (std::this_thread::get_id() != caller) {
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    }
  });
  Helper::set_begins(false);
  for (const int other : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1}) {
    EXPECT_EQ(sigismember(&blocked, other), 1) << other;
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
    EXPECT_EQ(sigismember(&blocked, fault), 0) << fault;
  }
}

TEST(Helper, NoneIsWhatRunsInOneThread) {
  Threads threads;
  EXPECT_EQ(counts_after(100, 1, threads), std::vector<int>(100, 1));
  {
    const Helper helper;
  }
  {
    const Helper helper;  // never expects a loop
    EXPECT_EQ(counts_after(100, 1, threads), std::vector<int>(100, 1));
  }
  EXPECT_FALSE(threads.has_other());
  {
    Helper one;
    one.expect();
    {
      const Helper two;
    }
    EXPECT_EQ(counts_after(100, 1, threads), std::vector<int>(100, 1));
  }
  Threads after;
  EXPECT_EQ(counts_after(100, 1, after), std::vector<int>(100, 1));
  EXPECT_FALSE(after.has_other());
}

/// From either thread; the next loop is as ever.
TEST(Helper, PassesOnWhatAPartThrows) {
  Helper helper;
  for (unsigned round = 0; round < 300; ++round) {
    Helper::set_begins(round % 2 == 0);  // true: it has a part, maybe the bad one
    helper.expect();
    const std::size_t bad = round % 50;
    EXPECT_THROW(share_loop(50, 1,
                            [&](std::size_t first, std::size_t /*last*/) {
                              if (first == bad) {
                                throw std::runtime_error("a part");
                              }
                            }),
                 std::runtime_error);
    Threads threads;
    ASSERT_EQ(counts_after(60, 7, threads), std::vector<int>(60, 1));
  }
  Helper::set_begins(false);
}

/// Who comes second, or from within a part, runs its loop alone.
TEST(Helper, ManyThreadsMayShareLoops) {
  Helper helper;
  helper.expect();
  constexpr unsigned kThreads = 3;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  std::atomic<unsigned> wrong{0};
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&wrong] {
      for (unsigned round = 0; round < 500; ++round) {
        std::atomic<std::size_t> sum{0};
        share_loop(40, 3, [&](std::size_t first, std::size_t last) {
          share_loop(last - first, 1,
                     [&](std::size_t begin, std::size_t end) { sum += end - begin; });
        });
        wrong += sum != 40 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0U);
}

/// A child process has no thread but its own, and may have a helper of its own.
TEST(Helper, ChildrenHaveTheirOwn) {
#ifdef DYNET_THREADS_SANITIZED
  GTEST_SKIP() << "the thread sanitizer does not follow a fork";
#endif
  const std::vector<int> once(1000, 1);
  Helper::set_begins(true);
  std::optional<Helper> helper(std::in_place);
  helper->expect();
  Threads threads;
  EXPECT_EQ(counts_after(1000, 1, threads), once);
  EXPECT_EQ(threads.has_other(), has_two_processors());
  const pid_t child = fork();
  if (child == 0) {
    Threads alone;
    bool is_right = counts_after(1000, 1, alone) == once && !alone.has_other();
    {
      Helper own;
      own.expect();
      helper.reset();  // the parent's helper: it ends nothing here
      Threads both;
      is_right = is_right && counts_after(1000, 1, both) == once;
      is_right = is_right && both.has_other() == has_two_processors();
    }
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(counts_after(1000, 1, threads), once);
  Helper::set_begins(false);
}

}  // namespace
}  // namespace dynet::util
