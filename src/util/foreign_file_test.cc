#include "util/foreign_file.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

namespace dynet::util {
namespace {

using namespace std::string_view_literals;

void expect(std::string_view begin, std::string_view what) {
  const std::string found = foreign_file(begin);
  EXPECT_NE(found.find(what), std::string::npos) << "'" << found << "'; want '" << what << "'";
  std::istringstream in{std::string(begin)};
  EXPECT_EQ(foreign_file(in), found);
  EXPECT_TRUE(in.good());
  std::ostringstream rest;
  rest << in.rdbuf();
  EXPECT_EQ(rest.str(), begin);
}

std::string zip_of(const std::string& name) {
  std::string begin = "PK\x03\x04";
  begin.resize(30, '\0');
  begin[26] = static_cast<char>(name.size());
  return begin + name + std::string(600, '\x01');
}

TEST(ForeignFile, Kinds) {
  expect("\x1F\x8B\x08\0\0"sv, "gzip");
  expect("BZh91AY&SY\x12"sv, "bzip2");
  expect("\xFD\x37zXZ\0\0\4"sv, "xz");
  expect("\x28\xB5\x2F\xFD\4"sv, "zstd");
  expect(zip_of("archive/data.pkl"), "a zip archive of PyTorch");
  expect(zip_of("model/.format_version"), "a zip archive of PyTorch");
  expect(zip_of("arr_0.npy"), "a zip archive of NumPy arrays (.npz)");
  expect(zip_of("letter.txt"), "a zip archive; unpack");
  expect("PK\x03\x04"sv, "a zip archive; unpack");
  expect("\x93NUMPY\x01\0v\0{'descr'"sv, "an array of NumPy (.npy)");
  expect("\x80\x04\x95\x10\0"sv, "a pickle of Python");
  expect("(lp0\nI1\na."sv, "a pickle of Python");
  expect("(dp1\nS'a'\n"sv, "a pickle of Python");
  expect("ccopy_reg\n_reconstructor\n"sv, "a pickle of Python");
  expect("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19."sv, "torch.save wrote");
  expect("22 serialization::archive 12 0 0 0 0"sv, "DyNet 1.x");
  expect("\x16\0\0\0\0\0\0\0serialization::archive\x0F"sv, "DyNet 1.x");
  expect("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"sv, "Git LFS");
  expect("<!DOCTYPE html>\n<html>"sv, "HTML");
  expect("\n  <HTML lang=en>"sv, "HTML");
  expect(
      "3 2\nthe \x9A\x99\x19\x3F\xCD\xCC\x4C\x3E\n"
      "of \0\0\x80\x3F\0\0\0\x40\n"sv,
      "word2vec in binary form");
  expect("\xBA\x16\x4F\x2F\x0C\0\0\0"sv, "fastText");
  expect("\x89HDF\r\n\x1A\n\0"sv, "HDF5");
  expect("\x40\0\0\0\0\0\0\0{\"W\":{}}"sv, "a safetensors file");
  expect("#Parameter# /W {2,3} 97 ZERO_GRAD\n"sv, "DyNet's text format");
  expect("#LookupParameter# /E {2,3} 97 ZERO_GRAD\n"sv, "DyNet's text format");
}

TEST(ForeignFile, WhatReadersRead) {
  for (const std::string_view text : {""sv,
                                      "\n"sv,
                                      "the cat sat\n"sv,
                                      "(S (NP (DT the)))\n"sv,
                                      "(lp is here)\n"sv,
                                      "(lp0 x)\n"sv,
                                      "PKs and PCs\n"sv,
                                      "BZh is a word\n"sv,
                                      "<s> a sentence </s>\n"sv,
                                      "html pages\n"sv,
                                      "version https is better\n"sv,
                                      "3 2\nthe 0.5 0.25\nof 1 2\n"sv,
                                      "2\n"sv,
                                      "400 3\n"sv,
                                      "1\tthe\tthe\tDET\n"sv,
                                      "\xEF\xBB\xBF"
                                      "a b\n"sv,
                                      "\x80 in Latin-1\n"sv,
                                      "{\"a\": 1}\n"sv,
                                      "# newdoc\n"sv,
                                      "#Parameter# is a word\n"sv,
                                      "0 1 0 1\tword 12\n"sv,
                                      "\xC3\xA4\n"sv,
                                      "serialization of archives\n"sv}) {
    EXPECT_EQ(foreign_file(text), "") << text;
  }
  EXPECT_EQ(foreign_file("#Parameter# /W {2,3} 97 ZERO_GRAD\n", OwnFile::kTextModel), "");
  // Lengths of headers that begin as a file compressed with gzip, and as a pickle.
  for (const std::string_view length : {"\x40\0"sv, "\x1F\x8B"sv, "\x80\x04"sv}) {
    const std::string begin = std::string(length) + std::string(6, '\0') + "{\"W\":{}}";
    EXPECT_EQ(foreign_file(begin, OwnFile::kSafetensors), "");
    EXPECT_EQ(foreign_file(begin), "it is a safetensors file");
  }
}

/// A stream that cannot go back is left alone.
TEST(ForeignFile, StreamsInTheMiddle) {
  std::istringstream in("xx\x1F\x8B\x08");
  in.get();
  EXPECT_EQ(foreign_file(in), "");
  EXPECT_EQ(in.get(), 'x');
}

}  // namespace
}  // namespace dynet::util
