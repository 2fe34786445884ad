// The growth of an example's cost: with the length of a sentence, the size of a tree, the words of
// a table and of a softmax, the size of the state, the sentences of an update. And the gain of a
// second thread, with a graph each on one model. Prints CSV, which paper/plot.py draws;
// docs/scaling.md has the pictures.
//
//   dynet_scaling [--quick] [--only WORD] > scaling.csv
//
// A series is a `what`; its `program`s are the lines of the picture. Every point is a training
// step, Adam included, in time of the processor, which neighbours hardly change; for the threads in
// wall time. The best of three rounds counts.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/training.h"

#include "probes.h"
#include "program.h"
#include "random_trees.h"
#include "rnnlm_model.h"
#include "tree_model.h"

namespace dynet::bench {
namespace {

struct Options {
  double seconds = 0.2;  ///< of a round
  bool is_quick = false;
  std::string only;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Processor time of this process, all threads together.
double cpu_seconds_a_call(const std::function<void()>& f, double round_seconds, int rounds) {
  f();
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start = cpu_seconds();
    double seconds = 0;
    int calls = 0;
    while (seconds < round_seconds) {
      f();
      ++calls;
      seconds = cpu_seconds() - start;
    }
    best = std::min(best, seconds / calls);
  }
  return best;
}

/// Prints points.
class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    std::puts("what,program,axis,size,us,unit");
  }
  [[nodiscard]] bool wants(const std::string& what) const {
    return what.find(options_.only) != std::string::npos;
  }
  /// Adds microseconds a unit; a call of `step` does `units` of them.
  void add(const std::string& series, const std::string& program, double size, double units,
           const std::function<void()>& step) const {
    const int rounds = options_.is_quick ? 1 : 3;
    print(series, program, size, cpu_seconds_a_call(step, options_.seconds, rounds) / units);
  }
  /// Wall time.
  void add_wall(const std::string& series, const std::string& program, double size, double units,
                const std::function<void()>& step) const {
    const int rounds = options_.is_quick ? 1 : 6;
    print(series, program, size, seconds_a_call(step, options_.seconds, rounds) / units);
  }
  /// Powers of two.
  [[nodiscard]] std::vector<unsigned> sizes(unsigned first, unsigned last) const {
    std::vector<unsigned> all;
    for (unsigned n = first; n <= last; n *= options_.is_quick ? 8 : 2) {
      all.push_back(n);
    }
    return all;
  }

 private:
  /// `series`: "what,axis,unit".
  static void print(const std::string& series, const std::string& program, double size,
                    double seconds) {
    const std::size_t first = series.find(',');
    const std::size_t second = series.find(',', first + 1);
    std::printf("%s,%s,%s,%g,%.4g,%s\n", series.substr(0, first).c_str(), program.c_str(),
                series.substr(first + 1, second - first - 1).c_str(), size, seconds * 1e6,
                series.substr(second + 1).c_str());
    std::fflush(stdout);
  }

  const Options& options_;
};

/// The tagger of the paper. A copy has the same parameters and graphs of its own.
class Tagger {
 public:
  Tagger(unsigned rows, unsigned hidden, ParameterCollection& parameters)
      : words_(parameters.add_lookup_parameters(rows, {128})),
        forward_(1, 128, hidden, parameters),
        backward_(1, 128, hidden, parameters),
        hidden_(parameters.add_parameters({32, 2 * hidden})),
        output_(parameters.add_parameters({9, 32})) {}
  void new_graph(ComputationGraph& cg) {
    forward_.new_graph(cg);
    backward_.new_graph(cg);
    hidden_in_graph_ = parameter(cg, hidden_);
    output_in_graph_ = parameter(cg, output_);
  }
  Expression add_sentence(ComputationGraph& cg, const std::vector<unsigned>& sentence) {
    inputs_.clear();
    left_.clear();
    losses_.clear();
    forward_.start_new_sequence();
    backward_.start_new_sequence();
    for (const unsigned word : sentence) {
      inputs_.push_back(lookup(cg, words_, word));
      left_.push_back(forward_.add_input(inputs_.back()));
    }
    for (std::size_t i = sentence.size(); i-- > 0;) {
      const Expression both = concatenate({left_[i], backward_.add_input(inputs_[i])});
      const Expression scores = output_in_graph_ * tanh(hidden_in_graph_ * both);
      losses_.push_back(pickneglogsoftmax(scores, sentence[i] % 9));
    }
    return sum(losses_);
  }

 private:
  LookupParameter words_;
  VanillaLSTMBuilder forward_;
  VanillaLSTMBuilder backward_;
  Parameter hidden_;
  Parameter output_;
  Expression hidden_in_graph_;
  Expression output_in_graph_;
  std::vector<Expression> inputs_;
  std::vector<Expression> left_;
  std::vector<Expression> losses_;
};

/// Random sentences of one length, with half of the words among the first few hundred.
std::vector<std::vector<unsigned>> make_sentences(std::size_t count, unsigned length,
                                                  unsigned words) {
  example::Random random(1);
  std::vector<std::vector<unsigned>> sentences(count, std::vector<unsigned>(length));
  for (auto& sentence : sentences) {
    for (unsigned& word : sentence) {
      word = random.below(random.below(2) == 0 ? std::min(words, 300U) : words);
    }
  }
  return sentences;
}

class TaggerTraining {
 public:
  TaggerTraining(unsigned rows, unsigned hidden, unsigned length, unsigned minibatch,
                 bool sparse = true, bool batching = true)
      : minibatch_(minibatch),
        batching_(batching),
        sentences_(make_sentences(64, length, rows)),
        model_(rows, hidden, parameters_),
        trainer_(parameters_, 0.001F) {
    trainer_.sparse_updates_enabled = sparse;
  }
  void step() {
    ComputationGraph cg(batching_);
    model_.new_graph(cg);
    losses_.clear();
    for (unsigned i = 0; i < minibatch_; ++i) {
      losses_.push_back(model_.add_sentence(cg, sentences_[next_++ % sentences_.size()]));
    }
    const Expression loss = sum(losses_);
    cg.forward(loss);
    cg.backward(loss);
    trainer_.update();
  }

 private:
  unsigned minibatch_;
  bool batching_;
  std::vector<std::vector<unsigned>> sentences_;
  ParameterCollection parameters_;
  Tagger model_;
  AdamTrainer trainer_;
  std::vector<Expression> losses_;
  std::size_t next_ = 0;
};

void scale_length(const Table& table) {
  const std::string series = "sentence length,words in a sentence,us a word";
  for (const unsigned length : table.sizes(2, 1024)) {
    TaggerTraining training(10000, 50, length, 1);
    table.add(series, "tagger", length, length, [&] { training.step(); });
  }
}

void scale_hidden(const Table& table) {
  const std::string series = "size of the state,size of each LSTM,us a word";
  for (const unsigned hidden : table.sizes(16, 1024)) {
    TaggerTraining training(10000, hidden, 25, 1);
    table.add(series, "tagger n1", hidden, 25, [&] { training.step(); });
    TaggerTraining together(10000, hidden, 25, 16);
    table.add(series, "tagger n16", hidden, 25.0 * 16, [&] { together.step(); });
  }
}

void scale_minibatch(const Table& table) {
  const std::string series = "sentences an update,sentences an update,us a sentence";
  for (const bool batching : {true, false}) {
    for (const unsigned n : table.sizes(1, 256)) {
      TaggerTraining training(10000, 50, 25, n, true, batching);
      table.add(series, batching ? "batching on" : "batching off", n, n, [&] { training.step(); });
    }
  }
}

void scale_table(const Table& table) {
  const std::string series = "rows of the table,words in the table,us a sentence";
  for (const bool sparse : {true, false}) {
    // A dense update of a million rows takes a second.
    for (const unsigned rows : table.sizes(1024, sparse ? 1U << 20 : 1U << 17)) {
      TaggerTraining training(rows, 50, 25, 1, sparse);
      table.add(series, sparse ? "sparse" : "dense", rows, 1, [&] { training.step(); });
    }
  }
}

void scale_softmax(const Table& table) {
  const std::string series = "words of a softmax,words in the softmax,us a word";
  for (const unsigned n : {1U, 16U}) {
    for (const unsigned words : table.sizes(256, 32768)) {
      example::Rnnlm model(
          example::Settings{"rnnlm", {{"embedding", 128}, {"hidden", 256}, {"words", words}}});
      AdamTrainer trainer(model.m, 0.001F);
      const example::Batch batch = make_sentences(n, 20, words);
      table.add(series, n == 1 ? "language model n1" : "language model n16", words, 20.0 * n, [&] {
        ComputationGraph cg;
        model.new_graph(cg);
        const Expression loss = model.loss(cg, batch);
        cg.forward(loss);
        cg.backward(loss);
        trainer.update();
      });
    }
  }
}

void scale_trees(const Table& table) {
  const std::string series = "size of a tree,words in a tree,us a word";
  const example::Settings settings{"trees", {{"hidden", 128}, {"classes", 5}, {"words", 18300}}};
  for (const unsigned words : table.sizes(2, 512)) {
    example::TreeModel model(settings);
    AdamTrainer trainer(model.m, 0.001F);
    example::Random random(1);
    std::vector<example::Tree> trees(16);
    for (example::Tree& tree : trees) {
      append_random_tree(tree, words, random, [&random] { return random.below(18300); });
    }
    std::size_t next = 0;
    table.add(series, "tree LSTM", words, words, [&] {
      ComputationGraph cg;
      model.new_graph(cg);
      const Expression loss = model.loss(cg, trees[next++ % trees.size()]);
      cg.forward(loss);
      cg.backward(loss);
      trainer.update();
    });
  }
}

/// Sentences that one thread runs forward and backward, in its own graphs.
void run_sentences(Tagger model, const std::vector<std::vector<unsigned>>& sentences,
                   std::size_t first, std::size_t stride) {
  for (std::size_t i = first; i < sentences.size(); i += stride) {
    ComputationGraph cg;
    model.new_graph(cg);
    const Expression loss = model.add_sentence(cg, sentences[i]);
    cg.forward(loss);
    cg.backward(loss);
  }
}

/// Threads share the parameters: the gradients of 64 sentences add up; one update follows.
void scale_threads(const Table& table) {
  const std::string series = "threads,threads,us a sentence (wall)";
  for (const unsigned hidden : {50U, 256U}) {
    ParameterCollection parameters;
    const Tagger model(10000, hidden, parameters);
    AdamTrainer trainer(parameters, 0.001F);
    const auto sentences = make_sentences(64, 25, 10000);
    for (const unsigned count : {1U, 2U}) {
      const auto step = [&] {
        std::vector<std::thread> threads;
        for (unsigned t = 1; t < count; ++t) {
          threads.emplace_back(run_sentences, model, std::cref(sentences), t, count);
        }
        run_sentences(model, sentences, 0, count);
        for (std::thread& thread : threads) {
          thread.join();
        }
        trainer.update();
      };
      table.add_wall(series,
                     hidden == 50 ? "tagger with states of 50" : "tagger with states of 256", count,
                     64, step);
    }
  }
}

int run(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  Options options;
  CLI::App app("Measures how the cost of an example grows, and prints CSV.");
  app.add_option("--only", options.only, "series with this word in their name");
  app.add_option("--seconds", options.seconds, "of a round (0.2)");
  app.add_flag("--quick", options.is_quick, "a smoke test: short rounds, fewer sizes");
  CLI11_PARSE(app, argc, argv);
  if (options.is_quick) {
    options.seconds = 0.002;
  }
  params.threads = 1;  // the times are processor time
  initialize(params);
  const Table table(options);
  const struct {
    const char* what;
    void (*scale)(const Table&);
  } all[] = {{"sentence length", scale_length},   {"size of a tree", scale_trees},
             {"size of the state", scale_hidden}, {"sentences an update", scale_minibatch},
             {"rows of the table", scale_table},  {"words of a softmax", scale_softmax},
             {"threads", scale_threads}};
  for (const auto& series : all) {
    if (table.wants(series.what)) {
      series.scale(table);
    }
  }
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_scaling", argc, argv, dynet::bench::run);
}
