#include "util/foreign_file.h"

#include <algorithm>
#include <charconv>
#include <istream>

namespace dynet::util {
namespace {

using std::string_view;
using namespace std::string_view_literals;

constexpr const char* kToText = "; save its tensors as a safetensors file there";

struct Magic {
  string_view begin;
  const char* what;
};
constexpr Magic kMagics[] = {
    {"\x1F\x8B"sv, "it is compressed with gzip; unpack it first (gunzip)"},
    {"\xFD\x37zXZ\0"sv, "it is compressed with xz; unpack it first (unxz)"},
    {"\x28\xB5\x2F\xFD"sv, "it is compressed with zstd; unpack it first (unzstd)"},
    {"7z\xBC\xAF\x27\x1C"sv, "it is an archive of 7-Zip; unpack it first"},
    {"PK\x05\x06"sv, "it is an empty zip archive"},
    {"\x93NUMPY"sv, "it is an array of NumPy (.npy); numpy.load reads it"},
    {"\x89HDF\r\n\x1A\n"sv, "it is an HDF5 file, as Keras writes them"},
    {"GGUF"sv, "it is a model in the format GGUF"},
    {"\xBA\x16\x4F\x2F"sv, "it is a binary model of fastText; its text form (.vec) can be read"},
    {"version https://git-lfs.github.com/spec/"sv,
     "it is a pointer of Git LFS, not the file itself; fetch that with 'git lfs pull'"},
    {"%PDF-"sv, "it is a PDF document"},
    {"\x7F"
     "ELF"sv,
     "it is a compiled program or library"},
};

constexpr const char* kBoost =
    "it is an archive of Boost, as DyNet 1.x wrote models; load it with 1.x and save it with 2.x";
constexpr const char* kPickle =
    "it is a pickle of Python, which is a program and is not run; in Python, "
    "dynet.load(..., trust=True) runs those that DyNet 2.1 wrote";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether text begins with `word`, which is in lower case, after white space.
bool begins_with_word(string_view begin, string_view word) {
  begin.remove_prefix(std::min(begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), begin.size()));
  return begin.size() >= word.size() && std::equal(word.begin(), word.end(), begin.begin(),
                                                   [](char a, char b) { return a == lower(b); });
}

/// The kind of a zip archive, by the name of its first file.
std::string of_zip(string_view begin) {
  constexpr std::size_t kNameAt = 30;
  std::size_t length = 0;
  if (begin.size() > kNameAt) {
    length = static_cast<unsigned char>(begin[26]) +
             256 * static_cast<std::size_t>(static_cast<unsigned char>(begin[27]));
  }
  const string_view name = begin.substr(std::min(kNameAt, begin.size()), length);
  if (name.ends_with(".npy")) {
    return "it is a zip archive of NumPy arrays (.npz); numpy.load reads it";
  }
  for (const string_view part : {"/data.pkl", "/version", "/byteorder", "/.format_version"}) {
    if (name.ends_with(part)) {
      return std::string("it is a zip archive of PyTorch, as torch.save writes them") + kToText +
             " (safetensors.torch.save_file)";
    }
  }
  return "it is a zip archive; unpack it first";
}

/// Protocol 2 and later say so; older ones begin with a list, a dict or an object in text.
std::string of_pickle(string_view begin) {
  constexpr string_view kOldTorch = "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"sv;
  if (begin.starts_with(kOldTorch)) {
    return std::string("it is a pickle of PyTorch, as torch.save wrote them before 1.6") + kToText +
           " (safetensors.torch.save_file)";
  }
  if (begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) {
    return kPickle;
  }
  const bool is_list = begin.starts_with("(lp") || begin.starts_with("(dp");
  const std::size_t digits = is_list ? begin.find_first_not_of("0123456789", 3) : 3;
  if ((digits > 3 && digits < begin.size() && begin[digits] == '\n') ||
      begin.starts_with("ccopy_reg\n") || begin.starts_with("ccopyreg\n") ||
      begin.starts_with("c__main__\n")) {
    return kPickle;
  }
  return "";
}

/// Text has two counts in its first line too, but then words and numbers in digits.
bool is_binary_word2vec(string_view begin) {
  const std::size_t end = begin.find('\n');
  const std::size_t blank = begin.find(' ');
  if (end == string_view::npos || blank >= end) {
    return false;
  }
  const auto is_count = [](string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == string_view::npos;
  };
  if (!is_count(begin.substr(0, blank)) || !is_count(begin.substr(blank + 1, end - blank - 1))) {
    return false;
  }
  const string_view rest = begin.substr(end + 1);
  return std::any_of(rest.begin(), rest.end(), [](unsigned char c) {
    return (c < ' ' && (c < '\t' || c > '\r')) || c == 0x7F;
  });
}

bool is_safetensors(string_view begin) {
  return begin.size() > 8 && begin[8] == '{' && begin.substr(4, 4) == "\0\0\0\0"sv;
}

}  // namespace

std::string foreign_file(string_view begin, OwnFile own) {
  begin = begin.substr(0, kForeignBytes);
  if (is_safetensors(begin)) {  // first: its length may begin as any of the others
    return own == OwnFile::kSafetensors ? "" : "it is a safetensors file";
  }
  for (const Magic& magic : kMagics) {
    if (begin.starts_with(magic.begin)) {
      return magic.what;
    }
  }
  if (begin.starts_with("PK\x03\x04"sv)) {
    return of_zip(begin);
  }
  if (begin.starts_with("BZh") && begin.substr(4, 6) == "1AY&SY") {
    return "it is compressed with bzip2; unpack it first (bunzip2)";
  }
  if (begin.substr(0, 40).find("serialization::archive") != string_view::npos) {
    return kBoost;
  }
  if (begins_with_word(begin, "<!doctype html") || begins_with_word(begin, "<html")) {
    return "it is a page of HTML, perhaps what a server said in place of the file; fetch it again";
  }
  if (is_binary_word2vec(begin)) {
    return "it has word vectors of word2vec in binary form; write them as text (-binary 0)";
  }
  if (own != OwnFile::kTextModel &&
      (begin.starts_with("#Parameter# /") || begin.starts_with("#LookupParameter# /"))) {
    return "it is a model in DyNet's text format";
  }
  return of_pickle(begin);
}

std::string foreign_file(std::istream& in, OwnFile own) {
  std::string begin(kForeignBytes, '\0');
  const std::istream::pos_type at = in.tellg();
  if (at != std::istream::pos_type(0)) {
    return "";  // it does not know its place, as a pipe, and could not go back
  }
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  in.clear();
  in.seekg(0);
  return foreign_file(begin, own);
}

}  // namespace dynet::util
