// Jobs of several ranks by mpirun: the numbers, checkpoints on other numbers of ranks, and ranks
// that fail. All faults, 50 of them at random moments:
//   mpi_test --gtest_filter='*RandomMoments*' --gtest_repeat=10
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
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

/// Debian's mpirun refuses root, and more ranks than cores, unless it is told.
constexpr const char* kAllow =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
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
  for (const unsigned ranks : {2U, 4U}) {
    const Report more = report_of(run(ranks, "train 60 sparse"), "values", ranks);
    EXPECT_NEAR(more.losses[0] / one.losses[0], 1.0, tolerance::kTrainedInFloat) << ranks;
  }
}

TEST_F(Mpi, AThousandUpdatesGiveTheSameBits) {
  for (const char* how : {"sparse", "dense", "exact"}) {
    report_of(run(2, std::string("train 1000 ") + how), "values", 2);
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

TEST_F(Mpi, WorkersWithinRanks) {
  const Report pool = report_of(run(2, "pool 60"), "values", 2);
  const Report alone = report_of(run(2, "train 60 sparse"), "values", 2);
  EXPECT_NEAR(pool.losses[0] / alone.losses[0], 1.0, tolerance::kTrainedInFloat);
}

/// A rank fails: the job ends in time, says which rank it was, and the last checkpoint loads.
void fail(const std::string& kind, unsigned ranks, unsigned rank, unsigned step) {
  const TemporaryFolder folder;
  const std::string name = folder.path().string();
  const std::string number = std::to_string(rank);
  const Result result =
      run(ranks, "fault " + kind + ' ' + number + ' ' + std::to_string(step) + ' ' + name);
  const std::string what =
      kind + " of rank " + number + " of " + std::to_string(ranks) + " at " + std::to_string(step);
  EXPECT_NE(result.status, 0) << what;
  double fault = 0;
  std::ifstream(name + "/fault") >> fault;
  EXPECT_LT(result.end - fault, 10) << what;
  EXPECT_NE(result.text.find("rank " + number), std::string::npos) << what << '\n' << result.text;
  const Result after = run(1, "resume " + name + ' ' + std::to_string(step + 2) + " 0");
  const Report resumed = report_of(after, "resumed", 1);
  // Every step before the fault has been made, and five steps make a checkpoint.
  EXPECT_EQ(resumed.losses[0], static_cast<double>(step / 5 * 5)) << what << '\n' << after.text;
}

TEST_F(Mpi, ARankThatThrowsEndsTheJob) {
  fail("throw", 2, 1, 12);
  fail("caught", 3, 0, 12);
}
TEST_F(Mpi, ARankThatIsKilledEndsTheJob) { fail("kill", 3, 2, 12); }
TEST_F(Mpi, ARankThatHangsEndsTheJob) { fail("hang", 2, 1, 7); }
TEST_F(Mpi, ARankThatLeavesEndsTheJob) {
  fail("exit", 2, 1, 12);
  fail("leave", 2, 1, 12);
}
TEST_F(Mpi, ANumberThatIsNotFiniteEndsTheJob) { fail("nan", 2, 1, 12); }

TEST_F(Mpi, RandomMoments) {
  static std::mt19937 engine(
      static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  constexpr const char* kKinds[] = {"throw", "caught", "kill", "exit", "leave", "hang", "nan"};
  for (int i = 0; i < 3; ++i) {
    const auto draw = [&](unsigned below) {
      return std::uniform_int_distribution<unsigned>(0, below - 1)(engine);
    };
    const unsigned ranks = 2 + draw(3);
    fail(kKinds[draw(7)], ranks, draw(ranks), draw(60));
  }
}

}  // namespace
