#include <cstdio>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "program.h"

namespace examples {

namespace {

void declare_training(CLI::App& app, Options& o) {
  app.add_option("--updates", o.updates, "end training after so many")->group("Training");
  app.add_option("--epochs", o.epochs, "passes over --train, where --updates is not given")
      ->check(CLI::Range(1, 100000))
      ->group("Training");
  app.add_option("--minibatch", o.minibatch, "examples an update")
      ->check(CLI::Range(1, 1024))
      ->group("Training");
  app.add_option("--max-seconds", o.max_seconds, "end training after so much CPU time")
      ->group("Training");
  app.add_option("--trainer", o.trainer, "adam or sgd")
      ->check(CLI::IsMember({"adam", "sgd"}))
      ->group("Training");
  app.add_option("--learning-rate", o.learning_rate, "(adam 0.001, sgd 0.02)")->group("Training");
  app.add_option("--lookup-updates", o.lookup_updates,
                 "of tables: rows that were looked up (sparse), all (dense), or the numbers of\n"
                 "dense at about the cost of sparse (exact)")
      ->check(CLI::IsMember({"sparse", "dense", "exact"}))
      ->group("Training");
  app.add_option("--test-every", o.test_every, "updates between tests on --dev (an epoch)")
      ->group("Training");
  app.add_flag("--deterministic-init", o.deterministic_init,
               "initial values by a formula that is the same in every language")
      ->group("Training");
  app.add_option("--init-file", o.init_file, "initial values from a model file")->group("Training");
}

void declare_library(CLI::App& app, Options& o) {
  app.add_option("--autobatch", o.autobatch, "let the library run like nodes together, 0 or 1")
      ->group("Library");
  app.add_option("--device", o.device, "CPU, or CPU:double")
      ->check(CLI::IsMember({"CPU", "CPU:double"}))
      ->group("Library");
}

void declare_output(CLI::App& app, Options& o) {
  app.add_option("--out", o.out, "folder for what is written")->group("Output");
  app.add_option("--model", o.model, "model file (OUT/model.txt)")->group("Output");
  app.add_option("--curve", o.curve, "learning curve (OUT/curve.csv)")->group("Output");
  app.add_option("--predict", o.predict,
                 "answer this with the model file, after training if there is none")
      ->group("Output");
  app.add_option("--print-losses", o.print_losses, "print the first N losses in full")
      ->group("Output");
  app.add_flag("--quiet", o.is_quiet, "print the results only")->group("Output");
}

/// Starts the library with `params`, the --dynet-* options, and what options of this program say.
void start_library(DynetParams params, const Options& options) {
  params.random_seed = params.random_seed != 0 ? params.random_seed : options.seed;
  params.autobatch = options.autobatch ? params.autobatch : 0;
  params.device = options.device != "CPU" ? options.device : params.device;
  initialize(params);
}

void set_files(Options& options) {
  if (!options.out.empty()) {
    options.model = options.model.empty() ? options.out + "/model.txt" : options.model;
    options.curve = options.curve.empty() ? options.out + "/curve.csv" : options.curve;
  }
}

void check_data(const Options& options) {
  if (!options.dev.empty() && options.train.empty()) {
    throw CLI::ValidationError("--dev", "needs --train");
  }
  if (!options.predict.empty() && options.model.empty()) {
    throw CLI::ValidationError("--predict", "needs --model or --out");
  }
  if (options.train.empty() && !options.generates_data && !options.has_saved_model()) {
    throw CLI::ValidationError("--train", options.predict.empty()
                                              ? "is required"
                                              : "is required: there is no '" + options.model + "'");
  }
}

}  // namespace

bool Options::has_saved_model() const {
  return !predict.empty() && !model.empty() && std::filesystem::exists(model);
}

void declare_options(CLI::App& app, Options& options, const std::string& train_help) {
  app.add_option("--train", options.train, train_help)->group("Data");
  app.add_option("--dev", options.dev, "the same, to test on")->group("Data");
  app.add_option("--seed", options.seed, "of the data and of the library")->group("Data");
  declare_training(app, options);
  declare_library(app, options);
  declare_output(app, options);
}

void declare_sizes(CLI::App& app, Settings& sizes,
                   const std::vector<std::pair<std::string, std::string>>& help) {
  for (const auto& [name, text] : help) {
    unsigned& value = sizes.number(name);
    app.add_option("--" + name, value, text + " (" + std::to_string(value) + ")")
        ->check(CLI::Range(1, 4096))
        ->group("Model");
  }
}

bool parse_options(CLI::App& app, int argc, char** argv, Options& options, int& exit_code) {
  const DynetParams params = extract_dynet_params(argc, argv);
  try {
    app.parse(argc, argv);
    set_files(options);
    check_data(options);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e);
    return false;
  }
  if (options.learning_rate <= 0) {
    options.learning_rate = options.trainer == "adam" ? 0.001 : 0.02;
  }
  start_library(params, options);
  return true;
}

int run_program(const char* name, int argc, char** argv, int (*run)(int, char**)) {
  try {
    return run(argc, argv);
  } catch (const DataError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  }
}

}  // namespace examples
