#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/safetensors.h"
#include "dynet/training.h"

#include "io/replace_file.h"
#include "params/gradient.h"
#include "support/far_device.h"
#include "testing/small_disk.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

namespace fs = std::filesystem;

class TextFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  [[nodiscard]] std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  void save(const ParameterCollection& model, const std::string& key = "") const {
    TextFileSaver saver(file);
    saver.save(model, key);
    saver.close();
  }
  testing::TemporaryFolder folder_;
  std::string file = folder_.file("model.txt");
};

const char* const kExample =
    "#Parameter# /W {2,2} 65 ZERO_GRAD\n"
    "+1.00000000e+00 +2.00000000e+00 +3.00000000e+00 +4.00000000e+00 \n"
    "#LookupParameter# /emb {1,2} 33 ZERO_GRAD\n"
    "+5.00000000e-01 -5.00000000e-01 \n";

TEST_F(TextFileTest, TheExampleByteForByte) {
  ParameterCollection model;
  model.add_parameters({2, 2}, ParameterInitFromVector({1, 2, 3, 4}), "W");
  model.add_lookup_parameters(2, {1}, ParameterInitFromVector({0.5F, -0.5F}), "emb");
  save(model);
  EXPECT_EQ(content(), kExample);
}

TEST_F(TextFileTest, TheExampleIsRead) {
  write(kExample);
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 2}, "other-name");
  const LookupParameter e = model.add_lookup_parameters(2, {1});
  TextFileLoader loader(file);
  loader.populate(model);
  EXPECT_EQ(as_vector(*w.values()), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(as_vector(e.p->all_values), (std::vector<float>{0.5F, -0.5F}));
  w.zero();
  loader.populate(w, "/W");
  EXPECT_EQ(as_vector(*w.values()), (std::vector<float>{1, 2, 3, 4}));
  const Parameter added = loader.load_param(model, "/W");
  EXPECT_EQ(added.get_fullname(), "/W");
  EXPECT_EQ(added.dim(), Dim({2, 2}));
  const LookupParameter table = loader.load_lookup_param(model, "/emb");
  EXPECT_EQ(table.p->rows(), 2U);
  EXPECT_EQ(table.dim(), Dim({1}));
  EXPECT_EQ(as_vector((*table.values())[1]), std::vector<float>{-0.5F});
  EXPECT_EQ(model.size(), 2U);
}

TEST_F(TextFileTest, EveryKindOfFloatComesBackExactly) {
  std::vector<float> values{0.0F,
                            -0.0F,
                            1.0F / 3,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::lowest(),
                            std::numeric_limits<float>::min(),
                            std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  std::mt19937 random(1);
  while (values.size() < 20000) {
    const auto bits = static_cast<std::uint32_t>(random());
    float f = 0.0F;
    std::memcpy(&f, &bits, 4);
    if (!std::isnan(f)) {
      values.push_back(f);
    }
  }
  ParameterCollection model;
  const Dim d({static_cast<unsigned>(values.size())});
  model.add_parameters(d, ParameterInitFromVector(values));
  save(model);
  ParameterCollection other;
  const Parameter p = other.add_parameters(d, ParameterInitConst(0));
  TextFileLoader(file).populate(other);
  const std::vector<float> back = as_vector(*p.values());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(back[i]));
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(values[i]))
          << values[i];
    }
  }
}

TEST_F(TextFileTest, NumbersAreThoseOfPrintf) {
  std::mt19937 random(2);
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float f = 0.0F;
    std::memcpy(&f, &bits, 4);
    if (std::isfinite(f)) {
      values.push_back(f);
    }
  }
  ParameterCollection model;
  model.add_parameters({static_cast<unsigned>(values.size())}, ParameterInitFromVector(values));
  save(model);
  std::string want;
  for (const float f : values) {
    char word[32];
    std::snprintf(word, sizeof word, "%+.8e ", static_cast<double>(f));
    want += word;
  }
  const std::string text = content();
  EXPECT_EQ(text.substr(text.find('\n') + 1), want + "\n");
}

TEST_F(TextFileTest, GradientsAreKept) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(1), "w");
  const LookupParameter l = model.add_lookup_parameters(2, {1}, ParameterInitConst(2), "e");
  std::vector<float> g{3, 4};
  p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
  l.p->accumulate_grad(1, Tensor({1}, g.data(), nullptr, DeviceMempool::NONE));
  save(model);
  EXPECT_EQ(content(),
            "#Parameter# /w {2} 66 FULL_GRAD\n+1.00000000e+00 +1.00000000e+00 \n+3.00000000e+00 "
            "+4.00000000e+00 \n"
            "#LookupParameter# /e {1,2} 66 FULL_GRAD\n+2.00000000e+00 +2.00000000e+00 \n"
            "+0.00000000e+00 +3.00000000e+00 \n");
  ParameterCollection other;
  const Parameter q = other.add_parameters({2});
  const LookupParameter m = other.add_lookup_parameters(2, {1});
  TextFileLoader(file).populate(other);
  EXPECT_EQ(as_vector(q.get_storage().g), (std::vector<float>{3, 4}));
  EXPECT_EQ(as_vector(m.get_storage().all_grads), (std::vector<float>{0, 3}));
  EXPECT_FALSE(q.p->has_grad());
  ParameterCollection third;
  const Parameter r = third.add_parameters({2});
  const LookupParameter n = third.add_lookup_parameters(2, {1});
  TextFileLoader(file).populate(third);
  for (ParameterCollection* loaded : {&other, &third}) {  // with references to them, and without
    SimpleSGDTrainer trainer(*loaded, 0.25F);
    trainer.clipping_enabled = false;
    trainer.update();  // it takes them
  }
  for (const auto& [dense, table] : {std::pair(q, m), std::pair(r, n)}) {
    EXPECT_EQ(as_vector(*dense.values()), (std::vector<float>{0.25F, 0.0F}));
    EXPECT_EQ(as_vector(table.get_storage().all_values), (std::vector<float>{2.0F, 1.25F}));
  }
  TextFileLoader(file).populate(other);
  other.reset_gradient();
  EXPECT_EQ(as_vector(q.p->g), (std::vector<float>{0, 0}));
  EXPECT_EQ(as_vector(m.p->all_grads), (std::vector<float>{0, 0}));
}

TEST_F(TextFileTest, FilesOf20HaveNoFlag) {
  write("#Parameter# /w {1} 34\n+1.00000000e+00 \n+2.00000000e+00 \n");
  ParameterCollection model;
  const Parameter p = model.add_parameters({1});
  TextFileLoader(file).populate(model);
  EXPECT_EQ(as_vector(*p.values())[0], 1.0F);
  EXPECT_EQ(as_vector(*p.gradients())[0], 2.0F);
}

TEST_F(TextFileTest, KeysReplaceTheNameOfTheCollection) {
  ParameterCollection model;
  ParameterCollection enc = model.add_subcollection("enc");
  Parameter a = enc.add_parameters({1}, ParameterInitConst(1));
  enc.add_subcollection("x").add_lookup_parameters(1, {1});
  save(enc, "/foo");
  EXPECT_NE(content().find("#Parameter# /foo/_0 {1}"), std::string::npos);
  EXPECT_NE(content().find("#LookupParameter# /foo/x/_0 {1,1}"), std::string::npos);
  a.zero();
  TextFileLoader(file).populate(enc, "/foo");
  EXPECT_EQ(as_vector(*a.values())[0], 1.0F);
  EXPECT_THROW(TextFileLoader(file).populate(enc, "/fo"), errors::IoError);
  for (const char* bad : {"foo", "/", "/a b", "/a#"}) {
    TextFileSaver saver(file);
    EXPECT_THROW(saver.save(enc, bad), std::invalid_argument) << bad;
    EXPECT_THROW(TextFileLoader(file).populate(enc, bad), std::invalid_argument) << bad;
  }
  TextFileSaver saver(file);
  EXPECT_THROW(saver.save(a, "a b"), std::invalid_argument);
  EXPECT_THROW(saver.save(Parameter(), "a"), errors::StateError);
  EXPECT_THROW(TextFileLoader(file).populate(a), std::invalid_argument);
  EXPECT_THROW(TextFileLoader(file).populate(a, "/foo/none"), std::runtime_error);
  EXPECT_THROW(TextFileLoader(file).load_param(model, ""), std::invalid_argument);
}

TEST_F(TextFileTest, ModelFunctions) {
  ParameterCollection model;
  Parameter a = model.add_parameters({1}, ParameterInitConst(1));
  save_dynet_model(file, &model);
  EXPECT_EQ(content().substr(0, 22), "#Parameter# /model/_0 ");
  a.zero();
  load_dynet_model(file, &model);
  EXPECT_EQ(as_vector(*a.values())[0], 1.0F);
}

TEST_F(TextFileTest, AppendKeepsWhatIsThere) {
  ParameterCollection model;
  Parameter a = model.add_parameters({1}, ParameterInitConst(1));
  Parameter b = model.add_parameters({1}, ParameterInitConst(2));
  {
    TextFileSaver(file).save(a, "/a");
  }
  {
    TextFileSaver(file, true).save(b, "b");
  }
  const std::string tensors = file + ".safetensors";
  SafetensorsSaver(tensors).save(model);
  EXPECT_THROW(TextFileSaver(tensors, true), errors::ValueError);
  make_loader(tensors)->populate(model);
  TextFileLoader loader(file);
  loader.populate(b, "/a");
  loader.populate(a, "b");
  EXPECT_EQ(as_vector(*a.values())[0], 2.0F);
  EXPECT_EQ(as_vector(*b.values())[0], 1.0F);
  loader.populate(model);  // two objects, two parameters, by position
  EXPECT_EQ(as_vector(*a.values())[0], 1.0F);
}

TEST_F(TextFileTest, WeightDecayIsMultipliedInAndOut) {
  ParameterCollection model(0.5F);
  const LookupParameter l = model.add_lookup_parameters(1, {1}, ParameterInitConst(8));
  SimpleSGDTrainer trainer(model);
  trainer.update();
  EXPECT_EQ(l.current_weight_decay(), 0.5F);
  save(model);
  EXPECT_NE(content().find("+4.00000000e+00"), std::string::npos);
  TextFileLoader(file).populate(model);
  EXPECT_EQ(as_vector((*l.values())[0])[0] * l.current_weight_decay(), 4.0F);
}

TEST_F(TextFileTest, DoubleDeviceToo) {
  Device* checker = testing::test_device("CPU:double");
  ParameterCollection model;
  Parameter p = model.add_parameters({2}, ParameterInitFromVector({0.1F, 2}), "", checker);
  save(model);
  p.zero();
  TextFileLoader(file).populate(model);
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{0.1F, 2}));
}

TEST_F(TextFileTest, ErrorsSayWhereAndWhatWasWanted) {
  write("#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 +1.0000000xe+00 \n");
  ParameterCollection model;
  model.add_parameters({2});
  try {
    TextFileLoader(file).populate(model);
    FAIL();
  } catch (const errors::IoError& e) {
    const std::string text = e.what();
    EXPECT_NE(
        text.find("model.txt', line 2, byte 48: number 2 of 2: '+1.0000000xe+00'; want a number"),
        std::string::npos)
        << text;
  }
  EXPECT_THROW(TextFileLoader(file + ".none").populate(model), errors::IoError);
  EXPECT_THROW(TextFileLoader(folder_.path().string()).populate(model), errors::IoError);
}

// Shapes that the file cannot hold are refused before memory is asked for.
TEST_F(TextFileTest, HostileShapes) {
  ParameterCollection model;
  model.add_parameters({2});
  for (const char* dim :
       {"{4294967295,4294967295,4294967295}", "{4294967295}", "{1,1,1,1,1,1,1,1}", "{-1}", "{",
        "{}", "{2,}", "{,2}", "{ 2}", "{2X3}", "{4294967296}", "2"}) {
    write(std::string("#Parameter# /w ") + dim +
          " 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 \n");
    EXPECT_THROW(TextFileLoader(file).populate(model), errors::IoError) << dim;
    EXPECT_THROW(TextFileLoader(file).load_param(model, "/w"), errors::IoError) << dim;
  }
  EXPECT_EQ(model.size(), 1U);
}

TEST_F(TextFileTest, CountsMustAgree) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(7));
  const std::string good = "#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 \n";
  const std::string lookup = "#LookupParameter# /e {1,1} 17 ZERO_GRAD\n+1.00000000e+00 \n";
  for (const std::string& text :
       {std::string(), good + good, good + lookup, lookup, std::string(good).append("\n" + good),
        good + "x", "\n" + good,
        std::string("#Parameter# /w {1,2} 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 \n"),
        std::string("#Parameter# /w {2} 34 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 \n"),
        std::string("#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+0  \n"),
        std::string("#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00\n+2.00000000e+00 \n"),
        std::string("#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 + 2.0000000e+00 \n"),
        std::string("#Parameter# /w {2} 33 ZERO_GRAD x\n+1.00000000e+00 +2.00000000e+00 \n"),
        std::string(
            "#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 +3.00000000e+00 \n"),
        std::string("#Parameter# /w {2} 33 ZERO_GRAD\n+1.00000000e+99 +2.00000000e+00 \n"),
        std::string("#Parameter# /w {2} 33 SOME_GRAD\n+1.00000000e+00 +2.00000000e+00 \n"),
        std::string("#Other# /w {2} 33 ZERO_GRAD\n+1.00000000e+00 +2.00000000e+00 \n")}) {
    write(text);
    EXPECT_THROW(TextFileLoader(file).populate(model), errors::IoError) << text;
    EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{7, 7}));
  }
  write(good);
  EXPECT_NO_THROW(TextFileLoader(file).populate(model));
}

TEST_F(TextFileTest, ANewFileIsOnlySeenWhenItIsComplete) {
  write("old");
  ParameterCollection model;
  model.add_parameters({1});
  {
    TextFileSaver saver(file);
    saver.save(model);
    EXPECT_EQ(content(), "old");
    saver.close();
    EXPECT_NE(content(), "old");
    EXPECT_THROW(saver.save(model), errors::UsageError);
    EXPECT_NO_THROW(saver.close());
  }
  EXPECT_EQ(files_in_folder(), 1U);
}

/// As programs for 2.1 derive from it.
struct NotingSaver : public TextFileSaver {
  explicit NotingSaver(const std::string& name) : TextFileSaver(name) {}
  void note(const std::string& text, int number) { datastream << text << ' ' << number << '\n'; }
  void note_long(std::size_t size) { datastream << std::string(size, 'x'); }
};

TEST_F(TextFileTest, AClassWritesToTheStream) {
  ParameterCollection model;
  const Parameter a = model.add_parameters({1}, ParameterInitConst(1), "a");
  const std::string object = "#Parameter# /a {1} 17 ZERO_GRAD\n+1.00000000e+00 \n";
  NotingSaver saver(file);
  saver.note("version", 3);
  saver.save(a);
  saver.note("after", 4);
  saver.note_long(200000);
  saver.close();
  EXPECT_EQ(content(), "version 3\n" + object + "after 4\n" + std::string(200000, 'x'));
  EXPECT_THROW(saver.note("closed", 5), errors::UsageError);
  // A full disk is an error here too, and the old file stays.
  NotingSaver full(file);
  {
    const testing::SmallDisk disk(1000);
    EXPECT_THROW(full.note_long(2000), errors::IoError);
  }
  EXPECT_THROW(full.close(), errors::UsageError);
}

TEST_F(TextFileTest, AnExceptionOnItsWayOutKeepsTheOldFile) {
  write("old");
  ParameterCollection model;
  model.add_parameters({1});
  const auto save_half = [&] {
    TextFileSaver saver(file);
    saver.save(model);
    throw std::runtime_error("the second half was never saved");
  };
  EXPECT_THROW(save_half(), std::runtime_error);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(TextFileTest, LinksAndRightsAreKept) {
  write("old");
  ::chmod(file.c_str(), 0640);
  const std::string link = folder_.file("link");
  fs::create_symlink(file, link);
  ParameterCollection model;
  model.add_parameters({1});
  {
    TextFileSaver(link).save(model);
  }
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_NE(content(), "old");
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

TEST_F(TextFileTest, AFullDiskKeepsTheOldFile) {
  ParameterCollection model;
  model.add_parameters({10000});
  for (const bool append : {false, true}) {
    for (const rlim_t bytes : {0U, 1U, 70000U, 160000U}) {
      write("old");
      std::string said;
      set_log_sink([&](const std::string& text) { said = text; });
      {
        const testing::SmallDisk disk(bytes);
        TextFileSaver* saver = nullptr;
        EXPECT_THROW(
            {
              saver = new TextFileSaver(file, append);
              saver->save(model);
              saver->close();
            },
            errors::IoError);
        delete saver;
        if (!append) {
          // A program that leaves closing to the destructor learns of it from `save`.
          ParameterCollection small;
          small.add_parameters({1});
          const testing::SmallDisk tiny(0);
          EXPECT_THROW(TextFileSaver(file).save(small), errors::IoError);
          EXPECT_EQ(said, "");
        }
      }
      set_log_sink(nullptr);
      EXPECT_EQ(content(), "old") << bytes;
      EXPECT_EQ(files_in_folder(), 1U);
    }
  }
}

TEST_F(TextFileTest, AFullDeviceIsAnErrorOfSave) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1});
  const LookupParameter e = model.add_lookup_parameters(1, {1});
  TextFileSaver saver("/dev/full");
  EXPECT_THROW(saver.save(model), errors::IoError);
  EXPECT_THROW(TextFileSaver("/dev/full").save(w), errors::IoError);
  EXPECT_THROW(TextFileSaver("/dev/full").save(e, "/e"), errors::IoError);
}

/// As a process of the same number in another container left them.
TEST_F(TextFileTest, FilesThatAKilledProcessLeftForbidNothing) {
  const std::string mine = file + ".tmp." + std::to_string(::getpid()) + ".";
  for (int i = 0; i < 2000; ++i) {
    std::ofstream(mine + std::to_string(i)) << "stale";
  }
  ParameterCollection model;
  model.add_parameters({1});
  EXPECT_NO_THROW(save(model));
  EXPECT_NE(content(), "");
}

/// A file of a saver that is gone is removed, a file being written is not.
TEST_F(TextFileTest, AbandonedFilesAreRemoved) {
  const std::string abandoned = file + ".tmp.0123456789abcdef";
  std::ofstream(abandoned) << "stale";
  const std::string others = folder_.file("model.txt2.tmp.0123456789abcdef");
  std::ofstream(others) << "not of this target";
  ParameterCollection model;
  model.add_parameters({1});
  io::ReplaceFile half(file, false, io::ReplaceFile::Name::kFromTheStart);
  EXPECT_EQ(files_in_folder(), 2U);
  half.write("all", 3);
  save(model);
  EXPECT_EQ(files_in_folder(), 3U);  // the model, the other's, and the one being written
  half.commit();
  EXPECT_EQ(content(), "all");
  EXPECT_EQ(files_in_folder(), 2U);
  save(model);
  EXPECT_NE(content(), "all");
}

/// Killed at any moment of a save over an old file: the file is the old or the new one, and any
/// file left beside it is gone after the next save.
TEST_F(TextFileTest, KilledSaversLeaveNothingBehind) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({20000}, ParameterInitConst(1));
  save(model);
  std::mt19937 random(3);
  std::size_t left = 0;
  for (int kill = 0; kill < 60; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      while (true) {
        save(model);
      }
    }
    ::usleep(static_cast<unsigned>(random() % 20000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_NO_THROW(TextFileLoader(file).populate(model));
    left += files_in_folder() - 1;
  }
  // A file can stay only if its saver was about to replace the old one.
  std::printf("files beside the model after %d kills: %zu\n", 60, left);
  EXPECT_LE(left, 30U);
  save(model);
  EXPECT_EQ(files_in_folder(), 1U);
  EXPECT_EQ(as_vector(*p.values())[19999], 1.0F);
}

/// Nothing is lost on the way through a file, in either number type.
TEST_F(TextFileTest, DoublesComeBackExactly) {
  Device* checker = get_device_manager()->get_global_device("CPU:double");
  std::vector<double> values{1e300,
                             -1e-300,
                             0.1,
                             1.0 / 3.0,
                             5e-324,
                             1.7976931348623157e308,
                             1.0,
                             -0.0,
                             1e100,
                             9.999e99,
                             1e-99,
                             0x1.fffffffffffffp-1,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  std::mt19937_64 random(4);
  while (values.size() < 5000) {
    const std::uint64_t bits = random();
    double d = 0.0;
    std::memcpy(&d, &bits, 8);
    if (!std::isnan(d)) {
      values.push_back(d);
    }
  }
  const Dim d({static_cast<unsigned>(values.size())});
  ParameterCollection model;
  const Parameter p = model.add_parameters(d, ParameterInitConst(0), "", checker);
  auto* numbers = reinterpret_cast<double*>(p.p->values.v);
  std::copy(values.begin(), values.end(), numbers);
  p.p->accumulate_grad(p.p->values);
  save(model);
  ParameterCollection other;
  const Parameter q = other.add_parameters(d, ParameterInitConst(7), "", checker);
  TextFileLoader(file).populate(other);
  const auto* back = reinterpret_cast<const double*>(q.p->values.v);
  const auto* gradient = reinterpret_cast<const double*>(q.get_storage().g.v);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(back[i]) && std::isnan(gradient[i]));
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(values[i]))
          << values[i];
      ASSERT_EQ(gradient[i], values[i]);
    }
  }
  // A number that no float can hold is refused, and nothing is changed.
  ParameterCollection narrow;
  const Parameter f = narrow.add_parameters(d, ParameterInitConst(7));
  EXPECT_THROW(TextFileLoader(file).populate(narrow), errors::IoError);
  EXPECT_EQ(as_vector(*f.values())[0], 7.0F);
  write("#Parameter# /w {2} 49 ZERO_GRAD\n+1.0000000000000000e-01 +3.3333333333333331e-01 \n");
  ParameterCollection small;
  const Parameter w = small.add_parameters({2});
  TextFileLoader(file).populate(small);
  EXPECT_EQ(as_vector(*w.values()), (std::vector<float>{0.1F, 1.0F / 3}));
}

TEST_F(TextFileTest, CannotBeOpened) {
  EXPECT_THROW(TextFileSaver(folder_.file("none/x")), std::runtime_error);
  EXPECT_THROW(TextFileSaver(folder_.path().string()), std::runtime_error);
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(TextFileTest, LoadingUnderARunningGraphIsReported) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1});
  save(model);
  const params::RunScope running(params::usage_of(*p.p));
  EXPECT_THROW(TextFileLoader(file).populate(model), errors::GraphError);
  EXPECT_NO_THROW(save(model));
}

}  // namespace
}  // namespace dynet
