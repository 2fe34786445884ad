#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace examples {

std::string minutes(double seconds) {
  const int whole = static_cast<int>(std::min(std::max(seconds, 0.0), 359999.0) + 0.5);
  char text[32];
  std::snprintf(text, sizeof text, "%d:%02d", whole / 60, whole % 60);
  return text;
}

Progress::Progress(std::size_t total, std::string unit, bool is_quiet)
    : total_(total),
      unit_(std::move(unit)),
      is_quiet_(is_quiet),
      is_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::show(std::size_t done, double seconds, double share, double loss, double accuracy) {
  const bool is_due = is_terminal_ ? seconds - last_seconds_ >= 0.1 : share - last_share_ >= 0.05;
  if (is_quiet_ || (!is_due && done < total_)) {
    return;
  }
  last_seconds_ = seconds;
  last_share_ = share;
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  std::printf("%s%3.0f %%  %zu of %zu %s  %.0f a second  loss %.4f  accuracy %.1f %%  %s left%s",
              is_terminal_ ? "\r" : "", 100 * share, done, total_, unit_.c_str(),
              seconds > 0 ? static_cast<double>(done) / seconds : 0.0, loss, 100 * accuracy,
              minutes(left).c_str(), is_terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
  has_line_ = is_terminal_;
}

void Progress::finish() {
  if (has_line_) {
    std::printf("\n");
    has_line_ = false;
  }
}

}  // namespace examples
