#include "dynet/dict.h"

#include <sstream>

#include "dynet/except.h"

namespace dynet {

int Dict::convert(const std::string& word) {
  const auto known = d_.find(word);
  if (known != d_.end()) {
    return known->second;
  }
  if (frozen) {
    if (map_unk) {
      return unk_id;
    }
    throw UsageError("Dict: unknown word '" + word + "' in a frozen dictionary without set_unk");
  }
  words_.push_back(word);
  const int id = static_cast<int>(words_.size()) - 1;
  d_.emplace(word, id);
  return id;
}

const std::string& Dict::convert(const int& id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= words_.size()) {
    throw IndexError("Dict: id " + std::to_string(id) + " of " + std::to_string(words_.size()) +
                     " words");
  }
  return words_[static_cast<std::size_t>(id)];
}

void Dict::set_unk(const std::string& word) {
  if (!frozen) {
    throw UsageError("Dict: set_unk before freeze");
  }
  if (map_unk) {
    throw UsageError("Dict: set_unk was called before");
  }
  frozen = false;
  unk_id = convert(word);
  frozen = true;
  map_unk = true;
}

void Dict::clear() {
  words_.clear();
  d_.clear();
}

std::vector<int> read_sentence(const std::string& line, Dict& sd) {
  std::istringstream in(line);
  std::vector<int> ids;
  std::string word;
  while (in >> word) {
    ids.push_back(sd.convert(word));
  }
  return ids;
}

void read_sentence_pair(const std::string& line, std::vector<int>& s, Dict& sd, std::vector<int>& t,
                        Dict& td) {
  std::istringstream in(line);
  std::string word;
  bool second = false;
  while (in >> word) {
    if (word == "|||") {
      second = true;
    } else {
      (second ? t : s).push_back((second ? td : sd).convert(word));
    }
  }
}

}  // namespace dynet
