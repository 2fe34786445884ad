#pragma once

// Whether workers live.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dynet::workers {

/// Tells a worker that hangs from a worker that works, during one call.
///
/// A worker is silent while its count of signs of life stands. After `patience` silent seconds a
/// worker hangs, unless it had less than a tenth of a processor in that time, or waits for memory
/// or a file: no worker is blamed for a machine that is busy or short of memory. Time is counted in
/// steps of the parent's own looks, each at most a quarter of a second, so that a program that was
/// stopped and goes on does not take its workers' sleep for a fault.
class Watch {
 public:
  explicit Watch(double patience) : patience_(patience) {}
  void restart(std::size_t workers);
  /// Looks at one worker that was given work; `seconds` since the last look. Returns the state of a
  /// worker that hangs, such as "is stopped"; else an empty text.
  std::string look(std::size_t worker, pid_t pid, std::uint64_t pulse, double seconds);

 private:
  struct Seen {
    std::uint64_t pulse = 0;
    double silent = 0;       ///< seconds
    double cpu_seconds = 0;  ///< of the worker, when it was last heard of
    bool is_known = false;
  };
  double patience_;
  std::vector<Seen> seen_;
};

/// How a process ended, by the status that waitpid() gave: "was killed by signal 9 (Killed)".
[[nodiscard]] std::string describe_end(int status);

}  // namespace dynet::workers
