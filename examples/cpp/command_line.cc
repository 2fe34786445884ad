// The command line that all examples share.

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "dynet/init.h"
#include "dynet/text.h"
#ifdef EXAMPLES_HAVE_MPI
#include "dynet/mpi.h"
#endif

#include "example.h"

namespace example {
namespace {

std::shared_ptr<distributed::Exchange> all_ranks;

void start_ranks() {
#ifdef EXAMPLES_HAVE_MPI
  all_ranks = mpi::start();
  if (all_ranks->rank() != 0) {  // one rank is enough to read
    static_cast<void>(std::freopen("/dev/null", "w", stdout));
  }
#else
  throw std::runtime_error(
      "--distributed: this program was built without MPI; want a build that finds it "
      "(Debian: openmpi-bin libopenmpi-dev)");
#endif
}

/// Prints an error, which ends the job if there is one.
int failed(const char* text, int status) {
#ifdef EXAMPLES_HAVE_MPI
  if (all_ranks != nullptr) {
    mpi::abort(text);
  }
#endif
  std::fprintf(stderr, "%s\n", text);
  return status;
}

}  // namespace

const std::shared_ptr<distributed::Exchange>& ranks() { return all_ranks; }

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
  app.add_flag("--distributed", o.is_distributed, "as one rank of a job: mpirun -n 2 PROGRAM ...");
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
    if (options.is_distributed) {
      start_ranks();
    }
    initialize(params);
    program();
    all_ranks = nullptr;  // waits for the others
    return 0;
  } catch (const text::TextError& error) {
    return failed(error.what(), 2);
  } catch (const std::exception& error) {
    return failed((std::string(argv[0]) + ": " + error.what()).c_str(), 1);
  }
}

int run(int argc, char** argv, const char* about, Options options,
        void (*program)(const Options&)) {
  return run(
      argc, argv, about, options, [&](CLI::App& app) { declare_options(app, options); },
      [&] { program(options); });
}

}  // namespace example
