#pragma once

// Values that Python wrote as JSON: the arguments of builders, and plain data.
//
// Numbers, texts, None, True and False are themselves. Another value is an object with one member,
// whose name is the kind: {"tuple": [1, 2]}, {"class": "dynet:GRUBuilder"}
// (python/dynet/_specs.py).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dynet/dict.h"

namespace dynet::models {

/// One value, and its place for errors. Each reading function throws an IoError with the place, the
/// found and the wanted thing. Valid while the JSON lives.
class Value {
 public:
  Value(const nlohmann::json& code, std::string place) : code_(&code), place_(std::move(place)) {}

  [[nodiscard]] bool is_none() const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::int64_t whole() const;
  /// A whole number of 32 bits, without sign.
  [[nodiscard]] unsigned size() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;
  /// "dynet:GRUBuilder".
  [[nodiscard]] const std::string& class_name() const;
  /// The members of a tuple or list.
  [[nodiscard]] std::vector<Value> list() const;
  /// The entries of a dict whose keys are texts.
  [[nodiscard]] std::vector<std::pair<std::string, Value>> items() const;

  /// Whether it is one of the vocabularies of dict(), or claims to be.
  [[nodiscard]] bool is_vocabulary() const;
  /// A dy.text.Vocabulary, a dy.Dict or a dict of words and ids, frozen.
  [[nodiscard]] Dict dict() const;

  /// "'tagger.safetensors': 'reader': spec[0] is 'abc'; want a whole number".
  [[noreturn]] void fail(const std::string& want) const;
  /// The value in a few words: "a tuple".
  [[nodiscard]] std::string told() const;
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  /// The content if it is of this kind, else null.
  [[nodiscard]] const nlohmann::json* of_kind(const char* kind) const;
  [[nodiscard]] Dict dict_of_vocabulary(const nlohmann::json& object) const;
  [[nodiscard]] Dict dict_of_ids(const nlohmann::json& ids) const;
  [[nodiscard]] Dict dict_of_state(const nlohmann::json& state) const;
  [[nodiscard]] Dict frozen(const nlohmann::json& words) const;

  const nlohmann::json* code_;
  std::string place_;
};

/// The arguments of a builder's constructor, without the collection.
class Arguments {
 public:
  explicit Arguments(const Value& spec) : spec_(spec), list_(spec.list()) {}

  /// IoError if there are fewer.
  [[nodiscard]] const Value& at(std::size_t i) const;
  /// An argument that older files lack.
  [[nodiscard]] bool has(std::size_t i) const { return i < list_.size(); }
  [[nodiscard]] unsigned size(std::size_t i) const { return at(i).size(); }
  [[nodiscard]] unsigned size(std::size_t i, unsigned absent) const {
    return has(i) ? at(i).size() : absent;
  }
  [[nodiscard]] bool truth(std::size_t i, bool absent) const {
    return has(i) ? at(i).truth() : absent;
  }
  [[nodiscard]] float number(std::size_t i, float absent) const {
    return has(i) ? static_cast<float>(at(i).number()) : absent;
  }

 private:
  Value spec_;
  std::vector<Value> list_;
};

}  // namespace dynet::models
