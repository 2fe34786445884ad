// Damaged and hostile safetensors files: always an error that says where, never anything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "dynet/safetensors.h"
#include "dynet/training.h"

#include "testing/temporary_folder.h"

namespace dynet {
namespace {

/// A model of both kinds with a NaN and an infinity, and a trainer with state.
struct SmallModel {
  SmallModel() {
    ParameterCollection sub = model.add_subcollection("s");
    a = model.add_parameters({2, 3}, ParameterInitFromVector({1, -2, 3e-20F, 4e20F, 5, 0}), "a");
    b = sub.add_parameters({2}, ParameterInitFromVector({std::nanf(""), -INFINITY}), "b");
    e = sub.add_lookup_parameters(2, {2}, ParameterInitFromVector({0.25F, 1, 2, 3}), "e");
    trainer.exponential_moving_average(0.5F);
  }
  /// All that a load may change.
  [[nodiscard]] std::string state() {
    std::ostringstream all;
    trainer.save(all);
    for (const std::vector<float>& values :
         {as_vector(*a.values()), as_vector(*b.values()), as_vector(e.values()->at(0)),
          as_vector(e.values()->at(1))}) {
      all.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
    return all.str();
  }
  ParameterCollection model;
  Parameter a, b;
  LookupParameter e;
  MomentumSGDTrainer trainer{model, 0.1F};
};

class SafetensorsDamageTest : public ::testing::Test {
 protected:
  SafetensorsDamageTest() {
    SmallModel small;
    small.b.set_updated(false);
    small.trainer.update();
    {
      SafetensorsSaver saver(file_);
      saver.set_metadata("position", "17");
      saver.save(small.trainer);
      saver.save(small.model, "/m");
      saver.close();
    }
    std::ifstream in(file_, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  /// Changes one byte of the file, a hundred times as fast as writing the file.
  void change(std::size_t at, char to) const {
    std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(to);
  }
  /// Loads everything in every way.
  void load_all(SmallModel& target) const {
    SafetensorsLoader loader(file_);
    loader.check_all();
    loader.populate(target.model, "/m");
    loader.populate(target.trainer);
    load_dynet(target);
  }
  /// An IoError whose text names the file and a byte, and can be shown anywhere.
  void expect_error(SmallModel& target) const {
    try {
      load_all(target);
      FAIL() << "loaded";
    } catch (const errors::IoError& e) {
      const std::string text = e.what();
      ASSERT_NE(text.find("'" + file_ + "', byte "), std::string::npos) << text;
      ASSERT_LT(text.size(), 1000U);
      ASSERT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
        return c >= ' ' && c <= '~';
      })) << text;
    }
  }
  void load_dynet(SmallModel& target) const { make_loader(file_)->populate(target.model, "/m"); }
  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("damaged.safetensors");
  std::string text_;
};

TEST_F(SafetensorsDamageTest, EveryTruncationIsAnErrorThatChangesNothing) {
  SmallModel target;
  const std::string before = target.state();
  for (std::size_t n = text_.size(); n-- > 0;) {
    std::filesystem::resize_file(file_, n);
    ASSERT_NO_FATAL_FAILURE(expect_error(target)) << n;
    ASSERT_THROW(load_dynet(target), errors::IoError) << n;
  }
  ASSERT_EQ(target.state(), before);
  write(text_ + '\0');
  ASSERT_THROW(load_all(target), errors::IoError);
  write(text_);
  ASSERT_NO_THROW(load_all(target));
  ASSERT_NE(target.state(), before);
}

TEST_F(SafetensorsDamageTest, EveryFlippedBitIsAnErrorThatChangesNothing) {
  SmallModel target;
  const std::string before = target.state();
  SmallModel part;
  const std::vector<float> whole = as_vector(*part.a.values());
  for (std::size_t i = 0; i < text_.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      change(i, static_cast<char>(static_cast<unsigned char>(text_[i]) ^ (1U << bit)));
      ASSERT_NO_FATAL_FAILURE(expect_error(target)) << "byte " << i << " bit " << bit;
      try {  // a part alone: only undamaged tensors may load
        part.a.zero();
        SafetensorsLoader(file_).populate(part.a, "/m/a");
        ASSERT_EQ(as_vector(*part.a.values()), whole) << "byte " << i << " bit " << bit;
      } catch (const errors::IoError&) {
        ASSERT_EQ(as_vector(*part.a.values())[0], 0.0F);
      }
    }
    change(i, text_[i]);
  }
  ASSERT_EQ(target.state(), before);
}

/// Without checksums, too, the only outcomes are an IoError or a load of the file's numbers.
TEST_F(SafetensorsDamageTest, FilesOfOtherProgramsWithFlippedBits) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"/m/a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("/m/s/b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
      R"("/m/s/e":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]}}  )";
  std::string whole(8, '\0');
  const std::uint64_t n = header.size();
  std::memcpy(whole.data(), &n, 8);
  whole += header + std::string(48, 'x');
  write(whole);
  SmallModel target;
  ASSERT_NO_THROW(load_dynet(target));
  std::size_t loads = 0;
  std::size_t errors = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      change(i, static_cast<char>(static_cast<unsigned char>(whole[i]) ^ (1U << bit)));
      try {
        load_dynet(target);
        ++loads;
      } catch (const errors::IoError&) {
        ++errors;
      }
    }
    change(i, whole[i]);
  }
  EXPECT_GE(loads, 48U * 8U);         // the numbers, and letters of the metadata
  EXPECT_GE(errors, 8U * 8U + 400U);  // the length, and the words of the format
}

TEST_F(SafetensorsDamageTest, RandomEdits) {
  SmallModel target;
  const std::string before = target.state();
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = text_;
    const std::uint64_t edits = 1 + random() % 3;
    for (std::uint64_t e = 0; e < edits; ++e) {
      const std::size_t at = random() % damaged.size();
      const std::size_t n = 1 + random() % 16;
      switch (random() % 4) {
        case 0:
          damaged.erase(at, n);
          break;
        case 1:
          damaged.insert(at, n, static_cast<char>(random()));
          break;
        case 2:
          damaged.replace(at, n, text_.substr(random() % text_.size(), n));
          break;
        default:
          damaged[at] = "{}[]\",:0123456789-.e\\\0 tfn"[random() % 26];
      }
    }
    if (damaged == text_) {
      continue;
    }
    write(damaged);
    ASSERT_NO_FATAL_FAILURE(expect_error(target)) << round;
  }
  ASSERT_EQ(target.state(), before);
}

TEST_F(SafetensorsDamageTest, HostileHeaders) {
  struct Case {
    const char* header;
    const char* said;
  };
  const std::string deep = R"({"a":)" + std::string(200000, '[');
  const std::string deep_metadata = R"({"__metadata__":{"a":)" + std::string(200000, '{');
  const std::string many = R"({"a":{"dtype":"F32","shape":[)" + [] {
    std::string ones;
    for (int i = 0; i < 100; ++i) {
      ones += "1,";
    }
    return ones;
  }() + R"(1],"data_offsets":[0,8]}})";
  const Case cases[] = {
      {"", "does not begin with '{'"},
      {" {}", "does not begin with '{'"},
      {"\xEF\xBB\xBF{}", "does not begin with '{'"},
      {"[]", "does not begin with '{'"},
      {"{}", "end at byte 0 of the data, which have 8"},
      {"{} x", "no JSON"},
      {R"({"a":1})", "want an object"},
      {R"({"a":null})", "want an object"},
      {R"({"a":[]})", "want an object"},
      {R"({"a":{}})", "not all of dtype"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "not all of dtype"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", "has 'x'"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2]}})", "once each"},
      {R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", "want a string"},
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "want a list"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "has -2"},
      {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "has a list"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-1,7]}})", "has -1"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "where it begins"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "where it begins"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", "where it begins"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", "end at byte 12"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "want 4 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "want byte 0"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})",
       "want 8 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551616]}})",
       "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
       "a smaller shape"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615,4],"data_offsets":[0,8]}})",
       "a smaller shape"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "want byte 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "twice"},
      {R"({"__metadata__":{"x":"1","x":"2"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "twice"},
      {R"({"__metadata__":{"x":1}})", "want a string"},
      {R"({"__metadata__":{"x":{}}})", "want a string"},
      {R"({"__metadata__":[]})", "want an object"},
      {R"({"__metadata__":{"dynet.version":"1"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "checksum"},
      {R"({"__metadata__":{"dynet.version":"2"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "a newer release"},
      {"{\"\xFF\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "UTF-8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "no JSON"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},})", "no JSON"},
      {deep.c_str(), "want an object"},
      {deep_metadata.c_str(), "want a string"},
      {many.c_str(), "more than 64"},
  };
  const auto open = [&](const std::string& header, std::uint64_t length) {
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    write(text + header + std::string(8, 'x'));
    const SafetensorsLoader loader(file_);
  };
  for (const Case& c : cases) {
    const std::string header = c.header;
    try {
      open(header, header.size());
      ADD_FAILURE() << header.substr(0, 200);
    } catch (const errors::IoError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(c.said), std::string::npos) << text.substr(0, 400);
      EXPECT_NE(text.find("'" + file_ + "', byte "), std::string::npos) << text.substr(0, 400);
      EXPECT_LT(text.size(), 1000U);
    }
  }
  const std::string zero = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_NO_THROW(open(zero, zero.size()));
  for (const std::size_t n : {1U, 3U}) {  // a zero byte ends no header
    EXPECT_THROW(open(zero + std::string(n, '\0'), zero.size() + n), errors::IoError) << n;
  }
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{zero.size() + 9},
        std::uint64_t{100'000'001}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    EXPECT_THROW(open(zero, length), errors::IoError) << length;
  }
}

}  // namespace
}  // namespace dynet
