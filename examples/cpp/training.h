#pragma once

// The training loop of the paper's programs: measured, tested, shown and written down; and the
// answers of a model to many examples.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <sstream>
#include <type_traits>
#include <vector>

#include "dynet/training.h"

#include "example.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"

namespace example {

/// The factor of the learning rate: 1 for the first 60 % of the training, then down to 0.02 in a
/// straight line.
inline double rate_factor(double share) {
  return 1.0 - 0.98 * std::clamp((share - 0.6) / 0.4, 0.0, 1.0);
}

/// Trains a model with Adam as the options say. `items_in` says how many items an example has;
/// none: one. (A default that is a lambda makes clang-tidy 19 ask for const everywhere in the
/// callers.)
template <class Model, class AnyExample>
void train(
    const PaperOptions& given, const Plan& plan, Model& model,
    const std::vector<AnyExample>& examples,
    const std::function<std::size_t(const std::type_identity_t<AnyExample>&)>& items_in = {}) {
  PaperOptions options = given;
  if (!options.init_file.empty()) {
    populate(model, options.init_file);
  }
  AdamTrainer trainer(model.m, static_cast<float>(options.learning_rate));
  LookupUpdates how{};
  std::istringstream(options.lookup_updates) >> how;
  trainer.set_lookup_updates(how);
  Updates updates(trainer);
  if (!updates.is_first()) {  // one rank writes files
    options.out = options.curve = "";
  }
  Minibatches order(options.seed, examples.size(), options.minibatch);
  Progress progress(options, plan, model.m, order.updates_an_epoch());
  while (progress.share() < 1) {
    if (plan.lowers_rate) {
      trainer.learning_rate =
          static_cast<float>(options.learning_rate * rate_factor(progress.share()));
    }
    const std::vector<std::size_t> places = order.next();
    const float loss = learn(updates, model, examples, places);
    std::size_t items = places.size();
    if (items_in) {
      items = 0;
      for (const std::size_t i : places) {
        items += items_in(examples[i]);
      }
    }
    progress.add(loss, items);
    if (options.max_seconds > 0) {  // ranks differ in time, and must end together
      progress.set_share(updates.sum(updates.is_first() ? progress.share() : 0));
    }
  }
  progress.print_results();
}

/// Answers to examples, 16 in a graph, so that the library has something to run together. `ask(cg,
/// example, scores)` appends the scores, whose largest numbers are the answers.
template <class Model, class AnyExample, class Ask>
Numbers answers_to(Model& model, const std::vector<AnyExample>& examples, const Ask& ask) {
  Numbers answers;
  for (std::size_t i = 0; i < examples.size();) {
    ComputationGraph cg;
    model.new_graph(cg);
    Expressions scores;
    for (const std::size_t end = std::min(i + 16, examples.size()); i < end; ++i) {
      ask(cg, examples[i], scores);
    }
    append(answers, best_of_each(scores));
  }
  return answers;
}

}  // namespace example
