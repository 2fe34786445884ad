// A program in the manner of DyNet's attention example, with functions and types of its own that
// this library has as well. It says `using namespace dynet`, and each name means the program's.

#include "attention.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

using namespace std;    // NOLINT(google-build-using-namespace): as programs do
using namespace dynet;  // NOLINT(google-build-using-namespace): likewise

namespace {

const unsigned kHidden = 12;
const unsigned kSymbols = 5;
unsigned calls = 0;  // of the functions below

struct Error {
  string text;
};

struct Schedule {
  float start;
  [[nodiscard]] float at(unsigned epoch) const {
    return start / (1.0F + 0.02F * static_cast<float>(epoch));
  }
};

Expression softplus(Expression x) {
  ++calls;
  return log(exp(x) + 1.0F);
}

/// One column of `x`: the parameters are other ones than in the library.
Expression gather(Expression x, int column) {
  ++calls;
  return pick(x, static_cast<unsigned>(column), 1U);
}

Expression cross_entropy(const Expression& scores, unsigned label) {
  ++calls;
  return pickneglogsoftmax(scores, label);
}

Expression attention(Expression memory, Expression query, Expression w) {
  ++calls;
  return memory * softmax(transpose(memory) * (w * query));
}

struct Encoder {
  explicit Encoder(ParameterCollection& model)
      : words(model.add_lookup_parameters(kSymbols, {kHidden})), rnn(1, kHidden, kHidden, model) {}
  Expression operator()(ComputationGraph& cg, const vector<unsigned>& sentence) {
    if (sentence.empty()) {
      throw Error{"no words"};
    }
    rnn.new_graph(cg);
    rnn.start_new_sequence();
    vector<Expression> columns;
    columns.reserve(sentence.size());
    for (const unsigned word : sentence) {
      columns.push_back(rnn.add_input(lookup(cg, words, word)));
    }
    return concatenate_cols(columns);
  }
  LookupParameter words;
  VanillaLSTMBuilder rnn;
};

struct Decoder {
  explicit Decoder(ParameterCollection& model)
      : rnn(1, 2 * kHidden, kHidden, model),
        p_w(model.add_parameters({kHidden, kHidden})),
        p_out(model.add_parameters({kSymbols, kHidden})) {}
  Expression loss(ComputationGraph& cg, Expression memory, const vector<unsigned>& sentence) {
    rnn.new_graph(cg);
    rnn.start_new_sequence();
    const Expression w = parameter(cg, p_w);
    const Expression out = parameter(cg, p_out);
    Expression last = gather(memory, static_cast<int>(sentence.size()) - 1);
    vector<Expression> losses;
    for (auto word = sentence.rbegin(); word != sentence.rend(); ++word) {
      last = rnn.add_input(concatenate({attention(memory, last, w), softplus(last)}));
      losses.push_back(cross_entropy(out * last, *word));
    }
    return sum(losses);
  }
  VanillaLSTMBuilder rnn;
  Parameter p_w, p_out;
};

}  // namespace

AttentionRun run_attention() {
  calls = 0;
  ParameterCollection model;
  Encoder encoder(model);
  Decoder decoder(model);
  AdamTrainer trainer(model);
  const Schedule schedule{0.02F};
  const vector<vector<unsigned>> corpus{{1, 2, 3}, {4, 1}, {2, 4, 3, 1}};
  AttentionRun run;
  try {
    const unsigned epochs = 20;
    for (unsigned epoch = 0; epoch < epochs; ++epoch) {
      run.last_loss = 0.0F;
      trainer.learning_rate = schedule.at(epoch);
      for (const vector<unsigned>& sentence : corpus) {
        ComputationGraph cg;
        const Expression loss = decoder.loss(cg, encoder(cg, sentence), sentence);
        run.last_loss += as_scalar(cg.forward(loss));
        cg.backward(loss);
        trainer.update();
      }
      run.first_loss = epoch == 0 ? run.last_loss : run.first_loss;
    }
    ComputationGraph cg;
    encoder(cg, {});
  } catch (const Error& error) {
    run.calls = error.text == "no words" ? calls : 0;
  }
  return run;
}
