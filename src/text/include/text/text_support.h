#pragma once

// Text: corpora in, sentences out.
//
// lines.cc turns a file into lines and finds what no text has in it; above it stands one reader per
// format: words.cc (plain, tagged and parallel text), columns.cc, conllu.cc, trees.cc. A reader
// keeps one sentence in memory and says file, line and column of what it cannot understand.
// dict_file.cc saves dictionaries, batches.cc puts examples of like lengths together, and
// clusters.cc and brown.cc make the files that softmax builders read.
//
// Start reading at dynet/text/lines.h. Nothing here knows graphs or numbers. Surprising: readers
// read into a sentence of their own and swap it with the caller's when it is complete. So an error
// leaves the caller's as it was, and the memory of its strings is used again.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/except.h"
#include "dynet/text/lines.h"

namespace dynet::text {

/// Fills a list of strings from its front, in the memory of those that were in it. What is left of
/// them goes with `end`. Not thread-safe.
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

/// What separates words, lines, and what no text has.
constexpr std::string_view kNoPartOfWords{" \t\n\v\f\r\0", 7};

/// ValueError unless `word` is not empty and has no white space and no character of `others`.
void check_word(const char* what, const std::string& word, std::string_view others = {});

/// ValueError where `first`, which is about to be written to `out`, begins with the mark of UTF-8
/// files and might stand at the front of one: readers would pass over it.
void check_no_mark(std::ostream& out, const std::string& first);

}  // namespace dynet::text
