#pragma once

// Time and memory used by a process.

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace example {

/// CPU time of this process so far, all threads.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Wall time since the system started this process, its loading included; to 10 ms.
inline double seconds_since_start() {
  std::ifstream in("/proc/self/stat");
  std::string field;
  std::getline(in, field);
  // The program's name, the second field, may hold spaces and brackets.
  std::istringstream fields(field.substr(field.rfind(')') + 1));
  for (int i = 3; i <= 22; ++i) {
    fields >> field;
  }
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// The most memory that this process has held at once.
inline double peak_memory_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace example
