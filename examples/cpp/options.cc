// The command line of the paper's programs.

#include "options.h"

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "example.h"
#include "model_file.h"

namespace example {
namespace {

void check_options(PaperOptions& o) {
  if (!o.predict.empty() && o.out.empty()) {
    throw CLI::ValidationError("--predict", "needs --out");
  }
  if (!o.data.empty() && o.train.empty() && !has_model(o)) {
    throw CLI::ValidationError(
        "--train", o.predict.empty() ? "is required" : "is required: there is no " + o.model());
  }
  if (!o.dev.empty() && o.train.empty()) {
    throw CLI::ValidationError("--dev", "needs --train");
  }
  if (o.curve.empty() && !o.out.empty()) {
    o.curve = o.out + "/curve.csv";
  }
}

}  // namespace

void declare_paper_options(CLI::App& app, PaperOptions& o) {
  declare_options(app, o);
  app.callback([&o] { check_options(o); });  // a saved model answers without data
  if (!o.data.empty()) {
    app.get_option("--dev")->required(false);
  }
  app.add_option("--max-seconds", o.max_seconds, "end after so much CPU time of training")
      ->check(CLI::Range(1e-3, 1e9));
  app.add_option("--lookup-updates", o.lookup_updates, "of tables: sparse, dense or exact")
      ->check(CLI::IsMember({"sparse", "dense", "exact"}));
  app.add_option("--test-every", o.test_every, "updates between tests (an epoch)")
      ->check(CLI::Range(1U, 1000000000U));
  app.add_option("--print-losses", o.print_losses, "print the first N losses in full")
      ->check(CLI::Range(0U, 1000000000U));
  app.add_flag("--quiet", o.is_quiet, "print the results only");
  app.add_option("--curve", o.curve, "file for the learning curve (OUT/curve.csv)");
  app.add_option("--out", o.out, "folder for the model and the curve");
  app.add_option("--init-file", o.init_file, "initial values from a model file");
  app.add_option("--predict", o.predict, "answer this with the model in OUT");
}

void declare_sizes(CLI::App& app, Settings& settings,
                   const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    unsigned& value = settings.numbers.at(name);
    app.add_option("--" + name, value, text)->check(CLI::Range(value == 0 ? 0U : 1U, 1000000U));
  }
}

}  // namespace example
