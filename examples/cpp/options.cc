#include "options.h"

#include <CLI/CLI.hpp>

namespace examples {

namespace {

void declare(CLI::App& app, Options& o) {
  app.add_option("--train", o.train, "bracketed trees to learn from; without it ListOps")
      ->group("Data");
  app.add_option("--dev", o.dev, "bracketed trees to test on")->group("Data");
  app.add_option("--seed", o.seed, "of the data and of the library")->group("Data");
  app.add_option("--test-trees", o.test_trees, "held-out trees of ListOps")
      ->check(CLI::Range(1, 1000000))
      ->group("Data");
  app.add_option("--hidden", o.hidden, "size of a node's state (128)")
      ->check(CLI::Range(1, 4096))
      ->group("Training");
  app.add_option("--updates", o.updates, "number of updates (ListOps 42000)")->group("Training");
  app.add_option("--epochs", o.epochs, "passes over --train, where --updates is not given")
      ->group("Training");
  app.add_option("--minibatch", o.minibatch, "trees an update")
      ->check(CLI::Range(1, 1024))
      ->group("Training");
  app.add_option("--max-seconds", o.max_seconds, "end ListOps training after this time")
      ->group("Training");
  app.add_option("--trainer", o.trainer, "adam or sgd")
      ->check(CLI::IsMember({"adam", "sgd"}))
      ->group("Training");
  app.add_option("--learning-rate", o.learning_rate, "(adam 0.001, sgd 0.02)")->group("Training");
  app.add_flag("--deterministic-init", o.deterministic_init,
               "initial values by a formula that is the same in every language")
      ->group("Training");
  app.add_option("--init-file", o.init_file, "initial values from a model file")->group("Training");
  app.add_option("--autobatch", o.autobatch, "let the library run like nodes together, 0 or 1")
      ->group("Library");
  app.add_option("--device", o.device, "CPU, or CPU:double")
      ->check(CLI::IsMember({"CPU", "CPU:double"}))
      ->group("Library");
  app.add_option("--out", o.out, "folder for what is written")->group("Output");
  app.add_option("--model", o.model, "model file (OUT/model.txt)")->group("Output");
  app.add_option("--curve", o.curve, "learning curve (OUT/curve.csv)")->group("Output");
  app.add_option("--dot", o.dot, "graph of one tree (OUT/graph.dot)")->group("Output");
  app.add_option("--predict", o.predict,
                 "evaluate this with the model file, after training if there is none:\n"
                 "\"[MAX 3 [MIN 4 5]]\", or \"MAX 3 MIN 4 5 ] ]\", or a bracketed tree")
      ->group("Output");
  app.add_option("--print-losses", o.print_losses, "print the first N losses in full")
      ->group("Output");
  app.add_flag("--quiet", o.is_quiet, "print the final table only")->group("Output");
}

}  // namespace

bool parse_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app(
      "Trains a tree LSTM, one tree at a time, on lists such as [MAX 3 [MIN 4 5] 1] that it "
      "generates itself,\nor with --train on bracketed trees such as (3 (2 It) (4 works)).");
  declare(app, options);
  try {
    app.parse(argc, argv);
    if (!options.dev.empty() && options.train.empty()) {
      throw CLI::ValidationError("--dev", "needs --train");
    }
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e);
    return false;
  }
  const std::string folder = options.out + "/";
  options.model = options.model.empty() ? folder + "model.txt" : options.model;
  options.curve = options.curve.empty() ? folder + "curve.csv" : options.curve;
  options.dot = options.dot.empty() ? folder + "graph.dot" : options.dot;
  if (options.learning_rate <= 0) {
    options.learning_rate = options.trainer == "adam" ? 0.001 : 0.02;
  }
  if (options.updates == 0 && options.is_listops()) {
    options.updates = 42000;
  }
  return true;
}

}  // namespace examples
