#pragma once

// The command line: what all programs share. What a program has beside it, it declares itself.

#include <cstddef>
#include <cstdint>
#include <string>

#include "dynet/init.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 has
class App;
}

namespace examples {

struct Options {
  // Data.
  std::string train;
  std::string dev;
  std::uint32_t seed = 1;
  // Training. 0: the default of the program.
  std::size_t updates = 0;
  unsigned epochs = 3;
  unsigned minibatch = 1;
  double max_seconds = 0;
  std::string trainer = "adam";
  double learning_rate = 0;
  std::string lookup_updates = "sparse";
  std::size_t test_every = 0;
  bool deterministic_init = false;
  std::string init_file;
  // Library.
  bool autobatch = true;
  std::string device = "CPU";
  // Output. Empty: a file of that kind in `out`; where that is empty too, none.
  std::string out;
  std::string model;
  std::string curve;
  std::string predict;
  std::size_t print_losses = 0;
  bool is_quiet = false;
  bool generates_data = false;  ///< where --train is not given; no option but the program's nature

  /// Answers come from a model that was saved, not from one trained now.
  [[nodiscard]] bool has_saved_model() const;
};

/// Declares the options above. `train_help` says what the file --train holds.
void declare_options(CLI::App& app, Options& options, const std::string& train_help);

/// Reads the command line and starts the library. Prints help or an error and returns false where
/// there is nothing more to do; then `exit_code` is set.
bool parse_options(CLI::App& app, int argc, char** argv, Options& options, int& exit_code);

/// Reads the command line, trains unless there is a saved model to ask, and predicts where asked.
/// Returns the exit code. `Program` has the Options of one program.
template <class Program>
int run_task(CLI::App& app, int argc, char** argv, Program& options, void (*train)(const Program&),
             void (*predict)(const Program&)) {
  int exit_code = 0;
  if (!parse_options(app, argc, argv, options, exit_code)) {
    return exit_code;
  }
  if (!options.has_saved_model()) {
    train(options);
  }
  if (!options.predict.empty()) {
    predict(options);
  }
  return 0;
}

/// The frame of main: calls `run`, and prints what goes wrong. Mistakes in data exit with 2, others
/// with 1.
int run_program(const char* name, int argc, char** argv, int (*run)(int, char**));

}  // namespace examples
