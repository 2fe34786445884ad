#pragma once

// Support of the softmax builders: checks, and files of clusters.

#include <string>
#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet::builders {

/// IndexError unless all words are below `size`.
void check_word_ids(const char* builder, const std::vector<unsigned>& words, std::size_t size);
/// An index drawn with the probabilities softmax(scores): subtracts one probability after the other
/// from a uniform number. NumericError if there is no distribution.
[[nodiscard]] unsigned draw_index(const std::vector<double>& scores);

/// A line of a file of clusters.
struct ClusterLine {
  std::vector<std::string> path;
  std::string word;
  std::size_t number;  ///< from 1
};

/// A line with more symbols is damaged: functions that walk trees are recursive.
constexpr std::size_t kLongestPath = 1000;

/// ValueError if the file cannot be opened.
[[nodiscard]] std::ifstream open_clusters(const char* builder, const std::string& file);
/// Reads `<class> <word>`, or with `is_path` `<symbol> ... <symbol>\t<word>`. ValueError, with
/// `file` and line, for another text.
[[nodiscard]] std::vector<ClusterLine> read_cluster_lines(const char* builder, std::istream& in,
                                                          const std::string& file, bool is_path);

/// A tree, and the paths to its words.
struct ClusterTree {
  detail::Cluster root;
  std::vector<std::vector<unsigned>> paths;  ///< by word; empty: the word has no class
};
/// Puts the lines together. Words that the dictionary lacks are added after the last possible
/// error. A frozen dictionary with an id for unknown words leaves them out. ValueError, with file
/// and line, for an unknown word in another frozen dictionary, a repeated word, words and further
/// symbols after the same symbols, and a class of which no word is left.
[[nodiscard]] ClusterTree make_cluster_tree(const char* builder, const std::string& file,
                                            const std::vector<ClusterLine>& lines, Dict& words);

}  // namespace dynet::builders
