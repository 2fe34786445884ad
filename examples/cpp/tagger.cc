// Trains a tagger on a file of sentences, or tags a sentence. Start reading at tagger_model.h, the
// model; program.h has what all programs share. The Python twin is ../python/tagger.py.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "sequence_losses.h"
#include "tagger_model.h"

namespace examples {
namespace {

struct TaggerOptions : Options {
  Settings sizes{"tagger",
                 {{"embedding", 128},
                  {"hidden", 50},
                  {"mlp", 32},
                  {"rows", 0},
                  {"character-embedding", 20},
                  {"character-hidden", 64}},
                 {}};
  bool spells = false;
  bool by_sequence = false;
  std::size_t known_from = 5;
};

/// What the model has to know: sizes, and the words, tags and characters of the training text.
Settings make_settings(const TaggerOptions& options, const std::vector<RawSentence>& sentences) {
  Dict words;
  Dict tags;
  Dict characters;
  words.convert("<unk>");
  for (const std::string& word : words_seen(sentences, options.known_from)) {
    words.convert(word);
  }
  Settings settings = options.sizes;
  for (const RawSentence& sentence : sentences) {
    for (const std::string& tag : sentence.tags) {
      tags.convert(tag);
    }
  }
  if (options.spells) {
    settings.number("embedding") = 2 * settings["character-hidden"];  // spelled words are as long
    characters.convert("<unk>");
    for (const RawSentence& sentence : sentences) {
      for (const std::string& word : sentence.words) {
        for (const std::string& character : characters_of(word)) {
          characters.convert(character);
        }
      }
    }
  }
  settings.lists = {{"words", words.get_words()},
                    {"tags", tags.get_words()},
                    {"characters", characters.get_words()}};
  return settings;
}

std::vector<Sentence> read_sentences(const std::vector<RawSentence>& raw,
                                     const Settings& settings) {
  SentenceNumbers numbers(settings);
  std::vector<Sentence> sentences;
  sentences.reserve(raw.size());
  for (const RawSentence& sentence : raw) {
    sentences.push_back(numbers.of(sentence));
  }
  return sentences;
}

Numbers tags_of(Tagger& model, const std::vector<Sentence>& sentences) {
  return answers_to(model, sentences,
                    [&](ComputationGraph& cg, const Sentence& sentence, Expressions& all) {
                      const Expressions scores = model.scores(cg, sentence.words);
                      all.insert(all.end(), scores.begin(), scores.end());
                    });
}

class TaggerLearner : public ExampleLearner<Tagger, Sentence> {
 public:
  TaggerLearner(const TaggerOptions& options, const Settings& settings,
                const std::vector<RawSentence>& raw)
      : ExampleLearner(settings, read_sentences(raw, settings),
                       options.dev.empty()
                           ? std::vector<Sentence>()
                           : read_sentences(read_tagged_file(options.dev), settings),
                       options.seed, options.minibatch),
        by_sequence_(options.by_sequence) {}

  [[nodiscard]] ScoreKind score_kind() const override { return {"accuracy", true}; }
  double test() override {
    const Numbers answers = tags_of(model, dev);
    std::size_t right = 0;
    std::size_t words = 0;
    for (const Sentence& sentence : dev) {
      for (const unsigned tag : sentence.tags) {
        right += answers[words++] == tag ? 1 : 0;
      }
    }
    return static_cast<double>(right) / static_cast<double>(words);
  }

 protected:
  Losses add(ComputationGraph& cg, const Sentence& sentence) override {
    const std::size_t words = sentence.words.size();
    return {by_sequence_ ? sequence_loss(model, cg, sentence) : model.loss(cg, sentence), words,
            words};
  }

 private:
  bool by_sequence_;
};

void train_and_report(const TaggerOptions& options) {
  const std::vector<RawSentence> sentences = read_tagged_file(options.train);
  const Settings sizes = make_settings(options, sentences);
  TaggerLearner learner(options, sizes, sentences);
  set_initial_values(learner.parameters(), options);
  if (!options.is_quiet) {
    std::printf(
        "tagger: %u words, %u tags, %u characters, %zu parameters, %u sentences an update, "
        "batching %s\n",
        sizes["words"], sizes["tags"], sizes["characters"], learner.parameters().parameter_count(),
        options.minibatch, options.autobatch ? "on" : "off");
  }
  train(learner, {.unit = "words", .updates_an_epoch = learner.order.updates_an_epoch()}, options);
}

void predict(const TaggerOptions& options) {
  const Settings settings = load_settings(options.model, {"tagger"});
  Tagger model(settings);
  populate(model.m, options.model);
  const RawSentence raw = parse_words(options.predict);
  if (raw.words.empty()) {
    throw DataError("sentence", 1, 1, "no word");
  }
  const Numbers tags = tags_of(model, {SentenceNumbers(settings).of(raw)});
  for (std::size_t i = 0; i < tags.size(); ++i) {
    std::printf("%s%s|%s", i == 0 ? "" : " ", raw.words[i].c_str(),
                settings.list("tags")[tags[i]].c_str());
  }
  std::printf("\n");
}

int run(int argc, char** argv) {
  TaggerOptions options;
  CLI::App app("Trains a tagger: two LSTMs, one sentence at a time.");
  declare_options(app, options, "sentences to learn from, one a line, word|TAG between spaces");
  declare_sizes(app, options.sizes,
                {{"embedding", "size of a word's vector"},
                 {"hidden", "size of each LSTM's state"},
                 {"mlp", "size of the layer before the tags"},
                 {"character-embedding", "size of a character's vector"},
                 {"character-hidden", "size of each spelling LSTM's state"}});
  app.add_option("--rows", options.sizes.number("rows"),
                 "rows of the table of words, if more than words")
      ->group("Model");
  app.add_option("--known-from", options.known_from, "words seen less often are unknown (5)")
      ->group("Model");
  app.add_flag("--characters", options.spells,
               "spell unknown words; a word's vector is then twice --character-hidden")
      ->group("Model");
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences")
      ->group("Model");
  return run_task(app, argc, argv, options, train_and_report, predict);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::run_program("tagger", argc, argv, examples::run);
}
