// Requests at random times, one by one and joined: the highest rate of which the 99th percentile of
// the time to the answer is within a bound. Half of the requests are a tagger's, which asks once;
// half are a parser's, which asks for each of its 2n actions. Lengths are 5 to 45 words, times
// between requests exponential, and a time counts from the moment at which the request was due. The
// two servers differ in max_running: 1 or 64. `--quick` is a smoke test.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/birnn.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/serve.h"

#include "example.h"
#include "program.h"

namespace dynet::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<unsigned>;

struct Options {
  unsigned size = 256;
  std::string kind = "both";
  double bound = 0.1, seconds = 3, first = 50;
  unsigned steps = 8;
  bool is_quick = false;
};

constexpr unsigned kWords = 5000, kTags = 17, kActions = 3;

struct Model {
  Model(ParameterCollection& m, unsigned size)
      : words(m.add_lookup_parameters(kWords, {size})),
        reader(1, size, 2 * size, m),
        stack(1, size, size, m),
        tag(m.add_parameters({kTags, 2 * size})),
        action(m.add_parameters({kActions, size})),
        join(m.add_parameters({size, size})) {}
  void new_graph(ComputationGraph& cg) {
    reader.new_graph(cg);
    stack.new_graph(cg);
    stack.start_new_sequence();
    t = parameter(cg, tag);
    a = parameter(cg, action);
    j = parameter(cg, join);
  }
  LookupParameter words;
  BiRNNBuilder<VanillaLSTMBuilder> reader;
  VanillaLSTMBuilder stack;
  Parameter tag, action, join;
  Expression t{}, a{}, j{};
};

Task<unsigned> tags_of(ComputationGraph& cg, Model& model, Words words) {
  std::vector<Expression> xs;
  for (const unsigned word : words) {
    xs.push_back(lookup(cg, model.words, word));
  }
  std::vector<Expression> scores;
  for (const Expression& read : model.reader.transduce(xs)) {
    scores.push_back(model.t * read);
  }
  unsigned sum = 0;
  for (const Tensor& of_word : co_await values(scores)) {
    const std::vector<float> numbers = as_vector(of_word);
    sum +=
        static_cast<unsigned>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
  }
  co_return sum;
}

/// Joins of the stack's last vector and shifts of the next word, as the scores say.
Task<unsigned> parse(ComputationGraph& cg, Model& model, Words words) {
  RNNPointer state(-1);
  Expression top = lookup(cg, model.words, words[0]);
  unsigned sum = 0;
  for (std::size_t step = 0; step < 2 * words.size(); ++step) {
    model.stack.add_input(state, top);
    state = model.stack.state();
    const Expression h = model.stack.get_h(state)[0];
    const std::vector<float> scores = as_vector(co_await value(model.a * h));
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    sum += static_cast<unsigned>(best);
    top = best == 0 ? lookup(cg, model.words, words[step / 2]) : tanh(model.j * h + top);
  }
  co_return sum;
}

struct Outcome {
  std::vector<double> ms;  ///< of all requests, sorted
  double seconds = 0;
  ServeCounts counts;
  [[nodiscard]] double rate() const { return static_cast<double>(ms.size()) / seconds; }
  [[nodiscard]] double percent(double p) const {
    const auto rank = std::ceil(static_cast<double>(ms.size()) * p / 100);
    return ms[std::max(std::size_t{1}, static_cast<std::size_t>(rank)) - 1];
  }
  void print(const char* name) const {
    std::printf(
        "%-11s %7.1f answers/s  p50 %6.1f  p95 %6.1f  p99 %6.1f ms  %5.2f running a round\n", name,
        rate(), percent(50), percent(95), percent(99), together());
    std::fflush(stdout);
  }
  double turns = 0;  ///< answers to questions
  [[nodiscard]] double together() const {
    return turns / static_cast<double>(std::max<std::uint64_t>(1, counts.rounds));
  }
};

Outcome run(const Options& options, Model& model, unsigned running, double rate) {
  ServeOptions bounds;
  bounds.max_running = running;
  bounds.max_queue = 1'000'000;
  RequestServer<Model> server(model, bounds);
  example::Random random(7);
  const auto request = [&] {
    Words words(5 + random.below(41));
    for (unsigned& word : words) {
      word = random.below(kWords);
    }
    const bool is_tagger =
        options.kind == "tagger" || (options.kind == "both" && random.below(2) == 0);
    return std::pair(words, is_tagger);
  };
  const auto make = [](const std::pair<Words, bool>& one) {
    return [one](ComputationGraph& cg, Model& m) {
      return one.second ? tags_of(cg, m, one.first) : parse(cg, m, one.first);
    };
  };
  for (int warm = 0; warm < 10; ++warm) {
    server.submit(make(request())).get();
  }
  struct Sent {
    Clock::time_point due, ended;
  };
  const auto count = static_cast<std::size_t>(std::max(20.0, rate * options.seconds));
  std::vector<Sent> sent(count);
  Outcome outcome;
  std::vector<Answer<void>> answers;
  answers.reserve(count);
  const Clock::time_point begin = Clock::now();
  Clock::time_point due = begin;
  for (Sent& one : sent) {
    const double uniform = (random.below(1'000'000) + 0.5) / 1e6;
    due += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(-std::log(uniform) / rate));
    const auto asked = request();
    outcome.turns += asked.second ? 1.0 : 2.0 * static_cast<double>(asked.first.size());
    std::this_thread::sleep_until(due);
    one.due = due;
    answers.push_back(
        server.submit([work = make(asked), &one](ComputationGraph& cg, Model& m) -> Task<> {
          co_await work(cg, m);
          one.ended = Clock::now();
        }));
  }
  for (auto& answer : answers) {
    answer.get();
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  outcome.counts = server.counts();
  for (const Sent& one : sent) {
    outcome.ms.push_back(std::chrono::duration<double, std::milli>(one.ended - one.due).count());
  }
  std::sort(outcome.ms.begin(), outcome.ms.end());
  return outcome;
}

/// The run of the highest rate within the bound.
Outcome best_of(const Options& options, Model& model, unsigned running) {
  Outcome best;
  double low = 0;
  double high = 0;
  double rate = options.first;
  for (unsigned step = 0; step < options.steps; ++step) {
    Outcome one = run(options, model, running, rate);
    const bool is_fit = one.percent(99) <= 1000 * options.bound;
    std::printf("  %2u running, %7.1f/s ", running, rate);
    one.print(is_fit ? "" : "(too slow)");
    (is_fit ? low : high) = rate;
    if (is_fit || best.ms.empty()) {
      best = std::move(one);
    }
    rate = high == 0 ? 2 * low : (low + high) / 2;
  }
  return best;
}

void compare(const Options& options) {
  ParameterCollection m;
  Model model(m, options.size);
  std::printf("size %u, %s, p99 within %.0f ms\n", options.size, options.kind.c_str(),
              1000 * options.bound);
  const Outcome one = best_of(options, model, 1);
  const Outcome joined = best_of(options, model, 64);
  one.print("one by one");
  joined.print("joined");
  std::printf("%.2f times the answers\n", joined.rate() / one.rate());
}

int measure(int argc, char** argv) {
  Options options;
  const auto declare = [&options](CLI::App& app) {
    app.add_option("--size", options.size, "rows of the LSTMs")->check(CLI::Range(1U, 4096U));
    app.add_option("--kind", options.kind)->check(CLI::IsMember({"tagger", "parser", "both"}));
    app.add_option("--bound", options.bound, "seconds, of the 99th percentile");
    app.add_option("--seconds", options.seconds, "of each rate");
    app.add_option("--first", options.first, "rate");
    app.add_option("--steps", options.steps)->check(CLI::Range(1U, 30U));
    app.add_flag("--quick", options.is_quick, "a smoke test");
  };
  CLI::App app("Requests one by one and joined.");
  DynetParams params = extract_dynet_params(argc, argv);
  declare(app);
  CLI11_PARSE(app, argc, argv);
  if (options.is_quick) {
    options.size = 8;
    options.seconds = 0.05;
    options.steps = 2;
    options.first = 200;
  }
  initialize(params);
  compare(options);
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_serving_speed", argc, argv, dynet::bench::measure);
}
