// The language model and the tagger: what they compute, and that they survive their files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model_file.h"
#include "rnnlm_model.h"
#include "tagger_model.h"

namespace examples {
namespace {

class ModelsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("dynet_models_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    file_ = (folder_ / "model.txt").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  /// The reason why settings of this text are not read.
  std::string mistake(const std::string& text) {
    std::ofstream(file_ + ".settings") << text;
    try {
      load_settings(file_, {"x", "y"});
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  }

  std::filesystem::path folder_;
  std::string file_;
};

const RnnlmSettings kSmallRnnlm{6, 9, {"<unk>", "<s>", "a", "b", "c", "d", "e"}};

TEST_F(ModelsTest, BatchOfSentencesIsTheSumOfSentences) {
  RnnlmModel model(kSmallRnnlm, 1);
  set_deterministic_values(model.parameters());
  const std::vector<WordNumbers> sentences = {{2, 3, 4, 5, 1}, {6, 2, 1}, {1}, {3, 3, 3, 3, 1}};
  double sum = 0;
  for (const WordNumbers& sentence : sentences) {
    dynet::ComputationGraph cg;
    model.new_graph(cg);
    sum += dynet::as_scalar(model.add_sentence(cg, sentence).value());
  }
  dynet::ComputationGraph cg;
  model.new_graph(cg);
  std::vector<const WordNumbers*> batch;
  batch.reserve(sentences.size());
  for (const WordNumbers& sentence : sentences) {
    batch.push_back(&sentence);
  }
  const dynet::Expression loss = model.add_sentences(cg, batch);
  EXPECT_EQ(loss.dim(), dynet::Dim({1}));
  EXPECT_NEAR(dynet::as_scalar(loss.value()), sum, 1e-4);
  EXPECT_NEAR(dynet::as_scalar(model.add_sequences(cg, batch).value()), sum, 1e-4);
}

TEST_F(ModelsTest, NextWordIsScoredAsInASentence) {
  RnnlmModel model(kSmallRnnlm, 1);
  set_deterministic_values(model.parameters());
  dynet::ComputationGraph cg;
  model.new_graph(cg);
  // -log p(c a <s>), once by the loss of the sentence and once word by word.
  const double loss = dynet::as_scalar(model.add_sentence(cg, {4, 2, 1}).value());
  double by_words = 0;
  const WordNumbers words = {4, 2, 1};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const WordNumbers before(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    by_words +=
        dynet::as_scalar(dynet::pickneglogsoftmax(model.score_next(cg, before), words[i]).value());
  }
  EXPECT_NEAR(loss, by_words, 1e-5);
}

TEST_F(ModelsTest, PaperSizesHaveThePapersParameters) {
  std::vector<std::string> words(10000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = std::to_string(i);
  }
  RnnlmModel rnnlm({128, 256, words}, 1);
  EXPECT_EQ(rnnlm.parameters().parameter_count(), 2964240U + 1280000U);
  TaggerSettings settings;
  settings.rows = 69500;
  settings.words = {"<unk>", "a"};
  settings.tags = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
  TaggerModel tagger(settings);
  EXPECT_EQ(tagger.parameters().parameter_count(),
            2 * (200 * (128 + 50) + 200) + 32 * 100 + 9 * 32 + 69500 * 128);
}

TaggerSettings small_tagger(bool spells) {
  TaggerSettings settings;
  settings.embedding = 6;
  settings.hidden = 5;
  settings.mlp = 4;
  settings.character_embedding = 2;
  settings.character_hidden = 3;
  settings.words = {"<unk>", "a", "b"};
  settings.tags = {"O", "X"};
  if (spells) {
    settings.characters = {"<unk>", "a", "b", "c"};
  }
  return settings;
}

std::vector<float> tag_scores(TaggerModel& model, const TaggedSentence& sentence) {
  dynet::ComputationGraph cg;
  model.new_graph(cg);
  return dynet::as_vector(dynet::concatenate(model.score_tags(cg, sentence.words)).value());
}

TEST_F(ModelsTest, TaggerNumbersSpellUnknownWordsOnly) {
  TaggerNumbers numbers(small_tagger(true));
  const TaggedSentence sentence = numbers.sentence({{"b", "cab", "<unk>"}, {"X", "O", "new"}});
  ASSERT_EQ(sentence.words.size(), 3U);
  EXPECT_EQ(sentence.words[0].word, 2U);
  EXPECT_TRUE(sentence.words[0].characters.empty());
  EXPECT_EQ(sentence.words[1].characters, (std::vector<unsigned>{3, 1, 2}));
  EXPECT_EQ(sentence.words[2].characters, (std::vector<unsigned>{0, 0, 0, 0, 0}));
  EXPECT_EQ(sentence.tags, (std::vector<unsigned>{1, 0, kNoTag}));
  TaggerNumbers plain(small_tagger(false));
  EXPECT_TRUE(plain.sentence({{"cab"}, {}}).words[0].characters.empty());
}

TEST_F(ModelsTest, TaggerTellsSpellingsApart) {
  TaggerModel model(small_tagger(true));
  set_deterministic_values(model.parameters());
  TaggerNumbers numbers(small_tagger(true));
  EXPECT_NE(tag_scores(model, numbers.sentence({{"ca"}, {}})),
            tag_scores(model, numbers.sentence({{"ac"}, {}})));
  TaggerModel plain(small_tagger(false));
  TaggerNumbers plain_numbers(small_tagger(false));
  EXPECT_EQ(tag_scores(plain, plain_numbers.sentence({{"ca"}, {}})),
            tag_scores(plain, plain_numbers.sentence({{"ac"}, {}})));
}

TEST_F(ModelsTest, TaggerReadsBothWays) {
  TaggerModel model(small_tagger(false));
  set_deterministic_values(model.parameters());
  TaggerNumbers numbers(small_tagger(false));
  const std::vector<float> one = tag_scores(model, numbers.sentence({{"a", "b", "a"}, {}}));
  const std::vector<float> other = tag_scores(model, numbers.sentence({{"a", "b", "b"}, {}}));
  // The last word changes the scores of the first one, and the first tags' scores differ by place.
  EXPECT_NE(std::vector<float>(one.begin(), one.begin() + 2),
            std::vector<float>(other.begin(), other.begin() + 2));
  EXPECT_NE(std::vector<float>(one.begin(), one.begin() + 2),
            std::vector<float>(one.begin() + 4, one.end()));
}

TEST_F(ModelsTest, TaggerWrittenByTheSequenceIsTheSame) {
  for (const bool spells : {false, true}) {
    TaggerModel model(small_tagger(spells));
    set_deterministic_values(model.parameters());
    const TaggedSentence sentence =
        TaggerNumbers(small_tagger(spells)).sentence({{"a", "cb", "b"}, {"O", "X", "X"}});
    dynet::ComputationGraph cg;
    model.new_graph(cg);
    EXPECT_NEAR(dynet::as_scalar(model.add_sequence(cg, sentence).value()),
                dynet::as_scalar(model.add_sentence(cg, sentence).value()), 1e-5);
  }
}

TEST_F(ModelsTest, SavedTaggerGivesTheSameAnswers) {
  const TaggerSettings settings = small_tagger(true);
  TaggerModel model(settings);
  save_model(settings.saved(), model.parameters(), file_);
  const TaggerSettings loaded = TaggerSettings::from(load_settings(file_, {"tagger"}));
  EXPECT_EQ(loaded.words, settings.words);
  EXPECT_EQ(loaded.characters, settings.characters);
  TaggerModel other(loaded);
  populate(other.parameters(), file_);
  const TaggedSentence sentence = TaggerNumbers(loaded).sentence({{"a", "cb", "b"}, {}});
  EXPECT_EQ(tag_scores(model, sentence), tag_scores(other, sentence));
}

TEST_F(ModelsTest, SettingsThatAreWrong) {
  const std::vector<std::vector<std::string>> cases = {
      {"", ":1:1: no settings of this program: the file is empty"},
      {"hidden 3\n", ":1:1: no settings of this program: want the task"},
      {"task x\ntask y\n", ":2:1: no settings of this program: want the task"},
      {"task z\n", ":1:1: no settings of this program: the task is 'z'; want x"},
      {"task x\nhidden\n", ":2:1: no settings of this program: want a name and a value"},
      {"task x\nhidden \n", ":2:1: no settings of this program: want a name and a value"},
      {"task x\nhidden -3\n",
       ":2:1: no settings of this program: want a number below 10^9, not '-3'"},
      {"task x\nhidden 12345678901\n",
       ":2:1: no settings of this program: want a number below 10^9"},
      {"task x\nwords[] 3\na\nb\n",
       ":4:1: no settings of this program: the file ends before the last of 3 words"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(mistake(one[0]).find(one[1]), std::string::npos) << one[0] << mistake(one[0]);
  }
  EXPECT_EQ(mistake("task x\nwords[] 2\na b\n\nhidden 3\n"), "none");
  EXPECT_EQ(load_settings(file_, {"x"}).list("words"), (std::vector<std::string>{"a b", ""}));
  EXPECT_EQ(load_settings(file_, {"x"}).number("hidden"), 3U);
  EXPECT_THROW(static_cast<void>(load_settings(file_, {"x"}).number("mlp")), std::runtime_error);
  EXPECT_THROW(load_settings((folder_ / "other.txt").string(), {"x"}), std::runtime_error);
}

}  // namespace
}  // namespace examples
