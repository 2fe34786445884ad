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
#include <exception>
#include <iostream>
#include <thread>

#include "dynet/except.h"

#include "kernels/team.h"

namespace dynet::workers {

void flush_streams() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

void end_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // it ended before
  }
}

namespace {

/// In a new worker. A key that interrupts the program goes to all of its processes: the parent
/// decides the reaction.
void prepare(pid_t parent) {
  end_with(parent);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, nullptr);
}

/// The whole life of a worker. Objects made by the parent are not destroyed here, and the parent's
/// callers do not go on here: nothing returns or is thrown from here on.
[[noreturn]] void be_child(pid_t parent, std::size_t number, const std::function<void()>& body) {
  const auto report = [number](const char* what) {
    std::fprintf(stderr, "workers: worker %zu ends: %s\n", number, what);
  };
  try {
    prepare(parent);
    body();
    flush_streams();
  } catch (const std::exception& e) {
    report(e.what());
    _exit(1);
  } catch (...) {
    report("an exception that is no std::exception");
    _exit(1);
  }
  _exit(0);
}

}  // namespace

void Processes::add(const std::function<int()>& fork, const std::function<void()>& body) {
  pids_.reserve(pids_.size() + 1);
  flush_streams();
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    throw errors::UsageError("workers: the system gives no process for worker " +
                             std::to_string(pids_.size()) + ": " + std::strerror(error));
  }
  if (child == 0) {
    kernels::set_one_thread_by_default();
    be_child(owner_, pids_.size(), body);
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
