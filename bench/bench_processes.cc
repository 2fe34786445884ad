// Figures of a fresh process: start-up time and memory. And the rows of Python, measured by a
// process of its own.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "report.h"

namespace dynet::bench {

namespace {

struct Child {
  double seconds = 0;
  double peak_mib = 0;
  bool is_ok = false;
};
/// The child prints its own peak, because the system's figure counts the time before exec too.
Child run_child(const std::string& self, const char* what) {
  Child result;
  int ends[2];
  if (pipe(ends) != 0) {
    return result;
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(self.c_str(), self.c_str(), "--as-child", what, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  char buffer[256];
  for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0;
       n = read(ends[0], buffer, sizeof buffer)) {
    output.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return result;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.peak_mib = std::atof(output.c_str()) / 1024;
  result.is_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

/// Peak memory of this process in KiB: from /proc, elsewhere the system's count.
double peak_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) {
      return std::atof(line.c_str() + 6);
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss);
}

void add_python_rows(Report& report, const std::string& python) {
  const std::string command = "'" + python + "' '" DYNET_BENCH_DIR "/python_bench.py' --lines 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return;
  }
  std::string output;
  char buffer[512];
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) {
    output += buffer;
  }
  const bool is_ok = pclose(pipe) == 0;
  // Lines "name \t value \t unit \t bound or 0 \t note".
  std::istringstream lines(output);
  std::string line;
  std::string last;
  bool has_rows = false;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string name, value, unit, bound, note;
    if (std::getline(fields, name, '\t') && std::getline(fields, value, '\t') &&
        std::getline(fields, unit, '\t') && std::getline(fields, bound, '\t')) {
      std::getline(fields, note, '\t');
      const double most = std::atof(bound.c_str());
      report.add({"Python", name, std::atof(value.c_str()), unit,
                  most > 0 ? Want::kAtMost : Want::kNothing, most, note});
      has_rows = true;
    } else {
      last = line;
    }
  }
  if (!is_ok || !has_rows) {
    report.add({"Python", "not measured", 0, "", Want::kNothing, 0, last.empty() ? python : last});
  }
}

}  // namespace

int run_as_child(const std::string& what) {
  if (what == "op-cases" || what == "ops") {
    what == "ops" ? serve_op_cases() : print_op_cases();
    return 0;
  }
  train_a_little(what == "trees" ? 300 : 1);
  std::printf("%.0f\n", peak_kib());
  return 0;
}

void measure_processes(Report& report, const std::string& self, const std::string& python) {
  double start_seconds = 1e9;
  Child child;
  for (int i = 0; i < 5; ++i) {
    child = run_child(self, "start");
    start_seconds = std::min(start_seconds, child.seconds);
  }
  if (child.is_ok) {
    report.add({"process", "start, tree model made, one update", start_seconds * 1e3, "ms",
                Want::kAtMost, 100, ""});
    report.add({"process", "peak memory of that", child.peak_mib, "MiB", Want::kNothing, 0,
                "table of 18,300 words"});
  }
  child = run_child(self, "trees");
  if (child.is_ok) {
    report.add({"process", "peak memory, tree LSTM, 300 updates", child.peak_mib, "MiB",
                Want::kAtMost, 300, ""});
  }
  if (!python.empty()) {
    add_python_rows(report, python);
  }
}

}  // namespace dynet::bench
