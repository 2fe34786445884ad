#pragma once

// A recurrent language model: each word is predicted from those before it.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/model.h"

#include "model_file.h"

namespace examples {

/// What has to be known before a model file can be read.
struct RnnlmSettings {
  unsigned embedding = 128;
  unsigned hidden = 256;
  std::vector<std::string> words;

  [[nodiscard]] Settings saved() const;
  static RnnlmSettings from(const Settings& settings);
};

/// Numbers of the words of a sentence, the end mark last.
using WordNumbers = std::vector<unsigned>;

/// A table of words, one LSTM, and a softmax over all words. A sentence starts with the end mark of
/// the one before it. Thread rule: one graph at a time.
class RnnlmModel {
 public:
  /// `start`: the number of the end mark.
  RnnlmModel(const RnnlmSettings& settings, unsigned start);

  /// Call once for each graph.
  void new_graph(dynet::ComputationGraph& cg);
  /// The sum of the losses of all words of the sentences, which are one batch: all of them take a
  /// step together, and what comes after a sentence's end counts nothing. {1}
  dynet::Expression add_sentences(dynet::ComputationGraph& cg,
                                  std::span<const WordNumbers* const> sentences);
  /// What add_sentences does, written with functions of whole sequences.
  dynet::Expression add_sequences(dynet::ComputationGraph& cg,
                                  std::span<const WordNumbers* const> sentences);
  /// What add_sentences does, for one sentence.
  dynet::Expression add_sentence(dynet::ComputationGraph& cg, const WordNumbers& sentence);
  /// Scores of what follows after `words`. {number of words}
  dynet::Expression score_next(dynet::ComputationGraph& cg, const WordNumbers& words);

  [[nodiscard]] dynet::ParameterCollection& parameters() { return parameters_; }

 private:
  /// Scores of the word after a state. {number of words}
  [[nodiscard]] dynet::Expression scores(const dynet::Expression& state) const;

  unsigned start_;
  dynet::ParameterCollection parameters_;
  dynet::LookupParameter words_;
  dynet::VanillaLSTMBuilder lstm_;
  dynet::Parameter weights_;
  dynet::Parameter bias_;
  // The softmax in the current graph.
  dynet::Expression weights_in_graph_;
  dynet::Expression bias_in_graph_;
  std::vector<dynet::Expression> losses_;  // kept to reuse its memory
};

}  // namespace examples
