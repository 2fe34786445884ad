// Trains the tagger of the DyNet paper on a file of sentences, or tags a sentence. Start reading at
// tagger_model.h, the model. The Python twin is ../python/tagger.py.

#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/sequence.h"

#include "example.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "sentences.h"
#include "tagger_model.h"
#include "training.h"

namespace example {
namespace {

struct TaggerOptions : PaperOptions {
  Settings sizes{"tagger",
                 {{"embedding", 128},
                  {"hidden", 50},
                  {"mlp", 32},
                  {"rows", 0},
                  {"character-embedding", 20},
                  {"character-hidden", 64}}};
  bool spells = false, by_sequence = false;
  unsigned known_from = 5;
};

/// The model, which may also be written with a function of whole sequences.
struct EitherTagger : Tagger {
  EitherTagger(const Settings& s, bool with_sequences) : Tagger(s), by_sequence(with_sequences) {}
  Expression loss(ComputationGraph& cg, const Sentence& sentence) {
    return by_sequence
               ? sequence_loss(scores(concatenate_to_batch(read(cg, sentence))), sentence.tags)
               : Tagger::loss(cg, sentence);
  }
  bool by_sequence;
};

/// The settings of the model: sizes, and the words, tags and characters of the training text.
Settings make_settings(const TaggerOptions& options,
                       const std::vector<text::TaggedSentence>& sentences) {
  Dict tags;
  Dict characters;
  characters.convert("<unk>");
  for (const text::TaggedSentence& sentence : sentences) {
    numbers_of(sentence.tags, tags);
    for (const std::string& word : sentence.words) {
      numbers_of(text::letters(word), characters);
    }
  }
  Settings settings = options.sizes;
  freeze(characters);
  tags.freeze();
  settings.dicts = {
      {"words", numbered(sentences, options.known_from, &text::TaggedSentence::words)},
      {"tags", tags},
      {"characters", options.spells ? characters : Dict()}};
  if (options.spells) {
    settings.numbers["embedding"] = 2 * settings["character-hidden"];  // spelled words are as long
  }
  return settings;
}

/// Sentences in numbers.
std::vector<Sentence> in_numbers(const std::vector<text::TaggedSentence>& read,
                                 Settings& settings) {
  std::vector<Sentence> sentences(read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    for (const std::string& word : read[i].words) {
      sentences[i].words.push_back(in_numbers(word, settings));
    }
    sentences[i].tags = numbers_of(read[i].tags, settings.dicts["tags"]);
  }
  return sentences;
}

Numbers answers(Tagger& tagger, const std::vector<Sentence>& sentences) {
  const auto ask = [&](ComputationGraph& cg, const Sentence& sentence, Expressions& all) {
    for (const Expression& read : tagger.read(cg, sentence)) {
      all.push_back(tagger.scores(read));
    }
  };
  return answers_to(tagger, sentences, ask);
}

void train_tagger(const TaggerOptions& options) {
  const auto read = read_all<text::TaggedReader>(options.train);
  Settings settings = make_settings(options, read);
  EitherTagger tagger(settings, options.by_sequence);
  Plan plan{.unit = "words", .settings = &settings};
  std::vector<Sentence> dev;
  Numbers tags;
  if (!options.dev.empty()) {
    dev = in_numbers(read_all<text::TaggedReader>(options.dev), settings);
    for (const Sentence& sentence : dev) {
      append(tags, sentence.tags);
    }
    plan.score = [&] { return share_right(answers(tagger, dev), tags); };
  }
  train(options, plan, tagger, in_numbers(read, settings),
        [](const Sentence& sentence) { return sentence.words.size(); });
}

void tag(const TaggerOptions& options) {
  Settings settings = load_settings(options.model(), "tagger");
  Tagger tagger(settings);
  populate(tagger, options.model());
  const text::Words words = words_of(options.predict);
  const Numbers tags = answers(tagger, in_numbers({{words, {}}}, settings));
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::string& tag = settings.dicts["tags"].convert(static_cast<int>(tags[i]));
    std::printf("%s|%s%s", words[i].c_str(), tag.c_str(), i + 1 == tags.size() ? "\n" : " ");
  }
}

void declare(CLI::App& app, TaggerOptions& options) {
  declare_paper_options(app, options);
  declare_sizes(app, options.sizes,
                {{"embedding", "size of a word's vector"},
                 {"hidden", "size of each LSTM's state"},
                 {"mlp", "size of the layer before the tags"},
                 {"rows", "rows of the table of words, if more than words"},
                 {"character-embedding", "size of a character's vector"},
                 {"character-hidden", "size of each spelling LSTM's state"}});
  app.add_option("--known-from", options.known_from, "words seen less often are unknown")
      ->check(CLI::Range(1U, 1000000000U));
  app.add_flag("--characters", options.spells,
               "spell unknown words; a word's vector is then twice --character-hidden");
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences");
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::TaggerOptions options;
  options.data = "file of sentences: word|TAG between spaces";
  return example::run_paper_program(argc, argv,
                                    "Trains a tagger: two LSTMs, one sentence at a time.", options,
                                    example::train_tagger, example::declare, example::tag);
}
