#include "rnnlm_model.h"

#include <algorithm>

#include "dynet/sequence.h"

namespace examples {

Settings RnnlmSettings::saved() const {
  return {"rnnlm", {{"embedding", embedding}, {"hidden", hidden}}, {{"words", words}}};
}

RnnlmSettings RnnlmSettings::from(const Settings& settings) {
  return {settings.number("embedding"), settings.number("hidden"), settings.list("words")};
}

RnnlmModel::RnnlmModel(const RnnlmSettings& settings, unsigned start)
    : start_(start),
      words_(parameters_.add_lookup_parameters(static_cast<unsigned>(settings.words.size()),
                                               {settings.embedding})),
      lstm_(1, settings.embedding, settings.hidden, parameters_),
      weights_(parameters_.add_parameters(
          {static_cast<unsigned>(settings.words.size()), settings.hidden})),
      bias_(parameters_.add_parameters({static_cast<unsigned>(settings.words.size())})) {}

void RnnlmModel::new_graph(dynet::ComputationGraph& cg) {
  lstm_.new_graph(cg);
  weights_in_graph_ = dynet::parameter(cg, weights_);
  bias_in_graph_ = dynet::parameter(cg, bias_);
}

dynet::Expression RnnlmModel::scores(const dynet::Expression& state) const {
  return dynet::affine_transform({bias_in_graph_, weights_in_graph_, state});
}

dynet::Expression RnnlmModel::add_sentence(dynet::ComputationGraph& cg,
                                           const WordNumbers& sentence) {
  losses_.clear();
  lstm_.start_new_sequence();
  unsigned before = start_;
  for (const unsigned word : sentence) {
    const dynet::Expression state = lstm_.add_input(dynet::lookup(cg, words_, before));
    losses_.push_back(dynet::pickneglogsoftmax(scores(state), word));
    before = word;
  }
  return dynet::sum(losses_);
}

namespace {

std::size_t length_of_longest(std::span<const WordNumbers* const> sentences) {
  std::size_t longest = 0;
  for (const WordNumbers* sentence : sentences) {
    longest = std::max(longest, sentence->size());
  }
  return longest;
}

}  // namespace

dynet::Expression RnnlmModel::add_sentences(dynet::ComputationGraph& cg,
                                            std::span<const WordNumbers* const> sentences) {
  if (sentences.size() == 1) {
    return add_sentence(cg, *sentences[0]);
  }
  const std::size_t longest = length_of_longest(sentences);
  const auto count = static_cast<unsigned>(sentences.size());
  losses_.clear();
  lstm_.start_new_sequence();
  std::vector<unsigned> before(count, start_);
  std::vector<unsigned> words(count);
  std::vector<float> counts(count);
  for (std::size_t step = 0; step < longest; ++step) {
    bool all_count = true;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_in = step < sentences[i]->size();
      words[i] = is_in ? (*sentences[i])[step] : start_;
      counts[i] = is_in ? 1.0F : 0.0F;
      all_count = all_count && is_in;
    }
    const dynet::Expression state = lstm_.add_input(dynet::lookup(cg, words_, before));
    const dynet::Expression loss = dynet::pickneglogsoftmax(scores(state), words);
    losses_.push_back(
        all_count ? loss : dynet::cmult(loss, dynet::input(cg, dynet::Dim({1}, count), counts)));
    before.swap(words);
  }
  return dynet::sum_batches(dynet::sum(losses_));
}

dynet::Expression RnnlmModel::add_sequences(dynet::ComputationGraph& cg,
                                            std::span<const WordNumbers* const> sentences) {
  // Step by step: what each sentence reads, and what it is to foresee.
  std::vector<std::vector<unsigned>> words;
  std::vector<unsigned> labels;
  for (std::size_t step = 0; step < length_of_longest(sentences); ++step) {
    std::vector<unsigned>& before = words.emplace_back();
    for (const WordNumbers* sentence : sentences) {
      before.push_back(step == 0 || step > sentence->size() ? start_ : (*sentence)[step - 1]);
      labels.push_back(step < sentence->size() ? (*sentence)[step] : dynet::kNoLabel);
    }
  }
  lstm_.start_new_sequence();
  const std::vector<dynet::Expression> states =
      lstm_.transduce(dynet::lookup_sequence(cg, words_, words));
  return dynet::sequence_loss(scores(dynet::concatenate_to_batch(states)), labels);
}

dynet::Expression RnnlmModel::score_next(dynet::ComputationGraph& cg, const WordNumbers& words) {
  lstm_.start_new_sequence();
  dynet::Expression state = lstm_.add_input(dynet::lookup(cg, words_, start_));
  for (const unsigned word : words) {
    state = lstm_.add_input(dynet::lookup(cg, words_, word));
  }
  return scores(state);
}

}  // namespace examples
