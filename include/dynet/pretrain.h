#pragma once

// Embeddings as text, one line for each word: `word 0.25 -1 3.5e-05`. Files of word2vec, GloVe and
// fastText (.vec) are read. A first line of two whole numbers, such as `400000 300` in word2vec and
// fastText, is a header with the number of words and the dimension, if the dimension is 2 or more.
// (A dimension of 1 could also be a word that is a number: then the line is a header if the given
// number of lines follows.)

#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/dict.h"
#include "dynet/model.h"

namespace dynet {

/// Writes the words of `d` with the rows of `lp` by their ids, without a first line, each number
/// with enough digits to read the same number. The old file stays until the new file is complete.
/// SizeError when the table has fewer rows than there are words; ValueError for a word that is
/// empty or has white space, and if the file cannot be opened; IoError if it cannot be written.
void save_pretrained_embeddings(const std::string& fname, const Dict& d, const LookupParameter& lp);

/// Reads the numbers of each word into `vectors`, by the word's id; a later line for a word
/// replaces an earlier one. Words that are not in `d` are added; if `d` is frozen, words that map
/// to the unknown word are passed over. A word may have spaces in it unless it ends in a number.
///
/// All or nothing. ValueError if the file cannot be opened; IoError with file:line:column if the
/// file is damaged: text that is no finite float, a line of another dimension than the first, or a
/// number of lines other than in the header; UsageError for an unknown word if `d` is frozen
/// without a word for unknown words.
void read_pretrained_embeddings(const std::string& fname, Dict& d,
                                std::unordered_map<int, std::vector<float>>& vectors);

}  // namespace dynet
