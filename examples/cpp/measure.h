#pragma once

// What a process has used.

namespace examples {

/// CPU time of this process so far, all threads.
double cpu_seconds();
/// Wall time since this process was started by the system, its loading included; to 10 ms.
double seconds_since_start();
/// The most memory that this process has held at once.
double peak_memory_mib();

/// CPU seconds that somebody lets run and stops, as for a clock at a chess board.
class Stopwatch {
 public:
  void start() { since_ = cpu_seconds(); }
  void stop() { seconds_ += cpu_seconds() - since_; }
  /// Up to the last stop().
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double since_ = 0;
  double seconds_ = 0;
};

}  // namespace examples
