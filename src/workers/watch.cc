#include "workers/watch.h"

#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace dynet::workers {
namespace {

double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return 0;
  }
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// The letter of /proc: R runs or wants to, S sleeps, D waits for memory or a file, T is stopped.
/// 'S' if it cannot be read.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end + 2 < text.size() && name_end != std::string::npos ? text[name_end + 2] : 'S';
}

}  // namespace

void Watch::restart(std::size_t workers) { seen_.assign(workers, {}); }

std::string Watch::look(std::size_t worker, pid_t pid, std::uint64_t pulse, double seconds) {
  constexpr double kLongestStep = 0.25;
  constexpr double kPatienceForMemory = 20;  // times as long
  constexpr double kLeastShare = 0.1;        // of a processor; with less it had no chance
  Seen& seen = seen_[worker];
  if (patience_ <= 0) {
    return {};
  }
  if (!seen.is_known || seen.pulse != pulse) {
    seen = {pulse, 0, cpu_seconds(pid), true};
    return {};
  }
  seen.silent += std::min(seconds, kLongestStep);
  if (seen.silent < patience_) {
    return {};
  }
  switch (state_of(pid)) {
    case 'R':
      return cpu_seconds(pid) - seen.cpu_seconds < kLeastShare * patience_ ? "" : "computes";
    case 'D':
      return seen.silent < kPatienceForMemory * patience_ ? "" : "waits for memory or a file";
    case 'T':
    case 't':
      return "is stopped";
    default:
      return "sleeps";
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "left with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace dynet::workers
