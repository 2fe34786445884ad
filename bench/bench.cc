// One command, one table: the costs of the library on this machine. One pinned core, the best of
// three rounds for each row, the machine's own limits from the same run.
//
//   dynet_bench                      everything
//   dynet_bench --only graph         one part; --help names the others
//   dynet_bench --probes 76000       the numbers for bench/paper: the machine, a pass of Adam
//   dynet_bench --csv rows.csv --json rows.json

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#if defined(__linux__)
#include <sched.h>
#endif

#include "dynet/init.h"

#include "program.h"
#include "report.h"

namespace dynet::bench {

void measure_machine(Report& report) {
  const Machine& m = report.machine();
  const auto add = [&](const char* name, double value, const char* unit, const char* note) {
    report.add({"this machine, one core", name, value, unit, Want::kNothing, 0, note});
  };
  add("multiply-add", m.fma_gflops, "GF/s", m.simd);
  add("read L1", m.l1_read_gbs, "GB/s", "");
  add("read L2", m.l2_read_gbs, "GB/s", "");
  add("read L3", m.l3_read_gbs, "GB/s", "");
  add("read, modify, write L1", m.l1_rmw_gbs, "GB/s", "bytes read and written");
  add("read, modify, write L2", m.l2_rmw_gbs, "GB/s", "");
  add("read, modify, write L3", m.l3_rmw_gbs, "GB/s", "");
}

namespace {

/// Pins this thread to its current core. Returns whether that worked.
bool pin() {
#if defined(__linux__)
  const int core = sched_getcpu();
  if (core < 0) {
    return false;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(core), &cores);
  return sched_setaffinity(0, sizeof cores, &cores) == 0;
#else
  return false;
#endif
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + file + "'");
  }
}

void print_probes(const std::vector<std::size_t>& sizes) {
  const Machine m = probe_machine();
  std::printf("multiply-add GF/s %.6g\nread L2 GB/s %.6g\nread L3 GB/s %.6g\n", m.fma_gflops,
              m.l2_read_gbs, m.l3_read_gbs);
  for (const std::size_t n : sizes) {
    std::printf("adam %zu %.6g\n", n, adam_seconds(n));
  }
}

/// `only`: names of parts; empty for all.
void measure_parts(Report& report, const Settings& settings, const std::vector<std::string>& only,
                   const std::string& python) {
  const auto wanted = [&](const char* part) {
    return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
  };
  measure_machine(report);
  if (wanted("graph")) {
    measure_graph(report, settings);
  }
  if (wanted("kernels")) {
    measure_kernels(report, settings);
  }
  if (wanted("ops")) {
    measure_ops(report, settings);
  }
  if (wanted("models")) {
    measure_models(report, settings);
  }
  if (wanted("builders")) {
    measure_builders(report, settings);
  }
  if (wanted("plain")) {
    measure_plain(report, settings);
  }
  if (wanted("processes")) {
    measure_processes(report, "/proc/self/exe", python);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Measures the library on this machine and prints one table.");
  std::vector<std::string> only;
  std::string csv, json, child, python = "python3";
  std::vector<std::size_t> probes;
  Settings settings;
  app.add_option("--only", only,
                 "graph, kernels, ops, models, builders, plain or processes; may be given again")
      ->check(
          CLI::IsMember({"graph", "kernels", "ops", "models", "builders", "plain", "processes"}));
  app.add_option("--csv", csv, "write the rows to this file");
  app.add_option("--json", json, "write the rows to this file");
  app.add_option("--python", python,
                 "interpreter that has the module dynet; '' for none (python3)");
  app.add_option("--probes", probes,
                 "print only this machine's limits and the seconds of a pass of Adam over so many "
                 "parameters, for programs: lines of a name and a number");
  app.add_flag("--quick", settings.is_quick, "a smoke test: short rounds, fewer sizes");
  app.add_option("--as-child", child, "")->group("");
  CLI11_PARSE(app, argc, argv);

  DynetParams params;
  params.random_seed = 1;
  initialize(params);
  if (!child.empty()) {
    return run_as_child(child);
  }
  if (settings.is_quick) {
    settings.seconds = 0.02;
  }
  const bool is_pinned = pin();
  if (!probes.empty()) {
    print_probes(probes);
    return 0;
  }
  Report report(probe_machine());
  std::printf("dynet_bench: one core%s, best of three\n\n", is_pinned ? ", pinned" : "");
  report.print_progress(true);
  measure_parts(report, settings, only, python);
  // A machine that is busy with other things shows here: the rows in between are then too low.
  const Machine again = probe_machine();
  report.add({"this machine, at the end", "multiply-add", again.fma_gflops, "GF/s", Want::kNothing,
              0, ""});
  report.add(
      {"this machine, at the end", "read L2", again.l2_read_gbs, "GB/s", Want::kNothing, 0, ""});
  if (!csv.empty()) {
    write(csv, report.csv());
  }
  if (!json.empty()) {
    write(json, report.json());
  }
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_bench", argc, argv, dynet::bench::run);
}
