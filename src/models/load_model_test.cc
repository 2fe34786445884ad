// Files as Python writes them, loaded in C++: each kind of entry, and each refusal by its text.
// python/tests/test_load_model.py loads files of every class of builders that Python itself wrote.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/expr.h"
#include "dynet/gru.h"
#include "dynet/load-model.h"
#include "dynet/lstm.h"
#include "dynet/safetensors.h"

#include "testing/temporary_folder.h"

namespace dynet {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const errors::IoError& e) {
    return e.what();
  }
  return "no error";
}

class LoadModelTest : public ::testing::Test {
 protected:
  /// A file with the parameters of `model_`, and this list of objects.
  void write(const std::string& objects) {
    SafetensorsSaver saver(file_);
    saver.save(model_);
    saver.set_metadata("objects", objects);
    saver.close();
  }
  [[nodiscard]] std::string error_of_loading(const std::string& objects) {
    write(objects);
    return error_of([this] { (void)load_model(file_); });
  }
  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("model.safetensors");
  ParameterCollection model_;
};

std::vector<float> outputs(RNNBuilder& builder) {
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  builder.add_input(input(cg, {3}, {1, -2, 0.5F}));
  return as_vector(builder.add_input(input(cg, {3}, {0.25F, 1, -1})).value());
}

TEST_F(LoadModelTest, ABuilderHasTheNumbersOfTheFile) {
  VanillaLSTMBuilder lstm(2, 3, 4, model_, true, 0.5F);
  SafetensorsSaver saver(
      file_);  // layer normalisation is in a file of the builder's own collection
  saver.save(lstm.get_parameter_collection(), "/reader");
  saver.set_metadata("objects",
                     R"({"reader": {"kind": "dynet:VanillaLSTMBuilder", "key": "/reader",
                                    "spec": {"tuple": [2, 3, 4, true, 0.5]}}})");
  saver.close();
  LoadedModel loaded = load_model(file_);
  EXPECT_EQ(outputs(loaded.builder<VanillaLSTMBuilder>("reader")), outputs(lstm));
  EXPECT_EQ(outputs(loaded.builder<RNNBuilder>("reader")), outputs(lstm));
  EXPECT_EQ(loaded.collection().parameters_list().size(), model_.parameters_list().size());
}

TEST_F(LoadModelTest, AMovedModelKeepsItsBuilders) {
  GRUBuilder gru(1, 3, 2, model_);
  write(R"([{"kind": "dynet:GRUBuilder", "key": "/gru-builder", "spec": {"tuple": [1, 3, 2]}}])");
  LoadedModel loaded = load_model(file_);
  auto& builder = loaded.builder<GRUBuilder>("0");
  const LoadedModel moved = std::move(loaded);
  EXPECT_EQ(moved.names(), std::vector<std::string>{"0"});
  EXPECT_EQ(outputs(builder), outputs(gru));
}

TEST_F(LoadModelTest, BothWaysWithOptions) {
  BiRNNBuilder<VanillaLSTMBuilder> both(1, 3, 4, model_, false, 0.25F);
  const auto run = [](BiRNNBuilder<VanillaLSTMBuilder>& builder) {
    ComputationGraph cg;
    builder.new_graph(cg);
    const auto xs = builder.transduce({input(cg, {3}, {1, -2, 0.5F}), input(cg, {3}, {1, 0, 2})});
    return as_vector(concatenate(xs).value());
  };
  for (const char* factory : {"VanillaLSTMBuilder", "CoupledLSTMBuilder"}) {
    write(
        std::string(R"({"both": {"kind": "dynet._bidirectional:BiRNNBuilder", "key": "/birnn",)") +
        R"("spec": {"tuple": [1, 3, 4, {"class": "dynet:)" + factory +
        R"("}, null, {"dict": {"forget_bias": 0.25, "ln_lstm": null}}]}}})");
    LoadedModel loaded = load_model(file_);
    EXPECT_EQ(run(loaded.builder<BiRNNBuilder<VanillaLSTMBuilder>>("both")), run(both)) << factory;
    EXPECT_EQ(error_of([&] { (void)loaded.builder<BiRNNBuilder<GRUBuilder>>("both"); }),
              "'" + file_ +
                  "': 'both' is a BiRNNBuilder<VanillaLSTMBuilder>; want a "
                  "BiRNNBuilder<GRUBuilder>");
  }
}

TEST_F(LoadModelTest, ParametersAndTables) {
  const Parameter w = model_.add_parameters({2, 3}, "W");
  const LookupParameter e = model_.add_lookup_parameters(4, {2}, "E");
  write(R"({"w": {"kind": "Parameters", "key": "/W"},
            "e": {"kind": "LookupParameters", "key": "/E"}})");
  LoadedModel loaded = load_model(file_);
  EXPECT_EQ(as_vector(*loaded.parameter("w").values()), as_vector(*w.values()));
  EXPECT_EQ(as_vector(loaded.lookup_parameter("e").values()->at(3)), as_vector(e.values()->at(3)));
  EXPECT_EQ(error_of([&] { (void)loaded.parameter("e"); }),
            "'" + file_ + "': 'e' is a lookup parameter; want a parameter");
  EXPECT_EQ(error_of([&] { (void)loaded.builder<RNNBuilder>("w"); }),
            "'" + file_ + "': 'w' is a parameter; want an RNNBuilder");
  EXPECT_EQ(error_of([&] { (void)loaded.parameter("v"); }),
            "'" + file_ + "' has no 'v'; want one of 'e', 'w'");
  EXPECT_TRUE(loaded.contains("w"));
  EXPECT_FALSE(loaded.contains("W"));
}

TEST_F(LoadModelTest, VocabulariesOfEachKind) {
  write(R"({"a": {"value": {"object": ["dynet.text._vocabulary:Vocabulary",
                    {"_words": {"list": ["x", "?"]}, "_ids": {"dict": {"x": 0, "?": 1}},
                     "unknown": "?"}]}},
            "b": {"value": {"Dict": [["x", "y"], true, 0]}},
            "c": {"value": {"dict": {"z": 0, "a": 2, "m": 1}}}})");
  LoadedModel loaded = load_model(file_);
  Dict& a = loaded.dict("a");
  EXPECT_TRUE(a.is_frozen());
  EXPECT_EQ(a.convert("never seen"), 1);
  Dict& b = loaded.dict("b");
  EXPECT_EQ(b.convert("never seen"), 0);
  Dict& c = loaded.dict("c");
  EXPECT_EQ(c.get_words(), (std::vector<std::string>{"z", "m", "a"}));
  EXPECT_THROW(c.convert("never seen"), std::runtime_error);
}

TEST_F(LoadModelTest, PlainData) {
  write(R"({"flag": {"value": true}, "n": {"value": -3}, "x": {"value": 0.5},
            "text": {"value": "abc"}, "counts": {"value": {"dict": {"a": 1, "b": 1, "c": 1}}},
            "ns": {"value": {"tuple": [1, 2]}}, "ts": {"value": {"list": ["a", "b"]}}})");
  LoadedModel m = load_model(file_);
  EXPECT_TRUE(m.value<bool>("flag"));
  EXPECT_EQ(m.value<std::int64_t>("n"), -3);
  EXPECT_EQ(m.value<double>("x"), 0.5);
  EXPECT_EQ(m.value<double>("n"), -3.0);
  EXPECT_EQ(m.value<std::string>("text"), "abc");
  EXPECT_EQ(m.value<std::vector<std::int64_t>>("ns"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(m.value<std::vector<double>>("ns"), (std::vector<double>{1, 2}));
  EXPECT_EQ(m.value<std::vector<std::string>>("ts"), (std::vector<std::string>{"a", "b"}));
  const std::string at = "'" + file_ + "': ";
  EXPECT_EQ(error_of([&] { (void)m.value<std::int64_t>("x"); }),
            at + "'x' is 0.5; want a whole number of 64 bits");
  EXPECT_EQ(error_of([&] { (void)m.value<std::vector<std::string>>("ns"); }),
            at + "'ns'[0] is 1; want a text");
  EXPECT_EQ(error_of([&] { (void)m.dict("counts"); }),
            at + "'counts' is a dict; want a vocabulary: a dy.text.Vocabulary, a dy.Dict, or a "
                 "dict of words and the ids 0, 1, 2, ...");
}

TEST_F(LoadModelTest, NumbersThatJsonLacks) {
  write(R"({"best": {"value": {"float": "-inf"}}, "most": {"value": {"float": "inf"}},
            "xs": {"value": {"list": [1, {"float": "nan"}, {"number": ["<f4", "AACAPw=="]}]}},
            "x": {"value": {"float": "1e999"}}})");
  const LoadedModel m = load_model(file_);
  EXPECT_EQ(m.value<double>("best"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(m.value<double>("most"), std::numeric_limits<double>::infinity());
  const std::string at = "'" + file_ + "': ";
  EXPECT_EQ(error_of([&] { (void)m.value<std::int64_t>("best"); }),
            at + "'best' is -inf; want a whole number of 64 bits");
  EXPECT_EQ(error_of([&] { (void)m.value<std::vector<double>>("xs"); }),  // behind NaN
            at + "'xs'[2] is a number of NumPy's, not of Python's; want a number");
  EXPECT_EQ(error_of([&] { (void)m.value<double>("x"); }), at + "'x' is 1e999; want a number");
}

TEST_F(LoadModelTest, RefusalsNameFileEntryAndClass) {
  const GRUBuilder gru(1, 3, 2, model_);
  const std::string at = "'" + file_ + "': 'x'";
  const auto error_with = [&](const std::string& kind, const std::string& spec) {
    return error_of_loading(R"({"x": {"kind": ")" + kind + R"(", "key": "/gru-builder", "spec": )" +
                            spec + "}}");
  };
  EXPECT_EQ(error_with("__main__:Tagger", R"({"tuple": []})"),
            at + " is of the class '__main__:Tagger', which only Python knows; want a builder of "
                 "dynet: save the builders, parameters and vocabularies of your class one by one");
  EXPECT_EQ(error_with("dynet:GRUBuilder", R"({"tuple": [1, 3]})"),
            at + ": spec has 2 arguments; want 3 or more");
  EXPECT_EQ(error_with("dynet:GRUBuilder", R"({"tuple": [1, 3, "2"]})"),
            at + ": spec[2] is '2'; want a whole number from 0 to 4294967295");
  EXPECT_EQ(error_with("dynet:GRUBuilder", "[1, 3, 2]"),
            at + ": spec is no value of Python's; want a tuple or list");
  EXPECT_NE(error_with("dynet:GRUBuilder", R"({"tuple": [1, 2, 2]})").find("has shape"),
            std::string::npos);
  EXPECT_EQ(error_of_loading("17"),
            "'" + file_ + "': the list of its objects is neither a list nor a dict");
  EXPECT_NE(error_of_loading("{").find("': the list of its objects is no JSON: "),
            std::string::npos);
}

TEST_F(LoadModelTest, SettingsThatChangeAFunction) {
  CRFBuilder crf(2, model_);
  crf.forbid(0, 1);
  crf.forbid_start(1);
  const auto best = [](CRFBuilder& builder) {
    ComputationGraph cg;
    builder.new_graph(cg);
    return builder.viterbi(input(cg, {2, 3}, {0, 9, 0, 9, 0, 9})).tags;
  };
  const auto with = [](const std::string& settings) {
    return R"({"crf": {"kind": "dynet:CRFBuilder", "key": "/crf-builder", "spec": {"tuple": [2]},
                       "settings": {"list": [)" +
           settings + "]}}}";
  };
  write(with(R"({"tuple": [0, "forbid", {"tuple": [0, 1]}]},
                {"tuple": [0, "forbid_start", {"tuple": [1]}]})"));
  LoadedModel loaded = load_model(file_);
  EXPECT_EQ(best(loaded.builder<CRFBuilder>("crf")), best(crf));
  EXPECT_EQ(best(crf), (std::vector<unsigned>{0, 0, 0}));
  EXPECT_EQ(error_of_loading(with(R"({"tuple": [0, "forbid_all", {"tuple": []}]})")),
            "'" + file_ +
                "': 'crf' has the setting 'forbid_all', which only Python knows of a "
                "CRFBuilder");
  EXPECT_EQ(error_of_loading(with(R"({"tuple": [0, "forbid", {"tuple": [0, 7]}]})")).find(file_),
            1U);
}

TEST_F(LoadModelTest, SizesBeyondTheFileTakeNoMemory) {
  const GRUBuilder gru(1, 3, 2, model_);
  for (const char* sizes : {"[1, 100000, 100000]", "[4000000000, 3, 2]", "[1, 3, 4294967295]"}) {
    const std::string error = error_of_loading(
        std::string(
            R"({"x": {"kind": "dynet:GRUBuilder", "key": "/gru-builder", "spec": {"tuple": )") +
        sizes + "}}}");
    EXPECT_EQ(error.find("'" + file_ + "': 'x': "), 0U) << error;
  }
  // One tensor for very many objects.
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) {
    many += R"({"kind": "Parameters", "key": "/gru-builder/_0"},)";
  }
  EXPECT_NE(error_of_loading(many.substr(0, many.size() - 1) + "]").find("numbers; want"),
            std::string::npos);
}

TEST_F(LoadModelTest, NoRandomNumberIsDrawn) {
  const GRUBuilder gru(1, 3, 2, model_);
  write(R"([{"kind": "dynet:GRUBuilder", "key": "/gru-builder", "spec": {"tuple": [1, 3, 2]}}])");
  const std::mt19937 before = *rndeng;
  (void)load_model(file_);
  EXPECT_EQ(*rndeng, before);
}

TEST_F(LoadModelTest, AFileOfAnotherWriter) {
  SafetensorsSaver saver(file_);
  saver.save(model_);
  saver.close();
  EXPECT_EQ(error_of([this] { (void)load_model(file_); }),
            "'" + file_ + "' does not say what objects it has; want a file of Python's dy.save");
  EXPECT_NE(error_of([this] { (void)load_model(file_ + ".absent"); }).find(file_ + ".absent"),
            std::string::npos);
}

}  // namespace
}  // namespace dynet
