#include "sequence_losses.h"

#include "dynet/sequence.h"

namespace examples {

Expression sequence_loss(Tagger& model, ComputationGraph& cg, const Sentence& sentence) {
  const auto [left, right] = model.reading.read(model.represent(cg, sentence.words));
  const Expression both = concatenate({concatenate_to_batch(left), concatenate_to_batch(right)});
  return dynet::sequence_loss(model.o * tanh(model.h * both), sentence.tags);
}

Expression sequence_loss(Rnnlm& model, ComputationGraph& cg, const Batch& sentences) {
  // Step by step: what each sentence reads, and what it is to foresee.
  std::vector<Numbers> words(sentences[0].size());
  Numbers labels;
  for (std::size_t t = 0; t < words.size(); ++t) {
    for (const Numbers& sentence : sentences) {
      words[t].push_back(t == 0 || t > sentence.size() ? kEndMark : sentence[t - 1]);
      labels.push_back(t < sentence.size() ? sentence[t] : kNoLabel);
    }
  }
  model.lstm.start_new_sequence();
  const Expressions states = model.lstm.transduce(lookup_sequence(cg, model.words, words));
  return dynet::sequence_loss(model.scores(concatenate_to_batch(states)), labels);
}

}  // namespace examples
