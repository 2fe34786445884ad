#pragma once

// Objects of every kind that a program may keep, and a step that uses all of them.

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "dynet/crf-builder.h"
#include "dynet/debug.h"
#include "dynet/expr.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

namespace dynet::ends {

/// Members end in the reverse of this order: the model before the graph that uses it.
struct Objects {
  Objects()
      : graph(std::make_unique<ComputationGraph>()),
        model(std::make_unique<ParameterCollection>()),
        trainer(std::make_unique<AdamTrainer>(*model)),
        w(model->add_parameters({8, 8})),
        table(model->add_lookup_parameters(9, {8})),
        lstm(1, 8, 8, *model),
        gru(2, 8, 8, *model),
        tree(8, 8, *model),
        crf(8, *model) {}

  /// Loops of all kinds: products, chains, sorting, factoring, sparse inputs, rows; forward and
  /// backward.
  double step() {
    ComputationGraph& cg = *graph;
    cg.clear();
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    gru.new_graph(cg);
    gru.start_new_sequence();
    tree.new_graph(cg);
    crf.new_graph(cg);
    std::vector<Expression> states;
    for (unsigned k = 0; k < 5; ++k) {
      const Expression x = lookup(cg, table, k) + one_hot(cg, 8, k);
      states.push_back(gru.add_input(lstm.add_input(x)));
    }
    const Expression m = parameter(cg, w);
    const Expression square = m * transpose(m) + input(cg, {8, 8}, eye());
    const auto [best, places] = topk(square, 3);
    kept = softmax(square * tree.add_input(states[0]).h);
    loss = sum({crf.neg_log_likelihood(concatenate_cols(states), {0, 1, 2, 3, 4}),
                pickneglogsoftmax(kept, 2U), logdet(square), sum_elems(best),
                sum_elems(layer_norm(kept, kept, kept))});
    const double value = as_scalar(cg.forward(loss));
    cg.backward(loss);
    trainer->update();
    return value;
  }

  std::unique_ptr<ComputationGraph> graph;
  std::unique_ptr<ParameterCollection> model;
  std::unique_ptr<Trainer> trainer;
  Parameter w;
  LookupParameter table;
  VanillaLSTMBuilder lstm;
  GRUBuilder gru;
  BinaryTreeLSTMBuilder tree;
  CRFBuilder crf;
  Expression kept;
  Expression loss;

 private:
  static std::vector<float> eye() {
    std::vector<float> numbers(64, 0.0F);
    for (std::size_t i = 0; i < 8; ++i) {
      numbers[9 * i] = 4.0F;
    }
    return numbers;
  }
};

/// Computes at its end.
struct ComputesAtEnd {
  ~ComputesAtEnd() {
    if (!std::isfinite(objects.step())) {
      std::abort();
    }
  }
  Objects objects;
};

}  // namespace dynet::ends
