// Hostile lists of objects, in files whose checksums are right: an error that names the file, or a
// model. (safetensors_damage_test.cc damages the bytes of files, which checksums show.)
#include <gtest/gtest.h>

#include <random>

#include "dynet/gru.h"
#include "dynet/load-model.h"
#include "dynet/lstm.h"
#include "dynet/safetensors.h"

#include "testing/sanitized.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

const char* const kObjects =
    R"({"reader": {"kind": "dynet:VanillaLSTMBuilder", "key": "/vanilla-lstm-builder", "spec": )"
    R"({"tuple": [1, 3, 4, false, 1.0]}}, "both": {"kind": "dynet._bidirectional:BiRNNBuilder", )"
    R"("key": "/birnn", "spec": {"tuple": [1, 3, 4, {"class": "dynet:GRUBuilder"}, null, )"
    R"({"dict": {"reset_after": true}}]}}, "w": {"kind": "Parameters", "key": "/W"}, "words": )"
    R"({"value": {"object": ["dynet.text._vocabulary:Vocabulary", {"_words": {"list": ["x", "?"]}, )"
    R"("_ids": {"dict": {"x": 0, "?": 1}}, "unknown": "?"}]}}, )"
    R"("tags": {"value": {"Dict": [["x", "y"], true, 0]}}, "n": {"value": -3}})";

class LoadModelDamageTest : public ::testing::Test {
 protected:
  LoadModelDamageTest() {
    const VanillaLSTMBuilder lstm(1, 3, 4, model_);
    ParameterCollection both = model_.add_subcollection("birnn");
    const GRUBuilder forward(1, 3, 2, both, true);
    const GRUBuilder backward(1, 3, 2, both, true);
    model_.add_parameters({2, 3}, "W");
  }
  /// 1 if it loads, 0 if it is an IoError that names the file.
  std::size_t loads(const std::string& objects) {
    SafetensorsSaver saver(file_);
    saver.save(model_);
    saver.set_metadata("objects", objects);
    saver.close();
    try {
      const LoadedModel loaded = load_model(file_);
      for (const std::string& name : loaded.names()) {
        EXPECT_TRUE(loaded.contains(name));
      }
      return 1;
    } catch (const errors::IoError& e) {
      EXPECT_EQ(std::string(e.what()).find("'" + file_ + "'"), 0U) << e.what();
      return 0;
    }
  }
  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("model.safetensors");
  ParameterCollection model_;
};

TEST_F(LoadModelDamageTest, EveryTruncationIsAnError) {
  const std::string whole = kObjects;
  ASSERT_EQ(loads(whole), 1U);
  for (std::size_t n = 0; n < whole.size(); n += static_cast<std::size_t>(testing::trials(3, 11))) {
    ASSERT_EQ(loads(whole.substr(0, n)), 0U) << n;
  }
}

TEST_F(LoadModelDamageTest, ChangedCharacters) {
  // Characters of JSON and of names, so that many changed lists are JSON still.
  const std::string characters = R"({}[]",:0123456789-.eE+xtfn /_)";
  std::mt19937 random(17);
  std::size_t loaded = 0;
  const int count = testing::trials(600, 100);
  for (int i = 0; i < count; ++i) {
    std::string objects = kObjects;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      objects[random() % objects.size()] = characters[random() % characters.size()];
    }
    loaded += loads(objects);
  }
  EXPECT_GT(loaded, 0U);  // a changed name of an entry
  EXPECT_LT(loaded, static_cast<std::size_t>(count) / 2);
}

TEST_F(LoadModelDamageTest, DeepNesting) {
  const std::string deep(100000, '[');
  EXPECT_EQ(loads(deep), 0U);
  EXPECT_EQ(loads(R"({"x": {"value": )" + deep + std::string(100000, ']') + "}}"), 1U);
}

}  // namespace
}  // namespace dynet
