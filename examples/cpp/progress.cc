#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace examples {

std::string minutes(double seconds) {
  const long whole = std::lround(std::min(std::max(seconds, 0.0), 359999.0));
  char text[32];
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

Progress::Progress(std::size_t updates, std::string unit, bool is_quiet)
    : updates_(updates),
      unit_(std::move(unit)),
      is_quiet_(is_quiet),
      is_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::show(std::size_t update, double share, std::size_t items, double loss) {
  if (is_quiet_) {
    return;
  }
  const double seconds = running();
  const bool is_due = is_terminal_ ? seconds - last_seconds_ >= 0.1 : share - last_share_ >= 0.05;
  if (!is_due && update < updates_) {
    return;
  }
  last_seconds_ = seconds;
  last_share_ = share;
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  std::printf("%s%3.0f %%  %zu of %zu updates  %.0f %s a second  loss %.4f  %s%s%s left%s",
              is_terminal_ ? "\r" : "", 100 * share, update, updates_,
              seconds > 0 ? static_cast<double>(items) / seconds : 0.0, unit_.c_str(), loss,
              score_.c_str(), score_.empty() ? "" : "  ", minutes(left).c_str(),
              is_terminal_ ? "\x1b[K" : "\n");
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
