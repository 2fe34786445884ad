// Files of a builder's own collection include parameters beside the collection: layer
// normalisation.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/safetensors.h"

#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

/// A model with `others` parameters, an LSTM with layer normalisation, and one parameter more.
template <class Builder>
struct Network {
  explicit Network(unsigned others, float first) {
    for (unsigned i = 0; i < others; ++i) {
      model.add_parameters({8});
    }
    lstm = Builder(2, 3, 2, model, true);
    model.add_parameters({8});
    for (const auto& p : model.get_storage().params) {
      std::vector<float> values(p->size());
      for (float& x : values) {
        x = first++;
      }
      p->set_value(values);
    }
  }
  ParameterCollection& own() { return lstm.get_parameter_collection(); }
  /// All numbers of the LSTM, or of its normalisation only.
  [[nodiscard]] std::vector<float> numbers(bool of_norms = false) const {
    std::vector<float> all;
    for (const auto* lists : {&lstm.params, &lstm.ln_params}) {
      for (const std::vector<Parameter>& layer : *lists) {
        for (const Parameter& p : layer) {
          const std::vector<float> values = as_vector(*p.values());
          if (!of_norms || lists == &lstm.ln_params) {
            all.insert(all.end(), values.begin(), values.end());
          }
        }
      }
    }
    return all;
  }
  ParameterCollection model;
  Builder lstm;
};

template <class Builder>
class BesideTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  void save(const ParameterCollection& model, const std::string& key = "") const {
    TextFileSaver saver(file);
    saver.save(model, key);
    saver.close();
  }
  /// Without the objects that the program of DyNet 2.1 does not write.
  [[nodiscard]] std::string without_norms() const {
    return std::regex_replace(content(), std::regex("#Parameter# [^ ]*/ln_[^\n]*\n[^\n]*\n"), "");
  }
  testing::TemporaryFolder folder_;
  std::string file = folder_.file("own.txt");
};
using Builders = ::testing::Types<VanillaLSTMBuilder, SparseLSTMBuilder>;
TYPED_TEST_SUITE(BesideTest, Builders);

TYPED_TEST(BesideTest, IsSavedAndLoadedInEveryFormat) {
  Network<TypeParam> from(0, 1.0F);
  for (const char* name : {"own.txt", "own.safetensors"}) {
    const std::string to_file = this->folder_.file(name);
    for (const char* key : {"", "/foo"}) {
      {
        const auto saver = make_saver(to_file);
        saver->save(from.own(), key);
        saver->close();
      }
      Network<TypeParam> to(3, 500.0F);  // names beside the collection differ
      make_loader(to_file)->populate(to.own(), key);
      EXPECT_EQ(to.numbers(), from.numbers()) << name << key;
    }
  }
}

TYPED_TEST(BesideTest, NamesAndOrderOfTheFile) {
  Network<TypeParam> from(1, 1.0F);
  this->save(from.own(), "/foo");
  std::istringstream words(this->content());
  std::string names;
  for (std::string word; words >> word;) {
    if (word == "#Parameter#") {
      words >> word;
      names += word + " ";
    }
  }
  const bool is_sparse = std::is_same_v<TypeParam, SparseLSTMBuilder>;
  EXPECT_EQ(names, is_sparse
                       ? "/foo/_0 /foo/_1 /foo/_2 /foo/_3 /foo/_4 /foo/ln_0 /foo/ln_1 /foo/ln_2 "
                         "/foo/ln_3 /foo/ln_4 /foo/ln_5 /foo/_5 /foo/_6 /foo/_7 /foo/_8 /foo/_9 "
                         "/foo/ln_6 /foo/ln_7 /foo/ln_8 /foo/ln_9 /foo/ln_10 /foo/ln_11 "
                       : "/foo/_0 /foo/_1 /foo/_2 /foo/ln_0 /foo/ln_1 /foo/ln_2 /foo/ln_3 "
                         "/foo/ln_4 /foo/ln_5 /foo/_3 /foo/_4 /foo/_5 /foo/ln_6 /foo/ln_7 "
                         "/foo/ln_8 /foo/ln_9 /foo/ln_10 /foo/ln_11 ");
  // The collection lists the same parameters as in 2.1.
  EXPECT_EQ(from.own().size(), is_sparse ? 10U : 6U);
}

// DyNet 2.1 leaves the normalisation out of a file of the collection. The rest loads.
TYPED_TEST(BesideTest, AFileOf21OfTheCollection) {
  Network<TypeParam> from(0, 1.0F);
  this->save(from.own());
  this->write(this->without_norms());
  Network<TypeParam> to(0, 500.0F);
  const std::vector<float> norms = to.numbers(true);
  std::string log;
  set_log_sink([&](const std::string& text) { log += text; });
  TextFileLoader(this->file).populate(to.own());
  set_log_sink(nullptr);
  EXPECT_NE(log.find("it has no parameters of layer normalisation"), std::string::npos) << log;
  EXPECT_EQ(to.numbers(true), norms);
  EXPECT_EQ(as_vector(*to.lstm.params[1][1].values()), as_vector(*from.lstm.params[1][1].values()));
}

// A file of the whole model has the normalisation at its place in DyNet 2.1, above the collection.
TYPED_TEST(BesideTest, AFileOfTheWholeModel) {
  const Network<TypeParam> from(0, 1.0F);
  for (const std::string key : {"", "/model"}) {
    this->save(from.model, key);
    Network<TypeParam> to(0, 500.0F);
    TextFileLoader(this->file).populate(to.own(), key + "/vanilla-lstm-builder");
    EXPECT_EQ(to.numbers(), from.numbers());
    const std::string tensors = this->folder_.file("whole.safetensors");
    {
      SafetensorsSaver saver(tensors);
      saver.save(from.model, key);
      saver.close();
    }
    Network<TypeParam> again(0, 500.0F);
    SafetensorsLoader loader(tensors);
    loader.populate(again.own(), key + "/vanilla-lstm-builder");
    EXPECT_EQ(again.numbers(), from.numbers());
    const auto all = [](const std::string& /*name*/) { return true; };
    Network<TypeParam> part(0, 500.0F);
    loader.populate(part.own(), all, key + "/vanilla-lstm-builder");
    EXPECT_EQ(part.numbers(), from.numbers());
  }
  // Names alone are no proof: if one shape differs, the names belong to other parameters.
  std::string text = this->content();
  const std::size_t at = text.find("#Parameter# /model/_4 ");
  text.replace(at, text.find("/model/_5", at) - at,
               "#Parameter# /model/_4 {1} 17 ZERO_GRAD\n+1.00000000e+00 \n#Parameter# ");
  this->write(text);
  Network<TypeParam> to(0, 500.0F);
  const std::vector<float> norms = to.numbers(true);
  TextFileLoader(this->file).populate(to.own(), "/model/vanilla-lstm-builder");
  EXPECT_EQ(to.numbers(true), norms);
}

// Names identify the normalisation of a builder only if the file's builder is the program's.
TYPED_TEST(BesideTest, AnotherBuilderOfTheWholeModel) {
  Network<TypeParam> from(0, 1.0F);
  TypeParam second(2, 3, 2, from.model, true);
  this->save(from.model, "/model");
  const std::string key = "/model/vanilla-lstm-builder_1";
  Network<TypeParam> to(0, 500.0F);
  const std::vector<float> norms = to.numbers(true);
  std::string log;
  set_log_sink([&](const std::string& text) { log += text; });
  TextFileLoader(this->file).populate(to.own(), key);
  set_log_sink(nullptr);
  EXPECT_NE(log.find("does not say which are this builder's"), std::string::npos) << log;
  EXPECT_EQ(to.numbers(true), norms);
  EXPECT_EQ(as_vector(*to.lstm.params[1][1].values()), as_vector(*second.params[1][1].values()));
  const std::string tensors = this->folder_.file("whole.safetensors");
  SafetensorsSaver(tensors).save(from.model, "/model");
  const std::vector<float> before = to.numbers();
  EXPECT_THROW(SafetensorsLoader(tensors).populate(to.own(), key), errors::IoError);
  EXPECT_EQ(to.numbers(), before);
}

// The reverse: the file of a collection is a file of a model with this builder alone.
TYPED_TEST(BesideTest, AllOfItUnderTheCollection) {
  Network<TypeParam> from(0, 1.0F);
  this->save(from.own());
  int number = 0;
  std::string text = this->content();
  for (std::size_t at = 0; (at = text.find("#Parameter# ", at)) != std::string::npos;) {
    at += 12;
    text.replace(at, text.find(' ', at) - at, "/vanilla-lstm-builder/_" + std::to_string(number++));
  }
  this->write(text);
  Network<TypeParam> to(0, 500.0F);
  TextFileLoader(this->file).populate(to.own());
  EXPECT_EQ(to.numbers(), from.numbers());
  ParameterCollection model;
  const TypeParam alone(2, 3, 2, model, true);
  TextFileLoader(this->file).populate(model);
  EXPECT_EQ(as_vector(*alone.ln_params[1][5].values()),
            as_vector(*from.lstm.ln_params[1][5].values()));
}

TYPED_TEST(BesideTest, APartOfItIsAnError) {
  Network<TypeParam> from(0, 1.0F);
  this->save(from.own());
  const std::string text = this->content();
  const std::size_t at = text.find("#Parameter# /vanilla-lstm-builder/ln_11 ");
  this->write(text.substr(0, at));
  Network<TypeParam> to(0, 500.0F);
  const std::vector<float> before = to.numbers();
  EXPECT_THROW(TextFileLoader(this->file).populate(to.own()), errors::IoError);
  EXPECT_EQ(to.numbers(), before);
}

}  // namespace
}  // namespace dynet
