// Updates: the ways to treat rows without a gradient, and the pass over dense parameters.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "dynet/training.h"

#include "params/gradient.h"

namespace dynet {
namespace {

constexpr unsigned kRows = 69500;  // the tagger's table
constexpr unsigned kSize = 128;
constexpr std::size_t kWords = 20;  // an update

/// The work of a sentence on its table: reads rows, adds to their gradients, and updates. The model
/// has `floats` dense parameters beside the table.
void rows_of_a_table(benchmark::State& state, LookupUpdates how, unsigned floats) {
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(kRows, {kSize});
  const Parameter dense = model.add_parameters({floats});
  AdamTrainer trainer(model);
  trainer.set_lookup_updates(how);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform;
  std::vector<float> row(kSize);
  std::vector<float> g(std::max(floats, kSize), 0.01F);
  const Tensor whole({floats}, g.data(), nullptr, DeviceMempool::NONE);
  std::vector<unsigned> words(kWords);
  const auto step = [&] {
    for (unsigned& word : words) {  // Zipf: ranks are spread evenly over their logarithm
      word = static_cast<unsigned>(std::exp(uniform(random) * std::log(kRows - 1.0)));
      params::read_row(*table.p, word, row.data());
    }
    for (const unsigned word : words) {
      params::LookupGradientLock(*table.p).add_row(word, g.data());
    }
    dense.p->accumulate_grad(whole);
    trainer.update();
  };
  for (int i = 0; i < 3000; ++i) {
    if (how == LookupUpdates::kDense && i == 10) {
      break;
    }
    step();
  }
  for (auto _ : state) {
    step();
  }
  benchmark::DoNotOptimize(row.data());
}
BENCHMARK_CAPTURE(rows_of_a_table, sparse, LookupUpdates::kSparse, 16);
BENCHMARK_CAPTURE(rows_of_a_table, exact, LookupUpdates::kExact, 16);
BENCHMARK_CAPTURE(rows_of_a_table, dense, LookupUpdates::kDense, 16);
BENCHMARK_CAPTURE(rows_of_a_table, sparse_beside_the_tagger, LookupUpdates::kSparse, 76000);
BENCHMARK_CAPTURE(rows_of_a_table, exact_beside_the_tagger, LookupUpdates::kExact, 76000);

/// One update of Adam over `range` numbers, with the norm or without.
void pass(benchmark::State& state, bool clips, float lambda) {
  const auto n = static_cast<unsigned>(state.range(0));
  ParameterCollection model(lambda);
  const Parameter p = model.add_parameters({n});
  AdamTrainer trainer(model);
  trainer.clipping_enabled = clips;
  const std::vector<float> g(n, 0.01F);
  p.p->accumulate_grad(Tensor({n}, const_cast<float*>(g.data()), nullptr, DeviceMempool::NONE));
  for (auto _ : state) {
    params::GradientLock(*p.p).written();  // as if the same gradient came again
    trainer.update();
  }
  state.counters["ns_each"] = benchmark::Counter(
      n, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(pass, adam, false, 0.0F)->Arg(76000)->Arg(181376)->Arg(2500000);
BENCHMARK_CAPTURE(pass, adam_with_norm, true, 0.0F)->Arg(76000)->Arg(181376)->Arg(2500000);
BENCHMARK_CAPTURE(pass, adam_with_norm_and_decay, true, 1e-6F)->Arg(2500000);

}  // namespace
}  // namespace dynet
