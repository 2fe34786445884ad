#include "dynet/dict.h"

#include <limits>
#include <sstream>

#include "dynet/except.h"

namespace dynet {

int Dict::convert(const std::string& word) {
  const auto known = d_.find(word);
  if (known != d_.end()) {
    return known->second;
  }
  if (frozen) {
    if (map_unk && static_cast<std::size_t>(unk_id) < words_.size()) {
      return unk_id;
    }
    throw errors::UsageError("Dict: unknown word '" + word + "' in a frozen dictionary " +
                             (map_unk ? "that was cleared" : "without set_unk"));
  }
  if (words_.size() >= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw errors::SizeError("Dict: more words than an int can count");
  }
  const int id = static_cast<int>(words_.size());
  words_.push_back(word);
  try {
    d_.emplace(word, id);
  } catch (...) {
    words_.pop_back();
    throw;
  }
  return id;
}

const std::string& Dict::convert(const int& id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= words_.size()) {
    throw errors::IndexError("Dict: id " + std::to_string(id) + " of " +
                             std::to_string(words_.size()) + " words");
  }
  return words_[static_cast<std::size_t>(id)];
}

void Dict::set_unk(const std::string& word) {
  if (!frozen) {
    throw errors::UsageError("Dict: set_unk before freeze");
  }
  if (map_unk) {
    throw errors::UsageError("Dict: set_unk was called before");
  }
  frozen = false;
  try {
    unk_id = convert(word);
  } catch (...) {
    frozen = true;
    throw;
  }
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
  std::vector<int> source = s;  // an unknown word leaves both lists as they were
  std::vector<int> target = t;
  bool second = false;
  while (in >> word) {
    if (word == "|||") {
      second = true;
    } else {
      (second ? target : source).push_back((second ? td : sd).convert(word));
    }
  }
  s.swap(source);
  t.swap(target);
}

}  // namespace dynet
