#pragma once

// Progress on the terminal: one line that is rewritten, or now and then a line in a log.

#include <chrono>
#include <cstddef>
#include <string>

namespace examples {

/// Seconds that somebody lets run and stops, as for a clock at a chess board.
class Stopwatch {
 public:
  void start() { since_ = Clock::now(); }
  void stop() { seconds_ += std::chrono::duration<double>(Clock::now() - since_).count(); }
  /// Up to the last stop().
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Up to now; the watch is running.
  [[nodiscard]] double running() const {
    return seconds_ + std::chrono::duration<double>(Clock::now() - since_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since_ = Clock::now();
  double seconds_ = 0;
};

/// "1:05"
std::string minutes(double seconds);

/// Shows where the training is. Thread rule: one thread.
class Progress {
 public:
  /// `unit` is what is counted, "trees".
  Progress(std::size_t total, std::string unit, bool is_quiet);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Prints at most ten times a second (a terminal) or twenty times in all (anything else).
  /// `done` of `total` took `seconds`, which leave out what is not training.
  void show(std::size_t done, double seconds, double share, double loss, double accuracy);
  /// Ends the line, so that others may print.
  void finish();

 private:
  std::size_t total_;
  std::string unit_;
  bool is_quiet_;
  bool is_terminal_;
  bool has_line_ = false;
  double last_seconds_ = -1;
  double last_share_ = 0;
};

}  // namespace examples
