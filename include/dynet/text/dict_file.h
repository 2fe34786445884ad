#pragma once

// Dictionaries as plain text: the words in the order of their ids, one per line.

#include <string>

#include "dynet/dict.h"

namespace dynet::text {

/// Writes the words of `dict`. The old file stays until the new one is complete and on the disk.
/// ValueError, and nothing is written, for a word that is empty, begins or ends with white space,
/// has a line end or a zero byte in it, or is not UTF-8. IoError.
void save_dict(const std::string& file, const Dict& dict);

/// The dictionary of a file: each word has the id that it had. It is not frozen and has no unknown
/// word: call freeze() and set_unk(), which finds the saved word.
///
/// All or nothing. TextError with file and line for a word that stands twice, for an empty line,
/// and for white space around a word; IoError.
[[nodiscard]] Dict load_dict(const std::string& file);

}  // namespace dynet::text
