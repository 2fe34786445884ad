// Shared code of the examples, and the models of the paper: random orders, words by number, files,
// the loop that trains, lists.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "example.h"
#include "listops_data.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "rnnlm_model.h"
#include "sentences.h"
#include "tagger_model.h"
#include "training.h"
#include "tree_model.h"
#include "trees.h"

namespace example {
namespace {

class ExamplesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("dynet_examples_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

// ---- words, settings, orders

TEST(Words, FrequentOnesHaveNumbers) {
  const std::vector<text::Words> sentences = {{"a", "b", "b", "c"}, {"c", "c", "d", "e"}};
  EXPECT_EQ(numbered(sentences, 1).get_words(), (text::Words{"<unk>", "a", "b", "c", "d", "e"}));
  EXPECT_EQ(numbered(sentences, 4).get_words(), (text::Words{"<unk>"}));
  Dict dict = numbered(sentences, 2);
  EXPECT_EQ(dict.get_words(), (text::Words{"<unk>", "b", "c"}));
  EXPECT_EQ(numbers_of({"c", "new", "b"}, dict), (Numbers{2, 0, 1}));
  const std::vector<text::TaggedSentence> tagged = {{{"a", "b", "b"}, {"b", "c", "c"}}};
  EXPECT_EQ(numbered(tagged, 2, &text::TaggedSentence::tags).get_words(),
            (text::Words{"<unk>", "c"}));

  const auto frequent = [&](std::size_t most) {
    return most_frequent(sentences, {"<unk>", "<s>"}, most);
  };
  EXPECT_EQ(frequent(100).get_words(), (text::Words{"<unk>", "<s>", "a", "b", "c", "d", "e"}));
  EXPECT_EQ(frequent(4).get_words(), (text::Words{"<unk>", "<s>", "a", "b"}));  // of a, b, c, d
  dict = frequent(3);
  EXPECT_EQ(dict.get_words(), (text::Words{"<unk>", "<s>", "a"}));  // of a, b, c
  EXPECT_EQ(numbers_of({"b", "a"}, dict), (Numbers{0, 2}));
}

TEST_F(ExamplesTest, FilesWithoutWordsAreMistakes) {
  std::ofstream(file("blank")) << "\n \r\n\t\n";
  EXPECT_THROW(read_all<text::PlainReader>(file("blank")), text::TextError);
  EXPECT_THROW(words_of(" "), text::TextError);
  EXPECT_EQ(words_of(" a\tb "), (text::Words{"a", "b"}));
}

// The Python twin of this test expects the same.
TEST(Random, MinibatchesHaveEveryExampleOnceAPass) {
  Minibatches batches(1, 7, 3);
  EXPECT_EQ(batches.updates_an_epoch(), 3U);
  std::vector<std::vector<std::size_t>> passes(2);
  std::vector<std::size_t> sizes;
  for (std::size_t update = 0; update < 6; ++update) {
    const std::vector<std::size_t> batch = batches.next();
    sizes.push_back(batch.size());
    passes[update / 3].insert(passes[update / 3].end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 1, 3, 3, 1}));
  EXPECT_EQ(passes[0], (std::vector<std::size_t>{1, 6, 0, 4, 3, 5, 2}));
  EXPECT_NE(passes[0], passes[1]);
  std::sort(passes[1].begin(), passes[1].end());
  EXPECT_EQ(passes[1], (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Words, LabelsThatNoTrainingHasAreNone) {
  Dict dict;
  EXPECT_EQ(numbers_of({"O", "X", "O"}, dict), (Numbers{0, 1, 0}));
  dict.freeze();
  EXPECT_EQ(numbers_of({"X", "new"}, dict), (Numbers{1, kNone}));
  EXPECT_EQ(dict.size(), 2U);
}

// ---- the models of the paper

Settings small_rnnlm() { return {"rnnlm", {{"embedding", 6}, {"hidden", 9}, {"words", 7}}}; }

TEST(Rnnlm, BatchOfSentencesIsTheSumOfSentences) {
  Rnnlm model(small_rnnlm());
  const Batch sentences = {{2, 3, 4, 5, 1}, {3, 3, 3, 3, 1}, {6, 2, 1}, {1}};
  float sum = 0;
  for (const Numbers& sentence : sentences) {
    ComputationGraph cg;
    model.new_graph(cg);
    sum += as_scalar(model.loss(cg, sentence).value());
  }
  ComputationGraph cg;
  model.new_graph(cg);
  const Expression loss = model.loss(cg, sentences);
  EXPECT_EQ(loss.dim(), Dim({1}));
  EXPECT_FLOAT_EQ(as_scalar(loss.value()), sum);
}

TEST(Models, PaperSizesHaveThePapersParameters) {
  const Rnnlm rnnlm(Settings{"rnnlm", {{"embedding", 128}, {"hidden", 256}, {"words", 10000}}});
  EXPECT_EQ(rnnlm.m.parameter_count(), 2964240U + 1280000U);
  const Tagger tagger(Settings{"tagger",
                               {{"embedding", 128},
                                {"hidden", 50},
                                {"mlp", 32},
                                {"rows", 69500},
                                {"words", 2},
                                {"tags", 9},
                                {"characters", 0}}});
  EXPECT_EQ(tagger.m.parameter_count(),
            2 * (200 * (128 + 50) + 200) + 32 * 100 + 9 * 32 + 69500 * 128);
}

Settings small_tagger() {
  Settings settings{"tagger",
                    {{"embedding", 6},
                     {"hidden", 5},
                     {"mlp", 4},
                     {"rows", 0},
                     {"character-embedding", 2},
                     {"character-hidden", 3}}};
  settings.dicts["words"] = numbered(std::vector<text::Words>{{"a", "b"}}, 1);
  numbers_of({"O", "X"}, settings.dicts["tags"]);
  settings.dicts["characters"] = numbered(std::vector<text::Words>{{"a", "b", "c"}}, 1);
  return settings;
}

std::vector<std::vector<float>> tag_scores(Tagger& model, const std::vector<Word>& words) {
  ComputationGraph cg;
  model.new_graph(cg);
  std::vector<std::vector<float>> scores;
  for (const Expression& read : model.read(cg, {words})) {
    scores.push_back(as_vector(model.scores(read).value()));
  }
  return scores;
}

TEST(Tagger, ReadsBothWaysAndSpells) {
  Tagger model(small_tagger());
  const auto one = tag_scores(model, {{1}, {2}, {1}});
  const auto other = tag_scores(model, {{1}, {2}, {2}});
  EXPECT_EQ(one[0].size(), 2U);
  EXPECT_NE(one[0], other[0]);  // the last word changes the scores of the first
  EXPECT_NE(one[0], one[2]);
  EXPECT_NE(tag_scores(model, {{0, {3, 1}}}), tag_scores(model, {{0, {1, 3}}}));
}

TEST_F(ExamplesTest, SavedModelsGiveTheSameAnswers) {
  const Settings settings = small_tagger();
  Tagger model(settings);
  save_model(settings, model.m, file("model"));
  const Settings loaded = load_settings(file("model"), "tagger");
  EXPECT_EQ(loaded.numbers, settings.numbers);
  for (const char* name : {"words", "tags", "characters"}) {
    EXPECT_EQ(loaded.dicts.at(name).get_words(), settings.dicts.at(name).get_words());
    EXPECT_EQ(loaded.dicts.at(name).get_unk_id(), settings.dicts.at(name).get_unk_id());
  }
  Tagger other(loaded);
  const std::vector<Word> words = {{1}, {0, {3, 1}}, {2}};
  EXPECT_NE(tag_scores(model, words), tag_scores(other, words));
  populate(other, file("model"));
  EXPECT_EQ(tag_scores(model, words), tag_scores(other, words));
  EXPECT_THROW(load_settings(file("model"), "rnnlm"), std::runtime_error);
  EXPECT_THROW(load_settings(file("none"), "tagger"), errors::IoError);
}

std::string what_fails(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(ExamplesTest, ModelsWithoutTheirSettingsAreMistakes) {
  const auto save = [&](const std::string& hidden) {
    SafetensorsSaver saver(file("model"));
    saver.save(ParameterCollection());
    saver.set_metadata("task", "tagger");
    saver.set_metadata("hidden", hidden);
    saver.close();
  };
  for (const std::string wrong : {"x", "", "5 ", "-1", "5000000000"}) {
    save(wrong);
    EXPECT_EQ(what_fails([&] { load_settings(file("model"), "tagger"); }),
              file("model") + ": hidden is '" + wrong + "'; want a number");
  }
  save("5");
  const Settings settings = load_settings(file("model"), "tagger");
  EXPECT_EQ(settings["hidden"], 5U);
  EXPECT_EQ(what_fails([&] { static_cast<void>(settings["words"]); }),
            "the settings have no 'words'");
}

// ---- training

/// Learns that a number is 3.
struct Three {
  ParameterCollection m;
  Parameter p = m.add_parameters({1}, ParameterInitConst(0));
  void new_graph(ComputationGraph& /*cg*/) {}
  Expression loss(ComputationGraph& cg, float wanted) {
    return squared_norm(parameter(cg, p) - wanted);
  }
  float value() { return as_scalar(*p.values()); }
};
const std::vector<float> kThrees(10, 3.0F);

PaperOptions quiet_options(std::size_t updates) {
  PaperOptions options;
  options.updates = updates;
  options.is_quiet = true;
  return options;
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST_F(ExamplesTest, TrainingLearnsAndWritesItsCurve) {
  PaperOptions options = quiet_options(0);
  options.epochs = 30;
  options.minibatch = 4;
  options.learning_rate = 0.1;
  options.curve = file("curve.csv");
  Three model;
  train(options, {}, model, kThrees);
  EXPECT_GT(model.value(), 2.5F);
  const auto lines = lines_of(options.curve);
  ASSERT_EQ(lines.size(), 31U);  // an epoch has three updates
  EXPECT_EQ(lines[0], "updates,seconds,items,train_loss,dev_score");
  EXPECT_EQ(lines[1].substr(0, 2), "3,");
  EXPECT_EQ(lines[30].substr(0, 3), "90,");
  EXPECT_EQ(lines[30].back(), ',') << "a score without a test: " << lines[30];
}

TEST_F(ExamplesTest, TheBestModelIsKeptOrTheLast) {
  for (const bool keeps_best : {true, false}) {
    PaperOptions options = quiet_options(45);
    options.test_every = 10;
    options.out = file("out");
    Three model;
    const Settings settings{"three"};
    std::vector<float> tested;
    const std::vector<double> scores = {5, 2, 3, 4, 4.5};
    Plan plan{.score_name = "perplexity", .less_is_better = true};
    plan.score = [&] {
      tested.push_back(model.value());
      return scores[tested.size() - 1];
    };
    plan.settings = &settings;
    plan.keeps_best = keeps_best;
    train(options, plan, model, kThrees);
    ASSERT_EQ(tested.size(), 5U);  // after 10, 20, 30, 40 and 45 updates
    Three saved;
    populate(saved, options.model());
    EXPECT_EQ(saved.value(), tested[keeps_best ? 1 : 4]);
    EXPECT_NE(tested[1], tested[4]);
    // The second training begins at the end of the first.
    Three next;
    options.init_file = options.model();
    options.updates = 1;
    options.learning_rate = 1e-9;
    options.out.clear();
    train(options, {}, next, kThrees);
    EXPECT_FLOAT_EQ(next.value(), saved.value());
  }
}

TEST_F(ExamplesTest, TrainingEndsInTime) {
  PaperOptions options = quiet_options(100000000);
  options.max_seconds = 0.05;
  options.test_every = 1000000000;
  Three model;
  int tests = 0;
  train(options, {.score = [&] { return ++tests; }}, model, kThrees);
  EXPECT_EQ(tests, 1);  // after the last update, whichever it was
}

TEST(Training, RateFallsAtTheEnd) {
  EXPECT_EQ(rate_factor(0), 1);
  EXPECT_EQ(rate_factor(0.59), 1);
  EXPECT_NEAR(rate_factor(0.8), 0.51, 1e-9);
  EXPECT_NEAR(rate_factor(1), 0.02, 1e-9);
  EXPECT_NEAR(rate_factor(1.5), 0.02, 1e-9);
}

TEST(Training, LowersTheRateWhereThePlanSaysSo) {
  std::vector<float> values;
  for (const bool lowers_rate : {false, true}) {
    Three model;
    train(quiet_options(10), {.lowers_rate = lowers_rate}, model, kThrees);
    values.push_back(model.value());
  }
  EXPECT_LT(values[1], 0.95F * values[0]);
}

/// Learns that each row of a table is 3; row 1 is looked up in the first update alone.
struct Threes {
  ParameterCollection m;
  LookupParameter rows = m.add_lookup_parameters(2, {1}, ParameterInitConst(0));
  unsigned updates = 0;
  void new_graph(ComputationGraph& /*cg*/) {}
  Expression loss(ComputationGraph& cg, float wanted) {
    return squared_norm(lookup(cg, rows, updates++ == 0 ? 1U : 0U) - wanted);
  }
};

TEST(Training, UpdatesOfTables) {
  std::vector<float> values;  // of the row that is looked up once
  for (const char* how : {"sparse", "dense", "exact"}) {
    Threes model;
    PaperOptions options = quiet_options(20);
    options.learning_rate = 0.01;
    options.lookup_updates = how;
    train(options, {}, model, kThrees);
    ComputationGraph cg;
    values.push_back(as_scalar(lookup(cg, model.rows, 1U).value()));
  }
  EXPECT_GT(std::abs(values[0] - values[1]), 1e-3F);
  EXPECT_NEAR(values[2], values[1], 1e-4F);
}

TEST(Answers, AreThePlacesOfTheLargest) {
  ComputationGraph cg;
  const Expression a = input(cg, {3}, {0.0F, 2.0F, 1.0F});
  const Expression b = input(cg, {3}, {5.0F, 2.0F, 1.0F});
  EXPECT_EQ(best_of_each({a, b}), (Numbers{1, 0}));
  EXPECT_EQ(best_of_each({concatenate_to_batch({b, a, b})}), (Numbers{0, 1, 0}));
  EXPECT_EQ(share_right({1, 0, 2, 2}, {1, 1, 2, 0}), 0.5);
}

// ---- lists

TEST(ListOps, ValuesByHand) {
  const std::vector<std::pair<std::string, unsigned>> cases = {
      {"[MAX 3 [MIN 4 5] 1]", 4}, {"[MED 9 1 5]", 5},      {"[MED 9 1 5 7]", 5},
      {"[SM 9 8 7]", 4},          {"(SM 1 (MED 8 2))", 3}, {"[MIN 4 2 9]", 2}};
  for (const auto& [list, value] : cases) {
    EXPECT_EQ(read_list(list).back().label, value) << list;
  }
  const Tree tree = read_list("[MAX 3 [MIN 4 5]]");  // ((MAX 3) ((MIN 4) 5))
  Numbers labels;
  for (const Node& node : tree) {
    labels.push_back(node.label);
  }
  EXPECT_EQ(labels, (Numbers{kNone, 3, 3, kNone, 4, 4, 5, 4, 4}));
  EXPECT_EQ(std::tie(tree[8].left, tree[8].right), std::make_tuple(2U, 7U));
}

// The Python twin of this test expects the same lists.
TEST(ListOps, SameListsAsInPython) {
  Random random(1);
  EXPECT_EQ(make_list(random, 1 + random.below(kDeepest)), "[SM [MAX 2 0 3 1] 3 3 [SM 4 3 6]]");
  std::uint32_t hash = 0;
  for (int i = 0; i < 1000; ++i) {
    for (const char c : make_list(random, 1 + random.below(kDeepest))) {
      hash = hash * 31U + static_cast<unsigned char>(c);
    }
  }
  EXPECT_EQ(hash, 3041538011U);
}

TEST(ListOps, ListsAreNewAndOfTheirDepth) {
  Random random(7);
  std::set<std::string> known;
  EXPECT_EQ(make_lists(random, 2, 500, known).size(), 500U);
  EXPECT_EQ(known.size(), 500U);
  for (const std::string& list : known) {
    EXPECT_NE(list.find('[', 1), std::string::npos) << list;
    EXPECT_EQ(list.find("]]]"), std::string::npos) << list;
  }
}

TEST(ListOps, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> cases = {
      {"", 1, "want a list"},
      {"[MAX 3", 7, "is closed"},
      {"[MAX 3 12]", 8, "want a digit"},
      {"[MAX 3]]", 8, "text after"},
      {"[3 4]", 2, "after a ["},
      {"[MAX 3 MEAN]", 8, "want a digit"},
      {"[MAX MIN]", 6, "want a digit"},
      {"[MAX 3 4)", 9, "other kind of bracket"},
      {"(MAX 3 [MIN 4 5])", 8, "other kind of bracket"},
      {"MAX 3 4 ]", 1, "want a tree"},
      {"7", 1, "want a tree"}};
  for (const auto& [list, column, reason] : cases) {
    try {
      read_list(list);
      ADD_FAILURE() << "accepted: " << list;
    } catch (const text::TextError& error) {
      EXPECT_EQ(error.column(), column) << error.what();
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "[MAX ";
  }
  EXPECT_THROW(read_list(deep + "1" + std::string(100000, ']')), text::TextError);
}

}  // namespace
}  // namespace example
