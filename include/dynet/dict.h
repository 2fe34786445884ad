#pragma once

// Vocabularies: words to ids and back. Saved and loaded by dynet/text/dict_file.h.

#include <string>
#include <unordered_map>
#include <vector>

namespace dynet {

/// Words with ids 0, 1, 2, ... in the order of first use: of "a b a c" c has id 2. A frozen
/// dictionary takes no new words.
///
/// C++: Thread rule: reads of a frozen dictionary may run at once; else one thread.
class Dict {
 public:
  Dict() = default;
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(words_.size()); }
  [[nodiscard]] bool contains(const std::string& words) const { return d_.count(words) != 0; }
  /// The dictionary takes no new words from now on.
  void freeze() { frozen = true; }
  /// Whether freeze() was called.
  [[nodiscard]] bool is_frozen() const { return frozen; }
  /// The id of a word, which is added unless the dictionary is frozen; then an unknown word has the
  /// id of the word of set_unk, or is a `std::runtime_error` without one, or after clear().
  int convert(const std::string& word);
  /// The word with an id. IndexError if there is none.
  [[nodiscard]] const std::string& convert(const int& id) const;
  /// Sets the word that unknown words count as; added if new. Once, after freeze: else a
  /// `std::runtime_error`.
  void set_unk(const std::string& word);
  /// The id of the word of set_unk; -1 without one.
  [[nodiscard]] int get_unk_id() const { return unk_id; }
  /// The words, in the order of their ids.
  [[nodiscard]] const std::vector<std::string>& get_words() const { return words_; }
  /// Forgets the words; a frozen dictionary stays frozen.
  void clear();

 protected:
  bool frozen = false;
  bool map_unk = false;
  int unk_id = -1;
  std::vector<std::string> words_;
  std::unordered_map<std::string, int> d_;
};

/// Ids of the words of a line, which white space separates.
std::vector<int> read_sentence(const std::string& line, Dict& sd);
/// Appends ids of the words before the first `|||` to `s`, of the words after to `t`. An error
/// leaves both lists as they were.
void read_sentence_pair(const std::string& line, std::vector<int>& s, Dict& sd, std::vector<int>& t,
                        Dict& td);

}  // namespace dynet
