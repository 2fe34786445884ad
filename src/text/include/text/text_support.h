#pragma once

// Text: corpora in, sentences out.
//
// lines.cc turns a file into lines and finds characters that no text has; each format has a reader
// above it: words.cc (plain, tagged and parallel text), columns.cc, conllu.cc, trees.cc. A reader
// keeps one sentence in memory; its errors give file, line and column. dict_file.cc saves
// dictionaries, batches.cc puts examples of like lengths together, and clusters.cc and brown.cc
// make the files that softmax builders read.
//
// Start reading at dynet/text/lines.h. Nothing here knows graphs or numbers. Surprising: readers
// read into a sentence of their own and swap it with the caller's when complete. So an error leaves
// the caller's sentence unchanged, and the memory of the strings is used again. Example: an error
// in line 7 leaves the caller the sentence before.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/except.h"
#include "dynet/text/lines.h"

namespace dynet::text {

/// Fills a list of strings from its front, in the memory of its old strings. end() removes the old
/// strings that remain. Not thread-safe.
class Refill {
 public:
  explicit Refill(std::vector<std::string>& list) : list_(list) {}
  void add(std::string_view text) {
    if (used_ == list_.size()) {
      list_.emplace_back(text);
    } else {
      list_[used_].assign(text);
    }
    ++used_;
  }
  void end() { list_.resize(used_); }

 private:
  std::vector<std::string>& list_;
  std::size_t used_ = 0;
};

/// First byte that is none of UTF-8, or npos.
[[nodiscard]] std::size_t find_no_utf8(std::string_view text);

/// Characters that separate words or lines, or that no text has.
constexpr std::string_view kNoPartOfWords{" \t\n\v\f\r\0", 7};

/// ValueError unless `word` is not empty and has no white space and no character of `others`.
void check_word(const char* what, const std::string& word, std::string_view others = {});

/// ValueError if `first`, which is about to be written to `out`, begins with the mark of UTF-8
/// files and might stand at the front of a file: readers would skip the mark.
void check_no_mark(std::ostream& out, const std::string& first);

}  // namespace dynet::text
