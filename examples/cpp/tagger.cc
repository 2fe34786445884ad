// Trains a tagger on a file of sentences, or tags a sentence. Start reading at run(); the model is
// tagger_model.cc, the loop training.cc, the reader sentences.cc. The Python twin is
// ../python/tagger.py.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "data.h"
#include "options.h"
#include "sentences.h"
#include "tagger_model.h"
#include "training.h"

namespace examples {
namespace {

struct TaggerOptions : Options {
  TaggerSettings sizes;  ///< all but the lists
  bool spells = false;
  bool by_sequence = false;
  std::size_t known_from = 5;
};

TaggerSettings make_settings(const TaggerOptions& options,
                             const std::vector<RawSentence>& sentences) {
  TaggerSettings settings = options.sizes;
  settings.words = {"<unk>"};
  for (const std::string& word : words_seen(sentences, options.known_from)) {
    settings.words.push_back(word);
  }
  Vocabulary characters;
  for (const RawSentence& sentence : sentences) {
    for (const std::string& tag : sentence.tags) {
      if (std::find(settings.tags.begin(), settings.tags.end(), tag) == settings.tags.end()) {
        settings.tags.push_back(tag);
      }
    }
    if (options.spells) {
      for (const std::string& word : sentence.words) {
        for (const std::string& character : characters_of(word)) {
          characters.number(character);
        }
      }
    }
  }
  if (options.spells) {
    settings.characters = characters.words();
    settings.embedding = 2 * settings.character_hidden;
  }
  return settings;
}

/// The tags with the highest scores, one a word, of several sentences.
class Answers {
 public:
  explicit Answers(std::size_t tags) : tags_(tags) {}
  void add(const std::vector<dynet::Expression>& scores) {
    scores_.insert(scores_.end(), scores.begin(), scores.end());
  }
  [[nodiscard]] std::vector<unsigned> read() const {
    const std::vector<float> all = dynet::as_vector(dynet::concatenate(scores_).value());
    std::vector<unsigned> answers;
    for (auto begin = all.begin(); begin != all.end();
         begin += static_cast<std::ptrdiff_t>(tags_)) {
      const auto end = begin + static_cast<std::ptrdiff_t>(tags_);
      answers.push_back(static_cast<unsigned>(std::max_element(begin, end) - begin));
    }
    return answers;
  }

 private:
  std::size_t tags_;
  std::vector<dynet::Expression> scores_;
};

class TaggerLearner : public Learner {
 public:
  explicit TaggerLearner(const TaggerOptions& options)
      : TaggerLearner(options, read_tagged_file(options.train)) {}

  dynet::ParameterCollection& parameters() override { return model_.parameters(); }
  [[nodiscard]] Settings settings() const override { return settings_.saved(); }
  [[nodiscard]] const TaggerSettings& sizes() const { return settings_; }
  [[nodiscard]] std::size_t updates_an_epoch() const { return order_.updates_an_epoch(); }

  Losses add_next(dynet::ComputationGraph& cg) override {
    model_.new_graph(cg);
    losses_.clear();
    std::size_t words = 0;
    for (const std::size_t i : order_.next()) {
      losses_.push_back(by_sequence_ ? model_.add_sequence(cg, train_[i])
                                     : model_.add_sentence(cg, train_[i]));
      words += train_[i].words.size();
    }
    return {losses_.size() == 1 ? losses_[0] : dynet::sum(losses_), words, words};
  }

  [[nodiscard]] bool can_test() const override { return !dev_.empty(); }
  [[nodiscard]] ScoreKind score_kind() const override { return {"accuracy", true}; }
  double test() override {
    std::size_t right = 0;
    std::size_t words = 0;
    for (std::size_t first = 0; first < dev_.size(); first += kTestSentences) {
      const std::size_t end = std::min(first + kTestSentences, dev_.size());
      dynet::ComputationGraph cg;
      model_.new_graph(cg);
      Answers answers(settings_.tags.size());
      for (std::size_t i = first; i < end; ++i) {
        answers.add(model_.score_tags(cg, dev_[i].words));
      }
      const std::vector<unsigned> tags = answers.read();
      auto answer = tags.begin();
      for (std::size_t i = first; i < end; ++i) {
        for (const unsigned tag : dev_[i].tags) {
          right += *answer++ == tag ? 1 : 0;
          ++words;
        }
      }
    }
    return static_cast<double>(right) / static_cast<double>(words);
  }

 private:
  /// Several sentences a graph, so that the library has something to run together.
  static constexpr std::size_t kTestSentences = 16;

  TaggerLearner(const TaggerOptions& options, const std::vector<RawSentence>& train)
      : settings_(make_settings(options, train)),
        order_(options.seed, train.size(), options.minibatch),
        by_sequence_(options.by_sequence),
        model_(settings_) {
    TaggerNumbers numbers(settings_);
    for (const RawSentence& raw : train) {
      train_.push_back(numbers.sentence(raw));
    }
    if (!options.dev.empty()) {
      for (const RawSentence& raw : read_tagged_file(options.dev)) {
        dev_.push_back(numbers.sentence(raw));
      }
    }
  }

  TaggerSettings settings_;
  std::vector<TaggedSentence> train_;
  std::vector<TaggedSentence> dev_;
  Minibatches order_;
  bool by_sequence_;
  TaggerModel model_;
  std::vector<dynet::Expression> losses_;
};

void train_and_report(const TaggerOptions& options) {
  TaggerLearner learner(options);
  set_initial_values(learner.parameters(), options);
  if (!options.is_quiet) {
    const TaggerSettings& sizes = learner.sizes();
    std::printf(
        "tagger: %zu words, %zu tags, %zu characters, %zu parameters, %u sentences an "
        "update, batching %s\n",
        sizes.words.size(), sizes.tags.size(), sizes.characters.size(),
        learner.parameters().parameter_count(), options.minibatch,
        options.autobatch ? "on" : "off");
  }
  train(learner, {.unit = "words", .updates_an_epoch = learner.updates_an_epoch()}, options);
}

void predict(const TaggerOptions& options) {
  const TaggerSettings settings = TaggerSettings::from(load_settings(options.model, {"tagger"}));
  TaggerModel model(settings);
  populate(model.parameters(), options.model);
  const RawSentence raw = parse_words(options.predict);
  if (raw.words.empty()) {
    throw DataError("sentence", 1, 1, "no word");
  }
  dynet::ComputationGraph cg;
  model.new_graph(cg);
  Answers answers(settings.tags.size());
  answers.add(model.score_tags(cg, TaggerNumbers(settings).sentence(raw).words));
  const std::vector<unsigned> tags = answers.read();
  for (std::size_t i = 0; i < tags.size(); ++i) {
    std::printf("%s%s|%s", i == 0 ? "" : " ", raw.words[i].c_str(), settings.tags[tags[i]].c_str());
  }
  std::printf("\n");
}

void declare_sizes(CLI::App& app, TaggerOptions& options) {
  TaggerSettings& sizes = options.sizes;
  const auto size = [&](const char* name, unsigned& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::Range(1, 4096))->group("Model");
  };
  size("--embedding", sizes.embedding, "size of a word's vector (128)");
  size("--hidden", sizes.hidden, "size of each LSTM's state (50)");
  size("--mlp", sizes.mlp, "size of the layer before the tags (32)");
  app.add_option("--known-from", options.known_from, "words seen less often are unknown (5)")
      ->group("Model");
  app.add_option("--rows", sizes.rows, "rows of the table of words, if more than words")
      ->group("Model");
  app.add_flag("--characters", options.spells,
               "spell unknown words; a word's vector is then twice --character-hidden")
      ->group("Model");
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences")
      ->group("Model");
  size("--character-embedding", sizes.character_embedding, "size of a character's vector (20)");
  size("--character-hidden", sizes.character_hidden, "size of each spelling LSTM's state (64)");
}

int run(int argc, char** argv) {
  TaggerOptions options;
  CLI::App app("Trains a tagger: two LSTMs, one sentence at a time.");
  declare_options(app, options, "sentences to learn from, one a line, word|TAG between spaces");
  declare_sizes(app, options);
  return run_task(app, argc, argv, options, train_and_report, predict);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::run_program("tagger", argc, argv, examples::run);
}
