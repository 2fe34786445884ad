#pragma once

// A tagger: an LSTM from the left and one from the right read a sentence, and a small network names
// the tag of each word. Rare words may be spelled.

#include <cstddef>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/model.h"

#include "data.h"
#include "model_file.h"
#include "sentences.h"

namespace examples {

/// What has to be known before a model file can be read.
struct TaggerSettings {
  unsigned embedding = 128;
  unsigned hidden = 50;  ///< of each direction
  unsigned mlp = 32;
  unsigned rows = 0;  ///< of the table of words, where more than there are words
  unsigned character_embedding = 20;
  unsigned character_hidden = 64;  ///< of each direction; half of `embedding`
  std::vector<std::string> words;  ///< `<unk>` first
  std::vector<std::string> tags;
  std::vector<std::string> characters;  ///< `<unk>` first; empty: nothing is spelled

  [[nodiscard]] bool spells() const { return !characters.empty(); }
  [[nodiscard]] Settings saved() const;
  static TaggerSettings from(const Settings& settings);
};

/// A word by its number, or, where it is spelled, by those of its characters.
struct TaggerWord {
  unsigned word = 0;
  std::vector<unsigned> characters;
};

struct TaggedSentence {
  std::vector<TaggerWord> words;
  std::vector<unsigned> tags;  ///< empty, or one a word; `kNoTag` for one that no training has
};
constexpr unsigned kNoTag = ~0U;

/// Puts numbers in the place of words, tags and characters.
class TaggerNumbers {
 public:
  explicit TaggerNumbers(const TaggerSettings& settings);
  TaggedSentence sentence(const RawSentence& raw);

 private:
  bool spells_;
  Vocabulary words_;
  Vocabulary characters_;
  std::vector<std::string> tags_;
};

/// Thread rule: one graph at a time.
class TaggerModel {
 public:
  explicit TaggerModel(const TaggerSettings& settings);

  /// Call once for each graph.
  void new_graph(dynet::ComputationGraph& cg);
  /// The sum of the losses of all words. {1}
  dynet::Expression add_sentence(dynet::ComputationGraph& cg, const TaggedSentence& sentence);
  /// What the function above does, written with functions of whole sequences.
  dynet::Expression add_sequence(dynet::ComputationGraph& cg, const TaggedSentence& sentence);
  /// Scores of the tags of all words. {tags} each; valid until the next call.
  const std::vector<dynet::Expression>& score_tags(dynet::ComputationGraph& cg,
                                                   const std::vector<TaggerWord>& words);

  [[nodiscard]] dynet::ParameterCollection& parameters() { return parameters_; }

 private:
  dynet::Expression represent(dynet::ComputationGraph& cg, const TaggerWord& word);
  dynet::Expression spell(dynet::ComputationGraph& cg, const std::vector<unsigned>& characters);

  bool spells_;
  dynet::ParameterCollection parameters_;
  dynet::LookupParameter words_;
  dynet::LookupParameter characters_;
  dynet::VanillaLSTMBuilder spell_forward_;
  dynet::VanillaLSTMBuilder spell_backward_;
  dynet::VanillaLSTMBuilder forward_;
  dynet::VanillaLSTMBuilder backward_;
  dynet::Parameter hidden_;
  dynet::Parameter output_;
  // In the current graph.
  dynet::Expression hidden_in_graph_;
  dynet::Expression output_in_graph_;
  // Of the current sentence; kept to reuse their memory.
  std::vector<dynet::Expression> inputs_;
  std::vector<dynet::Expression> left_;
  std::vector<dynet::Expression> scores_;
  std::vector<dynet::Expression> losses_;
};

}  // namespace examples
