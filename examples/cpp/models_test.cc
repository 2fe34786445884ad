// The language model and the tagger: what they compute, and that they survive their files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "rnnlm_model.h"
#include "sequence_losses.h"
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

Settings small_rnnlm() {
  return {"rnnlm",
          {{"embedding", 6}, {"hidden", 9}},
          {{"words", {"<unk>", "<s>", "a", "b", "c", "d", "e"}}}};
}

TEST_F(ModelsTest, BatchOfSentencesIsTheSumOfSentences) {
  Rnnlm model(small_rnnlm());
  set_deterministic_values(model.m);
  const Batch sentences = {{2, 3, 4, 5, 1}, {3, 3, 3, 3, 1}, {6, 2, 1}, {1}};
  double sum = 0;
  for (const Numbers& sentence : sentences) {
    ComputationGraph cg;
    model.new_graph(cg);
    sum += as_scalar(model.loss(cg, sentence).value());
  }
  ComputationGraph cg;
  model.new_graph(cg);
  const Expression loss = model.loss(cg, sentences);
  EXPECT_EQ(loss.dim(), Dim({1}));
  EXPECT_NEAR(as_scalar(loss.value()), sum, 1e-4);
  EXPECT_NEAR(as_scalar(sequence_loss(model, cg, sentences).value()), sum, 1e-4);
}

TEST_F(ModelsTest, NextWordIsScoredAsInASentence) {
  Rnnlm model(small_rnnlm());
  set_deterministic_values(model.m);
  ComputationGraph cg;
  model.new_graph(cg);
  // -log p(c a <s>), once by the loss of the sentence and once word by word.
  const double loss = as_scalar(model.loss(cg, Numbers{4, 2, 1}).value());
  double by_words = 0;
  const Numbers words = {4, 2, 1};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Numbers before(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    by_words += as_scalar(pickneglogsoftmax(model.scores_after(cg, before), words[i]).value());
  }
  EXPECT_NEAR(loss, by_words, 1e-5);
}

TEST_F(ModelsTest, PaperSizesHaveThePapersParameters) {
  std::vector<std::string> words(10000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = std::to_string(i);
  }
  const Rnnlm rnnlm(Settings{"rnnlm", {{"embedding", 128}, {"hidden", 256}}, {{"words", words}}});
  EXPECT_EQ(rnnlm.m.parameter_count(), 2964240U + 1280000U);
  const Tagger tagger(Settings{
      "tagger",
      {{"embedding", 128}, {"hidden", 50}, {"mlp", 32}, {"rows", 69500}},
      {{"words", {"<unk>", "a"}}, {"tags", std::vector<std::string>(9)}, {"characters", {}}}});
  EXPECT_EQ(tagger.m.parameter_count(),
            2 * (200 * (128 + 50) + 200) + 32 * 100 + 9 * 32 + 69500 * 128);
}

Settings small_tagger(bool spells) {
  std::vector<std::string> characters;
  if (spells) {
    characters = {"<unk>", "a", "b", "c"};
  }
  return {"tagger",
          {{"embedding", 6},
           {"hidden", 5},
           {"mlp", 4},
           {"rows", 0},
           {"character-embedding", 2},
           {"character-hidden", 3}},
          {{"words", {"<unk>", "a", "b"}}, {"tags", {"O", "X"}}, {"characters", characters}}};
}

std::vector<float> tag_scores(Tagger& model, const Sentence& sentence) {
  ComputationGraph cg;
  model.new_graph(cg);
  return as_vector(concatenate(model.scores(cg, sentence.words)).value());
}

TEST_F(ModelsTest, NumbersSpellUnknownWordsOnly) {
  SentenceNumbers numbers(small_tagger(true));
  const Sentence sentence = numbers.of({{"b", "cab", "<unk>"}, {"X", "O", "new"}});
  ASSERT_EQ(sentence.words.size(), 3U);
  EXPECT_EQ(sentence.words[0].number, 2U);
  EXPECT_TRUE(sentence.words[0].letters.empty());
  EXPECT_EQ(sentence.words[1].letters, (Numbers{3, 1, 2}));
  EXPECT_EQ(sentence.words[2].letters, (Numbers{0, 0, 0, 0, 0}));
  EXPECT_EQ(sentence.tags, (Numbers{1, 0, kNoTag}));
  SentenceNumbers plain(small_tagger(false));
  EXPECT_TRUE(plain.of({{"cab"}, {}}).words[0].letters.empty());
}

TEST_F(ModelsTest, TaggerTellsSpellingsApart) {
  Tagger model(small_tagger(true));
  set_deterministic_values(model.m);
  SentenceNumbers numbers(small_tagger(true));
  EXPECT_NE(tag_scores(model, numbers.of({{"ca"}, {}})),
            tag_scores(model, numbers.of({{"ac"}, {}})));
  Tagger plain(small_tagger(false));
  SentenceNumbers plain_numbers(small_tagger(false));
  EXPECT_EQ(tag_scores(plain, plain_numbers.of({{"ca"}, {}})),
            tag_scores(plain, plain_numbers.of({{"ac"}, {}})));
}

TEST_F(ModelsTest, TaggerReadsBothWays) {
  Tagger model(small_tagger(false));
  set_deterministic_values(model.m);
  SentenceNumbers numbers(small_tagger(false));
  const std::vector<float> one = tag_scores(model, numbers.of({{"a", "b", "a"}, {}}));
  const std::vector<float> other = tag_scores(model, numbers.of({{"a", "b", "b"}, {}}));
  // The last word changes the scores of the first one, and the first tags' scores differ by place.
  EXPECT_NE(std::vector<float>(one.begin(), one.begin() + 2),
            std::vector<float>(other.begin(), other.begin() + 2));
  EXPECT_NE(std::vector<float>(one.begin(), one.begin() + 2),
            std::vector<float>(one.begin() + 4, one.end()));
}

TEST_F(ModelsTest, TaggerWrittenByTheSequenceIsTheSame) {
  for (const bool spells : {false, true}) {
    Tagger model(small_tagger(spells));
    set_deterministic_values(model.m);
    const Sentence sentence =
        SentenceNumbers(small_tagger(spells)).of({{"a", "cb", "b"}, {"O", "X", "X"}});
    ComputationGraph cg;
    model.new_graph(cg);
    EXPECT_NEAR(as_scalar(sequence_loss(model, cg, sentence).value()),
                as_scalar(model.loss(cg, sentence).value()), 1e-5);
  }
}

TEST_F(ModelsTest, SavedTaggerGivesTheSameAnswers) {
  const Settings settings = small_tagger(true);
  Tagger model(settings);
  save_model(settings, model.m, file_);
  const Settings loaded = load_settings(file_, {"tagger"});
  EXPECT_EQ(loaded.numbers, settings.numbers);
  EXPECT_EQ(loaded.lists, settings.lists);
  Tagger other(loaded);
  populate(other.m, file_);
  const Sentence sentence = SentenceNumbers(loaded).of({{"a", "cb", "b"}, {}});
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
  EXPECT_EQ(load_settings(file_, {"x"})["hidden"], 3U);
  EXPECT_THROW(static_cast<void>(load_settings(file_, {"x"})["mlp"]), std::runtime_error);
  EXPECT_THROW(load_settings((folder_ / "other.txt").string(), {"x"}), std::runtime_error);
}

}  // namespace
}  // namespace examples
