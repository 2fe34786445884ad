#include "measure.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace examples {

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double seconds_since_start() {
  std::ifstream in("/proc/self/stat");
  std::string text;
  std::getline(in, text);
  // The program's name, the second field, may hold spaces; it ends at the last bracket. The start,
  // in ticks since the machine's, is field 22.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) {
    fields >> field;
  }
  const double start = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return seconds_of(CLOCK_BOOTTIME) - start;
}

double peak_memory_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace examples
