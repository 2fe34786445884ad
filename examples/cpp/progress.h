#pragma once

// Progress on the terminal: one line that is rewritten, or now and then a line in a log.

#include <chrono>
#include <cstddef>
#include <string>

namespace examples {

/// "1:05"
std::string minutes(double seconds);

/// Shows where the training is. Thread rule: one thread.
class Progress {
 public:
  /// `unit` is what is learned from, "words".
  Progress(std::size_t updates, std::string unit, bool is_quiet);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Prints at most ten times a second (a terminal) or twenty times in all (anything else).
  /// `share`: how much of the training is done; it took as much of the time that pause() leaves.
  void show(std::size_t update, double share, std::size_t items, double loss);
  /// Shown from now on, "accuracy 51.2 %".
  void set_score(std::string score) { score_ = std::move(score); }
  /// What happens in between is not training.
  void pause() { seconds_ = running(); }
  void resume() { since_ = Clock::now(); }
  /// Ends the line, so that others may print.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double running() const {
    return seconds_ + std::chrono::duration<double>(Clock::now() - since_).count();
  }

  std::size_t updates_;
  std::string unit_;
  std::string score_;
  bool is_quiet_;
  bool is_terminal_;
  bool has_line_ = false;
  double seconds_ = 0;
  Clock::time_point since_ = Clock::now();
  double last_seconds_ = -1;
  double last_share_ = 0;
};

}  // namespace examples
