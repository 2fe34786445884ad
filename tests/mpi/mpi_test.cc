// Jobs of several ranks by mpirun: the numbers, checkpoints on other numbers of ranks, and ranks
// that fail. Fifty faults at random moments, and a table of them:
//   DYNET_TEST_FAULTS=50 mpi_test --gtest_filter='*RandomFaults*' --gtest_random_seed=1
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace {

namespace tolerance = dynet::tolerance;
using dynet::testing::TemporaryFolder;

// mpirun and the program, from CMake; empty without MPI.
const std::string kMpirun = DYNET_MPIRUN;
const std::string kRanks = DYNET_RANKS;

// A job that hangs is ended after a minute, and its test fails.

/// Debian's mpirun refuses root, and more ranks than cores, unless it is told. Ranks may run on all
/// processors: without this Open MPI gives two ranks a processor each.
constexpr const char* kAllow =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
    "OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none ";

struct Result {
  std::string text;
  int status = 0;
  double end = 0;  ///< on the clock of the machine
};

Result run(unsigned ranks, const std::string& words) {
  const std::string line = std::string(kAllow) + "timeout -k 5 60 " + kMpirun + " -n " +
                           std::to_string(ranks) + ' ' + kRanks + ' ' + words + " 2>&1 < /dev/null";
  Result result;
  FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) {
    throw std::runtime_error("popen: " + line);
  }
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) {
    result.text.append(part, n);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  result.end = std::chrono::duration<double>(now).count();
  return result;
}

/// The checksums and the losses of the lines `word rank R: checksum loss`.
struct Report {
  std::set<std::string> checksums;
  std::vector<double> losses;
};
Report report_of(const Result& result, const std::string& word, unsigned ranks) {
  Report report;
  std::istringstream lines(result.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string first, rank, number, checksum;
    double loss = 0;
    if (in >> first >> rank >> number >> checksum >> loss && first == word) {
      report.checksums.insert(checksum);
      report.losses.push_back(loss);
    }
  }
  EXPECT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(report.losses.size(), ranks) << result.text;
  EXPECT_EQ(report.checksums.size(), 1U) << result.text;
  report.losses.resize(1);
  return report;
}

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (kMpirun.empty()) {
      GTEST_SKIP() << "MPI was not found when the library was configured, or a sanitizer is on";
    }
  }
};

TEST_F(Mpi, AnyNumberOfRanksLearnsTheSame) {
  const Report one = report_of(run(1, "train 60 sparse"), "values", 1);
  for (const unsigned ranks : {2U, 4U, 8U}) {
    const Report more = report_of(run(ranks, "train 60 sparse"), "values", ranks);
    EXPECT_NEAR(more.losses[0] / one.losses[0], 1.0, tolerance::kTrainedInFloat) << ranks;
  }
}

TEST_F(Mpi, AThousandUpdatesGiveTheSameBits) {
  for (const char* how : {"sparse", "dense", "exact"}) {
    report_of(run(2, std::string("train 1000 ") + how), "values", 2);
  }
}

/// More ranks than processors, so that most of them wait without a processor.
TEST_F(Mpi, FourAndEightRanksOnTwoProcessorsHaveTheSameBits) {
  for (const unsigned ranks : {4U, 8U}) {
    for (const char* how : {"sparse", "dense", "exact"}) {
      report_of(run(ranks, std::string("train 100 ") + how), "values", ranks);
    }
  }
}

TEST_F(Mpi, RanksResumeOnOtherNumbersOfRanks) {
  const TemporaryFolder folder;
  const TemporaryFolder whole;
  const std::string name = folder.path().string();
  report_of(run(2, "resume " + name + " 20 10"), "values", 2);
  const Result three = run(3, "resume " + name + " 40 10");
  EXPECT_EQ(*report_of(three, "resumed", 3).checksums.begin(), "0000000000000014") << three.text;
  report_of(three, "values", 3);
  const Result one = run(1, "resume " + name + " 60 10");
  EXPECT_EQ(*report_of(one, "resumed", 1).checksums.begin(), "0000000000000028") << one.text;
  const Report parts = report_of(one, "values", 1);
  const Report uncut = report_of(run(1, "resume " + whole.path().string() + " 60 0"), "values", 1);
  EXPECT_NEAR(parts.losses[0] / uncut.losses[0], 1.0, tolerance::kTrainedInFloat);
}

TEST_F(Mpi, ResumedRanksGoOnToTheBit) {
  const TemporaryFolder folder;
  const TemporaryFolder whole;
  report_of(run(2, "resume " + folder.path().string() + " 15 15"), "values", 2);
  const Report cut = report_of(run(2, "resume " + folder.path().string() + " 40 0"), "values", 2);
  const Report uncut = report_of(run(2, "resume " + whole.path().string() + " 40 15"), "values", 2);
  EXPECT_EQ(cut.checksums, uncut.checksums);
}

/// Two ranks with workers and threads. Ranks that share processors, and workers, compute on one
/// thread unless a number is set; a set number holds for ranks and for workers.
TEST_F(Mpi, RanksWorkersAndThreadsTogether) {
  constexpr double kOneThread = 1.0, kTwoThreads = 2.5;  // see team() in ranks.cc
  const Report alone = report_of(run(2, "train 60 sparse"), "values", 2);
  for (const unsigned workers : {0U, 2U}) {
    std::set<std::string> checksums;
    for (const unsigned threads : {1U, 2U, 0U}) {
      const std::string words = std::to_string(workers) + ' ' + std::to_string(threads);
      const Result result = run(2, "combined 60 " + words);
      const Report trained = report_of(result, "values", 2);
      checksums.insert(trained.checksums.begin(), trained.checksums.end());
      EXPECT_NEAR(trained.losses[0] / alone.losses[0], 1.0, tolerance::kTrainedInFloat) << words;
      const double team = threads == 2 ? kTwoThreads : kOneThread;
      EXPECT_EQ(report_of(result, "rank", 2).losses, std::vector{team}) << words;
      EXPECT_EQ(report_of(result, "worker", 2).losses, std::vector{workers == 0 ? 0.0 : team})
          << words;
    }
    EXPECT_EQ(checksums.size(), 1U) << workers;
  }
}

// ---- faults

/// One rank of a job fails.
struct Fault {
  std::string kind;
  unsigned ranks;
  unsigned rank;
  unsigned when;  ///< a step; of kinds by a signal, milliseconds

  /// At a moment that the job does not know, and in a step that the test does not know.
  [[nodiscard]] bool is_by_signal() const { return kind == "shot" || kind == "stopped"; }
};

/// The end of its job.
struct End {
  double seconds = 0;       ///< after the fault
  bool is_error = false;    ///< mpirun's status
  bool is_named = false;    ///< the number of the rank is in the text
  bool is_resumed = false;  ///< from the last checkpoint
  std::string text;         ///< of both jobs
  [[nodiscard]] bool is_in_time() const { return is_error && seconds < 10; }
};

/// The steps of the newest checkpoint in a folder, from its name; 0 without one.
double newest_checkpoint(const std::string& folder) {
  constexpr std::string_view kStart = "checkpoint-";
  double newest = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.rfind(kStart, 0) == 0 && file.path().extension() == ".safetensors") {
      newest = std::max(newest, std::stod(name.substr(kStart.size())));
    }
  }
  return newest;
}

End end_of(const Fault& fault) {
  const TemporaryFolder folder;
  const std::string name = folder.path().string();
  const std::string number = std::to_string(fault.rank);
  const Result result = run(fault.ranks, "fault " + fault.kind + ' ' + number + ' ' +
                                             std::to_string(fault.when) + ' ' + name);
  double moment = 0;
  std::ifstream(name + "/fault") >> moment;
  End end;
  end.seconds = result.end - moment;
  end.is_error = result.status != 0;
  end.is_named = result.text.find("rank " + number) != std::string::npos;
  // Every step before the fault has been made, and five steps make a checkpoint.
  const double last = fault.is_by_signal() ? newest_checkpoint(name) : fault.when - fault.when % 5;
  const Result after = run(1, "resume " + name + " 0 0");
  end.text = result.text + after.text;
  end.is_resumed = report_of(after, "resumed", 1).losses[0] == last;
  return end;
}

End fail(const std::string& kind, unsigned ranks, unsigned rank, unsigned when) {
  End end = end_of({kind, ranks, rank, when});
  const std::string fault = kind + " of rank " + std::to_string(rank) + " of " +
                            std::to_string(ranks) + " at " + std::to_string(when);
  EXPECT_TRUE(end.is_in_time()) << fault << ": " << end.seconds << " s\n" << end.text;
  EXPECT_TRUE(end.is_named) << fault << '\n' << end.text;
  EXPECT_TRUE(end.is_resumed) << fault << '\n' << end.text;
  return end;
}

TEST_F(Mpi, ARankThatThrowsEndsTheJob) {
  fail("throw", 2, 1, 12);
  fail("caught", 3, 0, 12);
}
TEST_F(Mpi, ARankThatIsKilledEndsTheJob) {
  fail("kill", 3, 2, 12);
  fail("shot", 2, 0, 150);
}
TEST_F(Mpi, ARankThatHangsEndsTheJob) { fail("hang", 2, 1, 7); }
TEST_F(Mpi, ARankThatLeavesEndsTheJob) {
  fail("exit", 2, 1, 12);
  fail("leave", 2, 1, 12);
}
TEST_F(Mpi, ANumberThatIsNotFiniteEndsTheJob) { fail("nan", 2, 1, 12); }

/// A row of the table of faults.
struct Row {
  unsigned faults = 0, in_time = 0, named = 0, resumed = 0;
  double longest = 0;
  void add(const End& end) {
    ++faults;
    in_time += end.is_in_time() ? 1 : 0;
    named += end.is_named ? 1 : 0;
    resumed += end.is_resumed ? 1 : 0;
    longest = std::max(longest, end.seconds);
  }
};

/// Random ranks and moments, as many faults as DYNET_TEST_FAULTS says; prints a table.
TEST_F(Mpi, RandomFaults) {
  const char* const count = std::getenv("DYNET_TEST_FAULTS");  // NOLINT(concurrency-mt-unsafe)
  const int faults = count == nullptr ? 4 : std::stoi(count);
  std::mt19937 engine(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  const auto draw = [&](unsigned below) {
    return std::uniform_int_distribution<unsigned>(0, below - 1)(engine);
  };
  constexpr const char* kKinds[] = {"shot", "throw",   "kill", "exit",  "leave",
                                    "hang", "stopped", "nan",  "caught"};
  std::map<std::string, Row> table;
  for (int i = 0; i < faults; ++i) {
    const std::string kind = kKinds[draw(static_cast<unsigned>(std::size(kKinds)))];
    const unsigned ranks = 2 + draw(3);
    const unsigned rank = draw(ranks);
    const bool is_by_signal = Fault{kind, ranks, rank, 0}.is_by_signal();
    table[kind].add(fail(kind, ranks, rank, is_by_signal ? 100 + draw(900) : draw(60)));
  }
  std::printf("%-8s %6s %13s %6s %7s %9s\n", "fault", "jobs", "within 10 s", "named", "resumed",
              "longest s");
  for (const auto& [kind, row] : table) {
    std::printf("%-8s %6u %13u %6u %7u %9.2f\n", kind.c_str(), row.faults, row.in_time, row.named,
                row.resumed, row.longest);
  }
}

}  // namespace
