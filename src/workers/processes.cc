#include "workers/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <thread>

#include "dynet/except.h"

namespace dynet::workers {
namespace {

/// So that no process writes what another had not written yet.
void flush_streams() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

/// In a new worker. A key that interrupts the program goes to all of its processes: the parent
/// decides what it means.
void prepare(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // it ended before
  }
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, nullptr);
}

}  // namespace

void Processes::add(const std::function<int()>& fork, const std::function<void()>& body) {
  pids_.reserve(pids_.size() + 1);
  flush_streams();
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    throw UsageError("workers: the system gives no process for worker " +
                     std::to_string(pids_.size()) + ": " + std::strerror(error));
  }
  if (child == 0) {
    prepare(owner_);
    body();
    flush_streams();
    _exit(0);  // what the parent made at its start is not this process's to destroy
  }
  pids_.push_back(child);
}

bool Processes::find_gone(End& end) {
  if (getpid() != owner_) {
    return false;
  }
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    int status = 0;
    const pid_t pid = pids_[i] == 0 ? 0 : waitpid(pids_[i], &status, WNOHANG);
    if (pid != 0 && (pid > 0 || errno == ECHILD)) {
      end = {i, pids_[i], status, pid > 0};
      pids_[i] = 0;
      return true;
    }
  }
  return false;
}

void Processes::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  if (getpid() != owner_) {
    return;
  }
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  End gone;
  while (std::any_of(pids_.begin(), pids_.end(), [](pid_t pid) { return pid != 0; })) {
    if (find_gone(gone)) {
      continue;
    }
    if (Clock::now() >= end) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Processes::kill_all() {
  constexpr double kPatience = 4;  // a process that waits for a file dies when that is over
  if (getpid() != owner_) {
    return;
  }
  for (const pid_t pid : pids_) {
    if (pid != 0) {
      kill(pid, SIGKILL);
    }
  }
  wait(kPatience);
  pids_.clear();
}

}  // namespace dynet::workers
