#pragma once

// A small model and the corpus that the tests of workers train it on.

#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/model.h"

namespace dynet::testing {

/// Starts the library with shared parameters; ends it.
class Started {
 public:
  explicit Started(const char* device = "CPU", bool is_shared = true, unsigned seed = 5) {
    DynetParams params;
    params.random_seed = seed;
    params.shared_parameters = is_shared;
    params.device = device;
    initialize(params);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() { cleanup(); }
};

/// Words are looked up, go through a layer with dropout, and are scored. Copies share parameters.
struct SmallModel {
  static constexpr unsigned kWords = 40;
  static constexpr unsigned kExamples = 48;

  explicit SmallModel(float dropout_rate = 0.0F, float decay = 0.0F)
      : parameters(decay),
        words(parameters.add_lookup_parameters(kWords, {6})),
        hidden(parameters.add_parameters({8, 6})),
        bias(parameters.add_parameters({8})),
        scores(parameters.add_parameters({5, 8})),
        dropout(dropout_rate) {}

  /// Sentence `n` has 1 to 5 words. The bias is used by every third sentence alone.
  [[nodiscard]] Expression sentence(ComputationGraph& cg, unsigned n) const {
    std::vector<Expression> losses;
    for (unsigned i = 0; i <= n % 5; ++i) {
      Expression x = parameter(cg, hidden) * lookup(cg, words, (7 * n + 3 * i) % kWords);
      x = n % 3 == 0 ? x + parameter(cg, bias) : x;
      x = tanh(dropout > 0 ? dynet::dropout(x, dropout) : x);
      losses.push_back(pickneglogsoftmax(parameter(cg, scores) * x, (n + i) % 5));
    }
    return sum(losses);
  }
  [[nodiscard]] Expression operator()(ComputationGraph& cg,
                                      const std::vector<unsigned>& examples) const {
    std::vector<Expression> losses;
    losses.reserve(examples.size());
    for (const unsigned n : examples) {
      losses.push_back(sentence(cg, n));
    }
    return sum(losses);
  }
  /// All values, as stored.
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> all;
    const auto add = [&all](const Tensor& t) {
      const std::vector<float> some = as_vector(t);
      all.insert(all.end(), some.begin(), some.end());
    };
    add(words.p->all_values);
    add(hidden.p->values);
    add(bias.p->values);
    add(scores.p->values);
    return all;
  }

  ParameterCollection parameters;
  LookupParameter words;
  Parameter hidden;
  Parameter bias;
  Parameter scores;
  float dropout;
};

/// Minibatch `step`, of `size` examples.
inline std::vector<unsigned> minibatch(unsigned step, unsigned size = 10) {
  std::vector<unsigned> examples(size);
  for (unsigned i = 0; i < size; ++i) {
    examples[i] = (step * 17 + i * 5) % SmallModel::kExamples;
  }
  return examples;
}

}  // namespace dynet::testing
