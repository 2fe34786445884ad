#pragma once

// Structures over the words of a sentence: dependency trees, constituents, segments. The best
// structure for given scores stands here; logarithms of partition functions, as expressions, are in
// dynet/expr/trees.h; builders for tags and segments in crf-builder.h and semi-crf-builder.h.
//
// Scores are read as numbers, such as the value of an expression, and the search runs on the host
// in double: it adds no node.
//
// Dependencies are scores {words+1,words}: a column for each word, a row for each head, and row 0
// is the root. Example: for three words element (0, 1) says how well the second word stands at the
// root, element (3, 1) how well the third word is its head, and element (2, 1), the word as its own
// head, does not count. A tree is a list of heads: {2, 0, 2} has the second word at the root and
// the other words below it. In a batch, {words+1,words}xb of padded sentences, `lengths` has the
// number of words of each; without a length all words count.
//
// Constituents are scores {words,words,labels}: element (i, j, l) is for the words i to j with the
// label l, i <= j; other elements do not count. In a batch `lengths` has the same meaning.
//
// A score of -inf forbids its arc or span. Errors: ShapeError for another shape, ValueError for
// another number of lengths than examples, IndexError for a length of 0 or of too many words,
// NumericError for a score of NaN or inf that counts, and if no structure is allowed. Thread rule:
// the functions have no state.

#include <vector>

#include "dynet/expr/trees.h"
#include "dynet/tensor.h"

namespace dynet {

/// The best dependency tree, which may have arcs that cross (Chu and Liu, 1965; Edmonds, 1967): the
/// head of each word, 0 for the root, h for word h - 1. One word stands at the root. Equally good
/// trees give one of them, always the same. A score of -inf forbids an arc. n words take n^2 steps.
/// Shapes: {words+1,words}, a row for each head, first the root -> a list, a head for each word.
/// Errors: ShapeError for other shapes; NumericError for a score of NaN or inf, and if no tree is
/// allowed.
/// Python: scores are an expression or an array. Without `single_root` any number of words stands
/// at the root.
template <int = 0>
[[nodiscard]] std::vector<unsigned> max_spanning_tree(const Tensor& scores);
/// The best trees of a batch of padded sentences, or of one example. Without `single_root` any
/// number of words stands at the root.
/// Shapes: {words+1,words}xb -> b lists of heads.
/// Errors: as for one example, and the errors of lengths.
template <int = 0>
[[nodiscard]] std::vector<std::vector<unsigned>> max_spanning_tree(
    const Tensor& scores, const std::vector<unsigned>& lengths, bool single_root = true);

/// The best dependency tree without crossing arcs (Eisner, 1996): the head of each word, 0 for the
/// root, h for word h - 1. One word stands at the root. n words take n^3 steps.
/// Shapes: {words+1,words}, a row for each head, first the root -> a list, a head for each word.
/// Errors: as for max_spanning_tree.
/// Python: scores are an expression or an array. Without `single_root` any number of words stands
/// at the root.
template <int = 0>
[[nodiscard]] std::vector<unsigned> eisner(const Tensor& scores);
/// The best trees of a batch of padded sentences, or of one example, as for max_spanning_tree.
/// Shapes: {words+1,words}xb -> b lists of heads.
/// Errors: as for max_spanning_tree.
template <int = 0>
[[nodiscard]] std::vector<std::vector<unsigned>> eisner(const Tensor& scores,
                                                        const std::vector<unsigned>& lengths,
                                                        bool single_root = true);

/// The best binary tree of constituents (Cocke, Kasami and Younger): 2 words - 1 spans, a span
/// before the two spans in it, of which the left one is first. A span that a grammar does not have,
/// an inner node of a binarised tree, wants a label of its own, such as label 0. n words take n^3
/// steps.
/// Shapes: {words,words,labels}, element (i, j, l) for the words i to j with label l -> a list of
/// spans (label, begin, end), `end` behind the last word.
/// Errors: ShapeError for other shapes; NumericError for a score of NaN or inf, and if no tree is
/// allowed.
/// Python: scores are an expression or an array.
template <int = 0>
[[nodiscard]] std::vector<LabelledSpan> cky(const Tensor& scores);
/// The best trees of a batch of padded sentences.
/// Shapes: {words,words,labels}xb -> b lists of spans.
/// Errors: as for one example, and the errors of lengths.
template <int = 0>
[[nodiscard]] std::vector<std::vector<LabelledSpan>> cky(const Tensor& scores,
                                                         const std::vector<unsigned>& lengths);

}  // namespace dynet
