#pragma once

// The command line of the example.

#include <cstddef>
#include <cstdint>
#include <string>

namespace examples {

struct Options {
  // Data. Without `train`: ListOps, generated.
  std::string train;
  std::string dev;
  std::uint32_t seed = 1;
  std::size_t test_trees = 2000;
  unsigned hidden = 128;
  // Training. 0: the default of the task.
  std::size_t updates = 0;
  unsigned epochs = 3;
  unsigned minibatch = 1;
  double max_seconds = 110;
  std::string trainer = "adam";
  double learning_rate = 0;
  bool deterministic_init = false;
  std::string init_file;
  // Library.
  bool autobatch = true;
  std::string device = "CPU";
  // Output. Empty: a file of that kind in `out`.
  std::string out = "listops-output";
  std::string model;
  std::string curve;
  std::string dot;
  std::string predict;
  std::size_t print_losses = 0;
  bool is_quiet = false;

  [[nodiscard]] bool is_listops() const { return train.empty(); }
};

/// Reads the command line and fills in the defaults that depend on other options. Prints help or an
/// error and returns false where there is nothing more to do; then `exit_code` is set.
bool parse_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace examples
