#pragma once

// Classes of words for class-factored and hierarchical softmaxes, made from a corpus: by frequency,
// or by the words beside them (Brown clusters). The program dynet-clusters does it from files.
//
//   BigramCounts counts;
//   for (const Words& sentence : PlainReader("train.txt")) counts.add(sentence);
//   save_classes("classes.txt", brown_clusters(counts, 100));  // for ClassFactoredSoftmaxBuilder

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dynet/text/words.h"

namespace dynet::text {

/// Counts of words, and of pairs of neighbours in sentences. Memory grows with the number of
/// different pairs. Not thread-safe.
class BigramCounts {
 public:
  struct Pair {
    unsigned left, right;  ///< places in words()
    std::uint64_t count;
  };

  void add(const Words& sentence);
  /// Counts words that occur fewer than `least` times as the word `unknown`, as a program will
  /// that does not know them. Nothing changes if there are none.
  void replace_rare(std::uint64_t least, const std::string& unknown);

  /// In the order in which they were first seen.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  /// By place in words().
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// Each pair of neighbours once, by left, then right.
  [[nodiscard]] const std::vector<Pair>& pairs() const;

 private:
  void fold() const;

  std::vector<std::string> words_;
  std::vector<std::uint64_t> counts_;
  std::unordered_map<std::string, unsigned> places_;
  mutable std::vector<Pair> pairs_;            ///< sorted
  mutable std::vector<std::uint64_t> recent_;  ///< pairs that are not in `pairs_` yet
};

/// Words in classes, and a binary tree over the classes.
struct Clusters {
  struct Word {
    std::string word;
    std::uint64_t count;
    unsigned cluster;
  };
  std::vector<Word> words;         ///< by cluster, the more frequent ones first
  std::vector<std::string> paths;  ///< way to each cluster from the root, as "0110"
  /// Between the classes of neighbours, in nats (Brown et al., 1992).
  double mutual_information = 0.0;
};

/// Classes of about equal total frequency: the most frequent words share the first, and so on
/// (Mikolov et al., 2011). The tree is a Huffman tree over the classes, with frequent classes near
/// the root; one class per word gives the Huffman tree of the words. ValueError unless `count` is
/// from 1 to the number of words.
[[nodiscard]] Clusters frequency_clusters(const BigramCounts& counts, unsigned count);

/// Words with similar neighbours share a class, and similar classes a part of the tree: each merge
/// loses the least mutual information (Brown et al., 1992), with a window of the `count` most
/// frequent words to which other words are added one by one (Liang, 2005).
///
/// The result depends on the counts alone. Time is at most proportional to words x count^2, memory
/// to count^2. `progress`, if set, gets the number of merges so far and of all. ValueError unless
/// `count` is from 1 to the number of words.
[[nodiscard]] Clusters brown_clusters(
    const BigramCounts& counts, unsigned count,
    const std::function<void(std::size_t done, std::size_t all)>& progress = {});

/// A file for ClassFactoredSoftmaxBuilder: `<class> <word> <count>` per line. The old file stays
/// until the new one is complete. ValueError for a word that is empty or has white space in it;
/// IoError.
void save_classes(const std::string& file, const Clusters& clusters);
/// A file for HierarchicalSoftmaxBuilder: `0 1 1 0<tab><word><tab><count>` per line. ValueError for
/// a tree that is deeper than the builder's 1000, and for words as in save_classes; IoError.
void save_paths(const std::string& file, const Clusters& clusters);

}  // namespace dynet::text
