// Safetensors files: layout, loads by name and of parts, and files of other programs.
#include "dynet/safetensors.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>

#include "dynet/schedules.h"
#include "dynet/training.h"

#include "io/crc32c.h"
#include "io/safetensors_file.h"
#include "params/use_count.h"
#include "testing/small_disk.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

class SafetensorsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  /// A file as other programs write it.
  void write(const std::string& header, const std::string& data) const {
    const std::uint64_t n = header.size();
    std::string text(8, '\0');
    std::memcpy(text.data(), &n, 8);
    write(text + header + data);
  }
  template <class Object>
  void save(const Object& object, const std::string& key = "") const {
    SafetensorsSaver saver(file);
    saver.save(object, key);
    saver.close();
  }
  /// The error of `f`, which must be an IoError that names the file.
  template <class F>
  std::string error_of(F f) const {
    try {
      f();
    } catch (const errors::IoError& e) {
      EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  testing::TemporaryFolder folder_;
  std::string file = folder_.file("model.safetensors");
};

template <class T>
std::string bytes(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}
std::vector<float> floats(const std::string& data) {
  std::vector<float> numbers(data.size() / 4);
  std::memcpy(numbers.data(), data.data(), numbers.size() * 4);
  return numbers;
}
/// The bytes behind the header.
std::string data_of(const std::string& text) {
  std::uint64_t n = 0;
  std::memcpy(&n, text.data(), 8);
  EXPECT_EQ((8 + n) % 64, 0U);
  return text.substr(8 + n);
}
std::vector<float> counted(std::size_t n, float first) {
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) {
    numbers[i] = first + static_cast<float>(i);
  }
  return numbers;
}
/// The numbers of a parameter of the double device.
std::vector<double> doubles_of(const Parameter& p) {
  std::vector<double> numbers(p.p->size());
  std::memcpy(numbers.data(), p.p->values.v, numbers.size() * sizeof(double));
  return numbers;
}
std::vector<float> values_of(const LookupParameter& l) {
  std::vector<float> all;
  for (const Tensor& row : *l.values()) {
    const std::vector<float> numbers = as_vector(row);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

TEST(Crc32cTest, KnownValuesByInstructionAndByTables) {
  const std::string nine = "123456789";
  EXPECT_EQ(io::crc32c(0, nine.data(), 9), 0xE3069283U);
  EXPECT_EQ(io::crc32c_by_tables(0, nine.data(), 9), 0xE3069283U);
  const std::string zeros(32, '\0');
  EXPECT_EQ(io::crc32c_text(io::crc32c(0, zeros.data(), 32)), "8a9136aa");  // RFC 3720, B.4
  std::mt19937 random(1);
  std::string data(1000, '\0');
  for (char& c : data) {
    c = static_cast<char>(random());
  }
  for (std::size_t begin = 0; begin < 20; ++begin) {
    for (std::size_t n = 0; n + begin < data.size(); n += 37) {
      const std::uint32_t first = io::crc32c(7, data.data() + begin, n / 3);
      const std::uint32_t crc = io::crc32c(first, data.data() + begin + n / 3, n - n / 3);
      ASSERT_EQ(crc, io::crc32c_by_tables(7, data.data() + begin, n));
    }
  }
  std::string much(60'000, '\0');  // enough for chains side by side
  for (char& c : much) {
    c = static_cast<char>(random());
  }
  for (std::size_t n = 12'000; n < much.size(); n += 1'237) {
    ASSERT_EQ(io::crc32c(7, much.data(), n), io::crc32c_by_tables(7, much.data(), n)) << n;
  }
}

/// Element (i,j) of a parameter is [i,j] of the file, which has its last axis as the fastest.
TEST_F(SafetensorsTest, OrderOfTheFile) {
  ParameterCollection model;
  model.add_parameters({2, 3}, ParameterInitFromVector({1, 2, 3, 4, 5, 6}), "w");
  model.add_lookup_parameters(2, {3}, ParameterInitFromVector({1, 2, 3, 4, 5, 6}), "e");
  model.add_lookup_parameters(2, {2, 2}, ParameterInitFromVector({1, 2, 3, 4, 5, 6, 7, 8}), "t");
  save(model);
  EXPECT_EQ(floats(data_of(content())), (std::vector<float>{1, 3, 5, 2, 4, 6,  //
                                                            1, 2, 3, 4, 5, 6,  //
                                                            1, 3, 2, 4, 5, 7, 6, 8}));
  const SafetensorsLoader loader(file);
  EXPECT_EQ(loader.names(), (std::vector<std::string>{"/e", "/t", "/w"}));
  EXPECT_EQ(loader.shape("/w"), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(loader.shape("/e"), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(loader.shape("/t"), (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_THROW(static_cast<void>(loader.shape("/x")), errors::IoError);
}

/// Every number of axes, and sizes beside and beyond the tiles that turn them.
TEST_F(SafetensorsTest, EveryShapeComesBack) {
  const std::vector<Dim> shapes{{},        {1},           {7},          {1, 5},
                                {5, 1},    {16, 16},      {17, 33},     {3, 1, 4},
                                {2, 3, 4}, {5, 1, 20, 3}, {2, 3, 4, 5}, {2, 1, 3, 2, 2, 18, 3},
                                {0},       {3, 0}};
  ParameterCollection model;
  ParameterCollection other;
  std::vector<Parameter> p, q;
  std::vector<LookupParameter> l, m;
  float first = 1.0F;
  for (const Dim& d : shapes) {
    const auto n = static_cast<std::size_t>(d.elements());
    p.push_back(model.add_parameters(d, ParameterInitFromVector(counted(n, first))));
    q.push_back(other.add_parameters(d, ParameterInitConst(0)));
    if (d.nd < 7) {
      l.push_back(
          model.add_lookup_parameters(3, d, ParameterInitFromVector(counted(3 * n, -first))));
      m.push_back(other.add_lookup_parameters(3, d, ParameterInitConst(0)));
    }
    first += 1000.0F;
  }
  save(model);
  SafetensorsLoader(file).populate(other);
  // An independent word on the order: by indices.
  const std::vector<float> w = as_vector(*p[6].values());
  const io::SafetensorsFile opened(file);
  const auto* in_file =
      reinterpret_cast<const float*>(opened.bytes(*opened.find(p[6].get_fullname())));
  for (std::size_t i = 0; i < 17; ++i) {
    for (std::size_t j = 0; j < 33; ++j) {
      ASSERT_EQ(in_file[i * 33 + j], w[j * 17 + i]);
    }
  }
  const auto* four =
      reinterpret_cast<const float*>(opened.bytes(*opened.find(p[10].get_fullname())));
  const std::vector<float> x = as_vector(*p[10].values());
  for (std::size_t i = 0; i < 120; ++i) {
    const std::size_t a = i / 60, b = i / 20 % 3, c = i / 5 % 4, d = i % 5;
    ASSERT_EQ(four[i], x[a + 2 * (b + 3 * (c + 4 * d))]);
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_EQ(as_vector(*p[i].values()), as_vector(*q[i].values())) << shapes[i];
  }
  for (std::size_t i = 0; i < l.size(); ++i) {
    EXPECT_EQ(values_of(l[i]), values_of(m[i])) << shapes[i];
  }
}

TEST_F(SafetensorsTest, ByNameUnderKeysAndInParts) {
  ParameterCollection model;
  ParameterCollection enc = model.add_subcollection("enc");
  enc.add_parameters({2}, ParameterInitConst(1), "a");
  enc.add_parameters({2}, ParameterInitConst(2), "b");
  model.add_parameters({3}, ParameterInitConst(3), "c");
  {
    SafetensorsSaver saver(file);
    saver.save(model, "/m");
    saver.save(enc);
    saver.close();
  }
  SafetensorsLoader loader(file);
  EXPECT_EQ(loader.names(),
            (std::vector<std::string>{"/enc/a", "/enc/b", "/m/c", "/m/enc/a", "/m/enc/b"}));
  // The order of creation does not matter.
  ParameterCollection other;
  const Parameter c = other.add_parameters({3}, ParameterInitConst(0), "c");
  ParameterCollection other_enc = other.add_subcollection("enc");
  const Parameter b = other_enc.add_parameters({2}, ParameterInitConst(0), "b");
  Parameter a = other_enc.add_parameters({2}, ParameterInitConst(0), "a");
  loader.populate(other, "/m");
  EXPECT_EQ(as_vector(*a.values())[0], 1.0F);
  EXPECT_EQ(as_vector(*b.values())[0], 2.0F);
  EXPECT_EQ(as_vector(*c.values())[2], 3.0F);
  a.zero();
  loader.populate(other_enc);  // under its own name
  EXPECT_EQ(as_vector(*a.values())[0], 1.0F);
  // A part, chosen by name.
  a.zero();
  other.parameters_list()[1]->zero();  // b
  loader.populate(other, [](const std::string& name) { return name == "/m/enc/b"; }, "/m");
  EXPECT_EQ(as_vector(*a.values())[0], 0.0F);
  EXPECT_EQ(as_vector(*b.values())[0], 2.0F);
  // One alone, under any name.
  loader.populate(a, "/m/enc/b");
  EXPECT_EQ(as_vector(*a.values())[1], 2.0F);
  ParameterCollection third;
  EXPECT_EQ(as_vector(*loader.load_param(third, "/m/c").values()), (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(third.parameters_list()[0]->name, "/m/c");
}

TEST_F(SafetensorsTest, WhatDoesNotFitChangesNothing) {
  ParameterCollection model;
  model.add_parameters({2}, ParameterInitConst(1), "a");
  model.add_parameters({2, 3}, ParameterInitConst(2), "b");
  save(model);
  ParameterCollection other;
  Parameter a = other.add_parameters({2}, ParameterInitConst(7), "a");
  other.add_parameters({3, 2}, ParameterInitConst(7), "b");
  SafetensorsLoader loader(file);
  std::string error = error_of([&] { loader.populate(other); });
  EXPECT_NE(error.find("'/b' has shape [2,3]; want [3,2] for /b"), std::string::npos) << error;
  EXPECT_NE(error.find("byte "), std::string::npos);
  EXPECT_EQ(as_vector(*a.values())[0], 7.0F);
  ParameterCollection fewer;
  a = fewer.add_parameters({2}, ParameterInitConst(7), "a");
  error = error_of([&] { loader.populate(fewer); });
  EXPECT_NE(error.find("'/b'"), std::string::npos) << error;
  EXPECT_EQ(as_vector(*a.values())[0], 7.0F);
  ParameterCollection more;
  a = more.add_parameters({2}, ParameterInitConst(7), "a");
  more.add_parameters({2}, ParameterInitConst(7), "x");
  error = error_of([&] { loader.populate(more); });
  EXPECT_NE(error.find("no tensor named '/x'"), std::string::npos) << error;
  EXPECT_EQ(as_vector(*a.values())[0], 7.0F);
  EXPECT_THROW(loader.populate(a, ""), errors::ValueError);
  EXPECT_THROW(loader.populate(more, "m"), errors::ValueError);
  Parameter unset;
  EXPECT_THROW(loader.populate(unset, "/a"), errors::StateError);
  const params::RunScope running(params::usage_of(*a.p));
  EXPECT_THROW(loader.populate(a, "/a"), errors::GraphError);
  // The two kinds of LSTM.
  ParameterCollection lstm = model.add_subcollection("lstm-builder");
  const Parameter gates = lstm.add_parameters({8, 2}, "g");
  save(gates, "/lstm-builder/g");
  ParameterCollection coupled;
  coupled.add_subcollection("lstm-builder").add_parameters({2, 2}, "g");
  error = error_of([&] { SafetensorsLoader(file).populate(coupled); });
  EXPECT_NE(error.find("--dynet-lstm=vanilla"), std::string::npos) << error;
  // As the builders of today name them.
  save(gates, "/m/vanilla-lstm-builder_1/_0");
  ParameterCollection named;
  ParameterCollection within = named.add_subcollection("m");
  within.add_subcollection("lstm-builder");
  within.add_subcollection("lstm-builder").add_parameters({2, 2});
  error = error_of([&] { SafetensorsLoader(file).populate(named); });
  EXPECT_NE(error.find("--dynet-lstm=vanilla"), std::string::npos) << error;
}

TEST_F(SafetensorsTest, NamesAndTextThatCannotBe) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(1), "a");
  save(model);
  const std::string before = content();
  for (const char* key : {"/a", "/\xFF"}) {
    SafetensorsSaver saver(file);
    saver.save(model);
    EXPECT_THROW(saver.save(p, key), errors::ValueError) << key;
    EXPECT_THROW(saver.close(), errors::UsageError);
  }
  {
    SafetensorsSaver saver(file);
    EXPECT_THROW(saver.set_metadata("dynet.x", ""), errors::ValueError);
    EXPECT_THROW(saver.set_metadata("x", "\xC0\x80"), errors::ValueError);
    EXPECT_THROW(saver.set_metadata("\xFF", ""), errors::ValueError);
    saver.close();
    EXPECT_THROW(saver.save(p), errors::UsageError);
    EXPECT_THROW(saver.set_metadata("x", ""), errors::UsageError);
  }
  EXPECT_TRUE(SafetensorsLoader(file).names().empty());
  EXPECT_NE(content(), before);
  EXPECT_THROW(SafetensorsSaver(folder_.file("none/x.safetensors")), errors::IoError);
  EXPECT_THROW(SafetensorsLoader(folder_.file("none.safetensors")), errors::IoError);
  EXPECT_THROW(SafetensorsLoader(folder_.path().string()), errors::IoError);
  SafetensorsSaver device("/dev/null");
  EXPECT_THROW(device.save(p), errors::IoError);
}

/// The header grows beyond its spare room; the numbers move.
TEST_F(SafetensorsTest, ManySavesMetadataAndAppending) {
  ParameterCollection model;
  std::vector<Parameter> p;
  {
    SafetensorsSaver saver(file);
    for (unsigned i = 0; i < 100; ++i) {
      p.push_back(model.add_parameters({i + 1}, ParameterInitConst(static_cast<float>(i))));
      saver.save(p.back());
    }
    saver.set_metadata("builder", "{\"layers\": 2, \"text\": \"\\\u00e4\n\"}");
    saver.close();
  }
  ParameterCollection other;
  for (unsigned i = 0; i < 100; ++i) {
    other.add_parameters({i + 1}, ParameterInitConst(-1));
  }
  const auto check = [&] {
    SafetensorsLoader loader(file);
    loader.populate(other);
    for (unsigned i = 0; i < 100; ++i) {
      EXPECT_EQ(as_vector(*Parameter(other.parameters_list()[i]).values()),
                std::vector<float>(i + 1, static_cast<float>(i)));
    }
    EXPECT_EQ(loader.metadata().at("builder"), "{\"layers\": 2, \"text\": \"\\\u00e4\n\"}");
  };
  check();
  {
    SafetensorsSaver saver(file, true);
    saver.save(p[5], "/again");
    saver.set_metadata("more", "");
    saver.close();
  }
  EXPECT_EQ(SafetensorsLoader(file).metadata().size(), 2U);
  EXPECT_THROW(check(), errors::IoError);  // one more than the model has
  other.add_parameters({6}, ParameterInitConst(-1), "again");
  check();
  EXPECT_EQ(as_vector(*Parameter(other.parameters_list()[100]).values())[5], 5.0F);
}

/// Other programs may use any text for the name of a tensor or of its type.
TEST_F(SafetensorsTest, StrangeNamesAndTypes) {
  write(R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
        R"("t":{"dtype":"\"F\\9","shape":[7],"data_offsets":[4,6]}})",
        "123456");
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(7), "a");
  {
    SafetensorsSaver saver(file, true);
    saver.save(p);
    saver.close();
  }
  SafetensorsLoader loader(file);
  EXPECT_EQ(loader.names(), (std::vector<std::string>{"", "/a", "t"}));
  EXPECT_TRUE(loader.contains(""));
  EXPECT_FALSE(loader.contains("x"));
  const std::string error = error_of([&] { loader.populate(model); });
  EXPECT_NE(error.find("a tensor '' of shape [1]"), std::string::npos) << error;
}

TEST_F(SafetensorsTest, TheFormatOfAnyFile) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(1));
  save_dynet_model(file, &model);
  EXPECT_EQ(content()[8], '{');
  const std::string text = folder_.file("model.txt");
  save_dynet_model(text, &model);
  // Loading looks at the content.
  std::filesystem::rename(file, folder_.file("x"));
  std::filesystem::rename(text, file);
  std::filesystem::rename(folder_.file("x"), text);
  for (const std::string& name : {file, text}) {
    p.p->zero();
    load_dynet_model(name, &model);
    EXPECT_EQ(as_vector(*p.values())[0], 1.0F);
  }
  write("neither");
  EXPECT_NE(error_of([&] { load_dynet_model(file, &model); }).find("header's length"),
            std::string::npos);
  EXPECT_THROW(load_dynet_model(folder_.file("none.safetensors"), &model), errors::IoError);
  EXPECT_THROW(load_dynet_model(folder_.file("none.txt"), &model), errors::IoError);
}

/// Values are effective values, whatever decay is pending.
TEST_F(SafetensorsTest, DecayAndGradients) {
  ParameterCollection model(0.5F);
  const Parameter p = model.add_parameters({2, 2}, ParameterInitConst(1), "p");
  const LookupParameter l = model.add_lookup_parameters(2, {2}, ParameterInitConst(1), "l");
  SimpleSGDTrainer trainer(model, 0.0F);
  trainer.update();
  trainer.update();
  save(model);
  ParameterCollection other;
  const Parameter q = other.add_parameters({2, 2}, ParameterInitConst(1), "p");
  const LookupParameter m = other.add_lookup_parameters(2, {2}, ParameterInitConst(1), "l");
  std::vector<float> g{7, 8, 9, 10};
  q.p->accumulate_grad(Tensor({2, 2}, g.data(), nullptr, DeviceMempool::NONE));
  SafetensorsLoader(file).populate(other);
  EXPECT_FALSE(q.p->has_grad());
  EXPECT_EQ(as_vector(*q.values())[3], 0.25F);
  EXPECT_EQ(values_of(m)[3], 0.25F);
  SafetensorsLoader(file).populate(model);
  EXPECT_EQ(as_vector(*p.values())[0] * p.current_weight_decay(), 0.25F);
  EXPECT_EQ(values_of(l)[0] * l.current_weight_decay(), 0.25F);
}

TEST_F(SafetensorsTest, TrainersGoOnToTheBit) {
  struct Run {
    ParameterCollection model{0.01F};
    Parameter p = model.add_parameters({3, 2}, ParameterInitConst(1), "p");
    LookupParameter l = model.add_lookup_parameters(3, {2}, ParameterInitConst(1), "l");
    AdamTrainer trainer{model, 0.1F};
    Run() {
      trainer.exponential_moving_average(0.9F);
      trainer.set_schedule(CosineSchedule(0.1, 10));
    }
    void step(unsigned seed) {
      std::mt19937 random(seed);
      std::normal_distribution<float> normal;
      std::vector<float> g(6);
      std::generate(g.begin(), g.end(), [&] { return normal(random); });
      p.p->accumulate_grad(Tensor({3, 2}, g.data(), nullptr, DeviceMempool::NONE));
      l.p->accumulate_grad(seed % 3, Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
      trainer.update();
    }
    std::string state() {
      std::ostringstream text;
      trainer.save(text);
      return text.str() + bytes(as_vector(*p.values())) + bytes(values_of(l));
    }
  };
  Run a;
  a.step(1);
  a.step(2);
  {
    SafetensorsSaver saver(file);
    saver.save(a.trainer);
    saver.save(a.model);
    EXPECT_NO_THROW(saver.close());
  }
  Run b;
  SafetensorsLoader loader(file);
  loader.populate(b.model);
  loader.populate(b.trainer);
  EXPECT_EQ(a.state(), b.state());
  for (unsigned i = 3; i < 8; ++i) {
    a.step(i);
    b.step(i);
  }
  EXPECT_EQ(a.state(), b.state());
  // Of another kind: nothing is changed.
  MomentumSGDTrainer other(b.model);
  EXPECT_THROW(loader.populate(other), errors::UsageError);
  SimpleSGDTrainer plain(b.model, 0.5F);  // which has no tensors
  EXPECT_THROW(loader.populate(plain), errors::UsageError);
  EXPECT_EQ(plain.learning_rate, 0.5F);
  save(a.model);
  EXPECT_NE(error_of([&] { SafetensorsLoader(file).populate(b.trainer); }).find("no state"),
            std::string::npos);
}

TEST_F(SafetensorsTest, DoublesAndOtherTypes) {
  Device* checker = get_device_manager()->get_global_device("CPU:double");
  ParameterCollection model;
  const Parameter p = model.add_parameters({2, 2}, ParameterInitConst(0), "p", checker);
  const std::vector<double> values{1e300, -1e-300, 0.1, 1.0 / 3};
  std::memcpy(p.p->values.v, values.data(), 32);
  save(model);
  EXPECT_EQ(data_of(content()), bytes(std::vector<double>{1e300, 0.1, -1e-300, 1.0 / 3}));
  p.p->zero();
  SafetensorsLoader(file).populate(model);
  EXPECT_EQ(doubles_of(p), values);
  ParameterCollection narrow;
  const Parameter f = narrow.add_parameters({2, 2}, ParameterInitConst(7), "p");
  EXPECT_NE(error_of([&] { SafetensorsLoader(file).populate(narrow); }).find("range of float"),
            std::string::npos);
  EXPECT_EQ(as_vector(*f.values())[0], 7.0F);
  // Both types in one file, the doubles behind an odd number of floats.
  ParameterCollection mixed;
  mixed.add_parameters({3}, ParameterInitConst(5));
  const Parameter both = mixed.add_parameters({2, 2}, ParameterInitConst(0), "", checker);
  std::memcpy(both.p->values.v, values.data(), 32);
  save(mixed);
  both.p->zero();
  SafetensorsLoader(file).populate(mixed);
  EXPECT_EQ(doubles_of(both), values);
  // Files of other programs, whose data begin anywhere.
  const std::vector<std::uint16_t> halves{0x3C00, 0xC500, 0x0001, 0x7C00};  // 1, -5, 2^-24, inf
  for (const char* spaces : {"", " ", "   "}) {
    write(R"({"/p":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}})" + std::string(spaces),
          bytes(halves));
    SafetensorsLoader(file).populate(narrow);
    EXPECT_EQ(as_vector(*f.values()), (std::vector<float>{1, 0x1p-24F, -5, INFINITY}));
    write(R"({"/p":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})" + std::string(spaces),
          bytes(std::vector<std::uint16_t>{0x3F80, 0xC0A0, 0x0080, 0xFF80}));
    SafetensorsLoader(file).populate(narrow);
    EXPECT_EQ(as_vector(*f.values()), (std::vector<float>{1, 0x1p-126F, -5, -INFINITY}));
    write(R"({"/p":{"dtype":"F64","shape":[2,2],"data_offsets":[0,32]}})" + std::string(spaces),
          bytes(std::vector<double>{1, 2, 3, 4}));
    SafetensorsLoader(file).populate(narrow);
    EXPECT_EQ(as_vector(*f.values()), (std::vector<float>{1, 3, 2, 4}));
    write(R"({"/p":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})" + std::string(spaces),
          bytes(std::vector<float>{1, 2, 3, 4}));
    SafetensorsLoader(file).populate(narrow);
    SafetensorsLoader(file).populate(model);
    EXPECT_EQ(as_vector(*f.values()), (std::vector<float>{1, 3, 2, 4}));
    EXPECT_EQ(doubles_of(p), (std::vector<double>{1, 3, 2, 4}));
  }
  write(R"({"/p":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})", std::string(16, 'x'));
  EXPECT_NE(error_of([&] {
              SafetensorsLoader(file).populate(narrow);
            }).find("type I32; want F32, F64, F16 or BF16"),
            std::string::npos);
}

TEST_F(SafetensorsTest, AFullDiskKeepsTheOldFile) {
  ParameterCollection model;
  model.add_parameters({200, 500}, ParameterInitConst(1));
  model.add_parameters({100}, ParameterInitConst(1));
  save(model);
  const std::string before = content();
  for (const bool append : {false, true}) {
    for (const rlim_t bytes : {0U, 1U, 100U, 70000U, 400000U, 400500U}) {
      const testing::SmallDisk disk(bytes);
      EXPECT_THROW(
          {
            SafetensorsSaver saver(file, append);
            saver.save(model, "/again");
            saver.close();
          },
          errors::IoError)
          << bytes;
    }
    EXPECT_EQ(content(), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  }
}

/// Killed at any moment of saving over an old file: the file is the old or the new one.
TEST_F(SafetensorsTest, KilledSaversLeaveOneOfTheTwo) {
  ParameterCollection model;
  Parameter p = model.add_parameters({300, 700}, ParameterInitConst(1));
  save(model);
  std::mt19937 random(3);
  std::size_t replaced = 0;
  for (int kill = 0; kill < 60; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      for (float x = 2.0F;; x += 1.0F) {
        p.set_value(std::vector<float>(210000, x));
        save(model);
      }
    }
    ::usleep(static_cast<unsigned>(random() % 40000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_NO_THROW(SafetensorsLoader(file).populate(model));
    const std::vector<float> values = as_vector(*p.values());
    ASSERT_EQ(std::count(values.begin(), values.end(), values[0]), 210000);
    replaced += values[0] != 1.0F ? 1 : 0;
  }
  EXPECT_GT(replaced, 10U);
}

}  // namespace
}  // namespace dynet
