// The command line that all examples share.

#include <cstdio>
#include <exception>
#include <functional>

#include <CLI/CLI.hpp>

#include "dynet/init.h"
#include "dynet/text.h"

#include "example.h"

namespace example {

void declare_options(CLI::App& app, Options& o) {
  const CLI::Range counts(1U, 1000000000U);
  if (!o.data.empty()) {
    app.add_option("--train", o.train, o.data);
    app.add_option("--dev", o.dev, "the same, to test on")->required();
    app.add_option("--epochs", o.epochs, "passes over the examples, without --updates")
        ->check(counts);
  }
  app.add_option("--updates", o.updates, "end after so many")->check(counts);
  app.add_option("--minibatch", o.minibatch, "examples per update")->check(CLI::Range(1, 65536));
  app.add_option("--learning-rate", o.learning_rate, "of Adam")->check(CLI::Range(1e-9, 1e3));
  app.add_option("--seed", o.seed, "of the data and of the library");
  app.callback([&o] {
    if (!o.data.empty() && o.train.empty()) {
      throw CLI::ValidationError("--train", "is required");
    }
  });
}

int run(int argc, char** argv, const char* about, const Options& options,
        const std::function<void(CLI::App&)>& declare, const std::function<void()>& program) {
  try {
    DynetParams params = extract_dynet_params(argc, argv);
    CLI::App app(about);
    app.option_defaults()->always_capture_default();
    declare(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error);
    }
    params.random_seed = params.random_seed != 0 ? params.random_seed : options.seed;
    initialize(params);
    program();
    return 0;
  } catch (const text::TextError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

int run(int argc, char** argv, const char* about, Options options,
        void (*program)(const Options&)) {
  return run(
      argc, argv, about, options, [&](CLI::App& app) { declare_options(app, options); },
      [&] { program(options); });
}

}  // namespace example
