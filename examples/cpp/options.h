#pragma once

// The command line of the paper's programs: options of example.h, and options for models on disk,
// answers, and measured training.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "example.h"
#include "model_file.h"

namespace example {

struct PaperOptions : Options {
  PaperOptions() {
    epochs = 3;
    minibatch = 1;
    learning_rate = 0.001;
  }

  double max_seconds = 0;  ///< CPU time of training; 0: no limit
  std::string lookup_updates = "sparse";
  std::size_t test_every = 0;  ///< updates; 0: an epoch
  std::size_t print_losses = 0;
  bool is_quiet = false;
  std::string curve;
  std::string out;  ///< a folder
  std::string init_file;
  std::string predict;

  [[nodiscard]] std::string model() const { return out.empty() ? "" : out + "/model.safetensors"; }
};

/// Whether there is a saved model to ask; without one the program trains first.
inline bool has_model(const PaperOptions& o) {
  return !o.predict.empty() && std::filesystem::exists(o.model());
}

/// The options of example.h and these.
void declare_paper_options(CLI::App& app, PaperOptions& o);

/// An option for each number: its name and description.
void declare_sizes(CLI::App& app, Settings& settings,
                   const std::map<std::string, std::string>& texts);

/// The frame of main for a program that trains and predicts. `declare` names all its options,
/// declare_paper_options first.
template <class AllOptions>
int run_paper_program(int argc, char** argv, const char* about, AllOptions options,
                      void (*train)(const AllOptions&), void (*declare)(CLI::App&, AllOptions&),
                      void (*predict)(const AllOptions&)) {
  const auto declare_all = [&](CLI::App& app) { declare(app, options); };
  return run(argc, argv, about, options, declare_all, [&] {
    if (!has_model(options)) {
      train(options);
    }
    if (!options.predict.empty()) {
      predict(options);
    }
  });
}

}  // namespace example
