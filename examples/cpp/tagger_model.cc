#include "tagger_model.h"

#include <algorithm>

#include "dynet/sequence.h"

namespace examples {

Settings TaggerSettings::saved() const {
  return {"tagger",
          {{"embedding", embedding},
           {"hidden", hidden},
           {"mlp", mlp},
           {"rows", rows},
           {"character-embedding", character_embedding},
           {"character-hidden", character_hidden}},
          {{"words", words}, {"tags", tags}, {"characters", characters}}};
}

TaggerSettings TaggerSettings::from(const Settings& settings) {
  TaggerSettings tagger;
  tagger.embedding = settings.number("embedding");
  tagger.hidden = settings.number("hidden");
  tagger.mlp = settings.number("mlp");
  tagger.rows = settings.number("rows");
  tagger.character_embedding = settings.number("character-embedding");
  tagger.character_hidden = settings.number("character-hidden");
  tagger.words = settings.list("words");
  tagger.tags = settings.list("tags");
  tagger.characters = settings.list("characters");
  return tagger;
}

TaggerNumbers::TaggerNumbers(const TaggerSettings& settings)
    : spells_(settings.spells()),
      words_(settings.words),
      characters_(settings.characters),
      tags_(settings.tags) {}

TaggedSentence TaggerNumbers::sentence(const RawSentence& raw) {
  TaggedSentence sentence;
  for (const std::string& text : raw.words) {
    TaggerWord word{words_.number(text), {}};
    if (spells_ && word.word == 0) {
      for (const std::string& character : characters_of(text)) {
        word.characters.push_back(characters_.number(character));
      }
    }
    sentence.words.push_back(std::move(word));
  }
  for (const std::string& tag : raw.tags) {
    const auto found = std::find(tags_.begin(), tags_.end(), tag);
    sentence.tags.push_back(found == tags_.end() ? kNoTag
                                                 : static_cast<unsigned>(found - tags_.begin()));
  }
  return sentence;
}

TaggerModel::TaggerModel(const TaggerSettings& settings)
    : spells_(settings.spells()),
      words_(parameters_.add_lookup_parameters(
          std::max(settings.rows, static_cast<unsigned>(settings.words.size())),
          {settings.embedding})) {
  if (spells_) {
    characters_ = parameters_.add_lookup_parameters(
        static_cast<unsigned>(settings.characters.size()), {settings.character_embedding});
    spell_forward_ = dynet::VanillaLSTMBuilder(1, settings.character_embedding,
                                               settings.character_hidden, parameters_);
    spell_backward_ = dynet::VanillaLSTMBuilder(1, settings.character_embedding,
                                                settings.character_hidden, parameters_);
  }
  forward_ = dynet::VanillaLSTMBuilder(1, settings.embedding, settings.hidden, parameters_);
  backward_ = dynet::VanillaLSTMBuilder(1, settings.embedding, settings.hidden, parameters_);
  hidden_ = parameters_.add_parameters({settings.mlp, 2 * settings.hidden});
  output_ = parameters_.add_parameters({static_cast<unsigned>(settings.tags.size()), settings.mlp});
}

void TaggerModel::new_graph(dynet::ComputationGraph& cg) {
  if (spells_) {
    spell_forward_.new_graph(cg);
    spell_backward_.new_graph(cg);
  }
  forward_.new_graph(cg);
  backward_.new_graph(cg);
  hidden_in_graph_ = dynet::parameter(cg, hidden_);
  output_in_graph_ = dynet::parameter(cg, output_);
}

dynet::Expression TaggerModel::represent(dynet::ComputationGraph& cg, const TaggerWord& word) {
  return word.characters.empty() ? dynet::lookup(cg, words_, word.word)
                                 : spell(cg, word.characters);
}

dynet::Expression TaggerModel::spell(dynet::ComputationGraph& cg,
                                     const std::vector<unsigned>& characters) {
  spell_forward_.start_new_sequence();
  for (const unsigned character : characters) {
    spell_forward_.add_input(dynet::lookup(cg, characters_, character));
  }
  spell_backward_.start_new_sequence();
  for (std::size_t i = characters.size(); i-- > 0;) {
    spell_backward_.add_input(dynet::lookup(cg, characters_, characters[i]));
  }
  return dynet::concatenate({spell_forward_.back(), spell_backward_.back()});
}

const std::vector<dynet::Expression>& TaggerModel::score_tags(
    dynet::ComputationGraph& cg, const std::vector<TaggerWord>& words) {
  inputs_.clear();
  for (const TaggerWord& word : words) {
    inputs_.push_back(represent(cg, word));
  }
  left_.clear();
  forward_.start_new_sequence();
  for (const dynet::Expression& input : inputs_) {
    left_.push_back(forward_.add_input(input));
  }
  scores_.resize(words.size());
  backward_.start_new_sequence();
  for (std::size_t i = words.size(); i-- > 0;) {
    const dynet::Expression right = backward_.add_input(inputs_[i]);
    const dynet::Expression both = dynet::concatenate({left_[i], right});
    scores_[i] = output_in_graph_ * dynet::tanh(hidden_in_graph_ * both);
  }
  return scores_;
}

dynet::Expression TaggerModel::add_sentence(dynet::ComputationGraph& cg,
                                            const TaggedSentence& sentence) {
  score_tags(cg, sentence.words);
  losses_.clear();
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    losses_.push_back(dynet::pickneglogsoftmax(scores_[i], sentence.tags[i]));
  }
  return dynet::sum(losses_);
}

dynet::Expression TaggerModel::add_sequence(dynet::ComputationGraph& cg,
                                            const TaggedSentence& sentence) {
  inputs_.clear();
  for (const TaggerWord& word : sentence.words) {
    inputs_.push_back(represent(cg, word));
  }
  forward_.start_new_sequence();
  const dynet::Expression left = dynet::concatenate_to_batch(forward_.transduce(inputs_));
  std::reverse(inputs_.begin(), inputs_.end());
  backward_.start_new_sequence();
  std::vector<dynet::Expression> states = backward_.transduce(inputs_);
  std::reverse(states.begin(), states.end());
  const dynet::Expression both = dynet::concatenate({left, dynet::concatenate_to_batch(states)});
  return dynet::sequence_loss(output_in_graph_ * dynet::tanh(hidden_in_graph_ * both),
                              sentence.tags);
}

}  // namespace examples
