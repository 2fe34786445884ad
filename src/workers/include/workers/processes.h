#pragma once

// The workers as processes of the system.

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace dynet::workers {

/// Before a fork, so that no process writes text that another process had buffered.
void flush_streams();
/// In a new process: the system kills the process when the thread that made it ends.
void end_with(pid_t parent);

/// The end of a worker.
struct End {
  std::size_t worker = 0;
  pid_t pid = 0;
  int status = 0;
  bool is_known = false;  ///< false: somebody else waited for it
};

/// Children of the process that made this object; in a copy of another process all functions but
/// add() do nothing. Invariant: no listed child was waited for. Thread rule: one at a time; the
/// children die with the thread that made them.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() { kill_all(); }

  /// Adds a process, which runs `body` and ends; an exception goes to standard error, and the
  /// process ends with status 1. UsageError if the system gives no process.
  void add(const std::function<int()>& fork, const std::function<void()>& body);
  /// Finds and forgets the first child that has ended; false if all live.
  bool find_gone(End& end);
  /// Waits so long for all to end by themselves.
  void wait(double seconds);
  /// Ends and forgets all.
  void kill_all();
  [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }

 private:
  pid_t owner_ = getpid();
  std::vector<pid_t> pids_;  ///< 0: gone
};

}  // namespace dynet::workers
