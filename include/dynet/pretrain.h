#pragma once

// Embeddings as text, one line for each word: `word 0.25 -1 3.5e-05`. Files of word2vec, GloVe and
// fastText (its .vec files) are read; if the first line has the number of words and the
// dimension, as in word2vec and fastText, it is taken for what it is: two whole numbers, the second
// of them 2 or more. (The words of a table with one number per word that are numbers themselves
// would look like it.) With a dimension of 1 it is one if as many lines follow as it says.

#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/dict.h"
#include "dynet/model.h"

namespace dynet {

/// Writes the words of `d` with the rows of `lp` by their ids, without a first line, each number
/// with as many digits as bring it back. The old file stays until the new one is complete.
/// SizeError when the table has fewer rows than there are words; ValueError for a word that is
/// empty or has white space, and if the file cannot be opened; IoError if it cannot be
/// written.
void save_pretrained_embeddings(const std::string& fname, const Dict& d, const LookupParameter& lp);

/// Reads the numbers of each word into `vectors`, by the word's id; a later line for a word
/// replaces an earlier one. Words that are not in `d` are added; if it is frozen, words that map to
/// the unknown one are passed over. A word may have spaces in it unless it ends in a number.
///
/// All or nothing. ValueError if the file cannot be opened; IoError with file:line:column if
/// it is damaged: a number is none or no finite float, a line has another dimension than the first,
/// or there are more or fewer lines than the first one says; UsageError for an unknown word if
/// `d` is frozen without one for unknown words.
void read_pretrained_embeddings(const std::string& fname, Dict& d,
                                std::unordered_map<int, std::vector<float>>& vectors);

}  // namespace dynet
