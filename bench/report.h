#pragma once

// The one table: rows that the parts of the bench add, printed for people, or as CSV or JSON.

#include <string>
#include <vector>

#include "probes.h"

namespace dynet::bench {

/// The direction of a row's bound.
enum class Want { kNothing, kAtMost, kAtLeast };

struct Row {
  std::string group;
  std::string name;
  double value = 0;
  std::string unit;
  Want want = Want::kNothing;
  double bound = 0;  ///< in the unit of the value
  std::string note;

  /// 1 or more if the bound is met; 0 without a bound.
  [[nodiscard]] double share() const;
};

class Report {
 public:
  explicit Report(const Machine& machine) : machine_(machine) {}
  void add(Row row);
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string json() const;
  /// Print each row when it is added.
  void print_progress(bool on) { prints_ = on; }

 private:
  Machine machine_;
  std::vector<Row> rows_;
  bool prints_ = false;
};

/// Settings of a run.
struct Settings {
  double seconds = 0.2;   ///< of one round of a row of the models; the best of three counts
  bool is_quick = false;  ///< a smoke test: every row, with worthless figures
};

// The parts. Each part adds its rows.
void measure_machine(Report& report);
void measure_graph(Report& report, const Settings& settings);
void measure_kernels(Report& report, const Settings& settings);
void measure_ops(Report& report, const Settings& settings);
/// The texts of all cases, a line each.
void print_op_cases();
/// Reads lines with the seconds of a round, a number of rounds and a case; answers each by its
/// OpSeconds.
void serve_op_cases();
void measure_models(Report& report, const Settings& settings);
/// One row per recurrent builder.
void measure_builders(Report& report, const Settings& settings);
/// The networks in plain operations, beside the same with builders.
void measure_plain(Report& report, const Settings& settings);
/// `self`: this program, which is started again; `python`: an interpreter, or "" for none.
void measure_processes(Report& report, const std::string& self, const std::string& python);
/// Time of one pass of Adam over `n` parameters.
double adam_seconds(std::size_t n);
/// Updates of the tree LSTM, for the processes.
void train_a_little(int updates);
/// Runs the started-again program: "start", "trees", "ops" or "op-cases".
int run_as_child(const std::string& what);

}  // namespace dynet::bench
