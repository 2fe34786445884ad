#pragma once

// What the sources of the softmax builders share: checks, and files of clusters.

#include <string>
#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet::builders {

/// Checks before a softmax's function: StateError before new_graph, GraphError for a node of
/// another graph, ShapeError for what is not a vector (its size is for the product to check).
void check_ready(const char* builder, const char* call, const detail::InGraph& in,
                 const Expression& rep);
/// ShapeError unless there is one example.
void check_one_example(const char* builder, const char* call, const Expression& rep);
/// ValueError unless there are as many words as examples.
void check_words_given(const char* builder, const Expression& rep, std::size_t words);

/// A line of a file of clusters.
struct ClusterLine {
  std::vector<std::string> path;
  std::string word;
  std::size_t number;  ///< from 1
};

/// More symbols than this in a line are damage: functions that walk trees call themselves.
constexpr std::size_t kLongestPath = 1000;

/// Reads `<class> <word>`, or with `is_path` `<symbol> ... <symbol>\t<word>`. ValueError with file
/// and line where it cannot.
[[nodiscard]] std::vector<ClusterLine> read_cluster_lines(const char* builder,
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
