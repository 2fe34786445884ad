#pragma once

// What the sources of the softmax builders share: checks, and files of clusters.

#include <string>
#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet::builders {

/// IndexError unless all words are below `size`.
void check_word_ids(const char* builder, const std::vector<unsigned>& words, std::size_t size);
/// An index drawn with the probabilities softmax(scores), by taking them off a uniform number one
/// after the other. NumericError where there is no distribution.
[[nodiscard]] unsigned draw_index(const std::vector<double>& scores);

/// A line of a file of clusters.
struct ClusterLine {
  std::vector<std::string> path;
  std::string word;
  std::size_t number;  ///< from 1
};

/// More symbols than this in a line are damage: functions that walk trees call themselves.
constexpr std::size_t kLongestPath = 1000;

/// ValueError where it cannot be opened.
[[nodiscard]] std::ifstream open_clusters(const char* builder, const std::string& file);
/// Reads `<class> <word>`, or with `is_path` `<symbol> ... <symbol>\t<word>`. ValueError with
/// `file` and line where it cannot.
[[nodiscard]] std::vector<ClusterLine> read_cluster_lines(const char* builder, std::istream& in,
                                                          const std::string& file, bool is_path);

/// A tree, and where its words are.
struct ClusterTree {
  detail::Cluster root;
  std::vector<std::vector<unsigned>> paths;  ///< by word; empty: it has no class
};
/// Puts the lines together. Words that the dictionary lacks are added to it when nothing can fail
/// any more; where it is frozen and has an id for unknown words they are left out. ValueError with
/// file and line for an unknown word in another frozen dictionary, a word that stands twice, words
/// and further symbols after the same ones, and a class of which no word is left.
[[nodiscard]] ClusterTree make_cluster_tree(const char* builder, const std::string& file,
                                            const std::vector<ClusterLine>& lines, Dict& words);

}  // namespace dynet::builders
