// Errors name the kind of a file of another program: each reader of the library, for files of many
// kinds. src/util/foreign_file_test.cc knows more kinds.

#include <gtest/gtest.h>

#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dynet/cfsm-builder.h"
#include "dynet/hsm-builder.h"
#include "dynet/io.h"
#include "dynet/param-init.h"
#include "dynet/pretrain.h"
#include "dynet/safetensors.h"
#include "dynet/text.h"

#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

using namespace std::string_view_literals;

struct Kind {
  const char* name;
  std::string_view begin;
  const char* what;
};
constexpr Kind kKinds[] = {
    {"model.pt",
     "PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0"
     "archive/data.pkl\x80\x02}q\0"sv,
     "PyTorch"},
    {"arrays.npz",
     "PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0"
     "arr_0.npy\x93NUMPY"sv,
     "NumPy"},
    {"train.gz", "\x1F\x8B\x08\0\0\0\0\0\0\xFF\n12\n"sv, "gzip"},
    {"vocabulary.pkl", "\x80\x04\x95\x0A\0\0\0\0\0\0\0]\x94.\n"sv, "a pickle of Python"},
    {"model.boost", "22 serialization::archive 12 0 0 0 0 0 2 0\n"sv, "DyNet 1.x"},
    {"model.data", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7\nsize 12345\n"sv,
     "Git LFS"},
    {"model", "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"sv, "HTML"},
    {"vectors.bin", "2 2\nthe \x9A\x99\x19\x3F\xCD\xCC\x4C\x3E\nof \0\0\x80\x3F\0\0\0\x40\n"sv,
     "word2vec in binary form"},
};

using Reader = std::function<void(const std::string& file)>;

template <class TextReader>
Reader corpus() {
  return [](const std::string& file) { TextReader(file).read_all(); };
}

const std::vector<std::pair<const char*, Reader>>& readers() {
  static const std::vector<std::pair<const char*, Reader>> all = {
      {"make_loader",
       [](const std::string& file) {
         ParameterCollection m;
         m.add_parameters({2});
         make_loader(file)->populate(m, "/model");
       }},
      {"load_dynet_model",
       [](const std::string& file) {
         ParameterCollection m;
         load_dynet_model(file, &m);
       }},
      {"TextFileLoader",
       [](const std::string& file) {
         ParameterCollection m;
         TextFileLoader(file).load_param(m, "/W");
       }},
      {"SafetensorsLoader", [](const std::string& file) { SafetensorsLoader loader(file); }},
      {"ParameterInitFromFile",
       [](const std::string& file) {
         ParameterCollection().add_parameters({2}, ParameterInitFromFile(file));
       }},
      {"read_pretrained_embeddings",
       [](const std::string& file) {
         Dict d;
         std::unordered_map<int, std::vector<float>> vectors;
         read_pretrained_embeddings(file, d, vectors);
       }},
      {"load_dict", [](const std::string& file) { static_cast<void>(text::load_dict(file)); }},
      {"PlainReader", corpus<text::PlainReader>()},
      {"TaggedReader", corpus<text::TaggedReader>()},
      {"ColumnReader", corpus<text::ColumnReader>()},
      {"ConlluReader", corpus<text::ConlluReader>()},
      {"TreeReader", corpus<text::TreeReader>()},
      {"ClassFactoredSoftmaxBuilder",
       [](const std::string& file) {
         ParameterCollection m;
         Dict d;
         d.convert("the");
         ClassFactoredSoftmaxBuilder builder(2, file, d, m);
       }},
      {"HierarchicalSoftmaxBuilder",
       [](const std::string& file) {
         ParameterCollection m;
         Dict d;
         d.convert("the");
         HierarchicalSoftmaxBuilder builder(2, file, d, m);
       }},
  };
  return all;
}

TEST(ForeignFiles, EachReaderSaysWhatTheyAre) {
  const testing::TemporaryFolder folder;
  for (const Kind& kind : kKinds) {
    const std::string file = folder.file(kind.name);
    std::ofstream(file, std::ios::binary) << kind.begin;
    for (const auto& [name, read] : readers()) {
      const std::string text = testing::text_of_error<std::exception>([&] { read(file); });
      EXPECT_NE(text.find(kind.what), std::string::npos) << name << ": " << text;
      EXPECT_NE(text.find(kind.name), std::string::npos) << name << ": " << text;
    }
  }
}

/// Readers of text refuse the model files of this library, too.
TEST(ForeignFiles, ModelsAreNoText) {
  const testing::TemporaryFolder folder;
  ParameterCollection m;
  m.add_parameters({2}, "W");
  for (const char* const name : {"m.txt", "m.safetensors"}) {
    save_dynet_model(folder.file(name), &m);
    const std::string what = name[2] == 't' ? "DyNet's text format" : "a safetensors file";
    const auto expect = [&](const Reader& read) {
      const std::string text =
          testing::text_of_error<std::exception>([&] { read(folder.file(name)); });
      EXPECT_NE(text.find(what), std::string::npos) << text;
    };
    for (const auto& [reader, read] : readers()) {
      const bool is_of_models =
          reader == "make_loader"sv || reader == "load_dynet_model"sv ||
          reader == (name[2] == 't' ? "TextFileLoader"sv : "SafetensorsLoader"sv);
      if (!is_of_models) {
        expect(read);
      }
    }
    load_dynet_model(folder.file(name), &m);
  }
}

}  // namespace
}  // namespace dynet
