#include "models/value.h"

#include <array>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "dynet/except.h"

#include "io/keys.h"

namespace dynet::models {

using nlohmann::json;

namespace {

constexpr const char* kVocabulary = "dynet.text._vocabulary:Vocabulary";
constexpr std::size_t kMostShown = 60;

/// Kinds of Python's values, as errors call them.
constexpr std::array<std::pair<const char*, const char*>, 8> kToldKinds = {
    {{"tuple", "a tuple"},
     {"list", "a list"},
     {"dict", "a dict"},
     {"items", "a dict whose keys are no texts"},
     {"Dict", "a dy.Dict"},
     {"bytes", "bytes"},
     {"number", "a number of NumPy's, not of Python's"},
     {"array", "an array of NumPy's"}}};

/// The floats that JSON lacks.
constexpr std::array<std::pair<const char*, double>, 3> kNoJson = {
    {{"inf", std::numeric_limits<double>::infinity()},
     {"-inf", -std::numeric_limits<double>::infinity()},
     {"nan", std::numeric_limits<double>::quiet_NaN()}}};

/// The kind of a value that JSON lacks, or empty.
std::string kind_of(const json& code) {
  return code.is_object() && code.size() == 1 ? code.begin().key() : "";
}

/// The name of the class in the content of "object" or "member", or "?".
std::string class_in(const json& content) {
  return content.is_array() && !content.empty() && content[0].is_string()
             ? io::shown(content[0].get_ref<const std::string&>(), kMostShown)
             : "?";
}

bool is_text_list(const json& code) {
  if (!code.is_array()) {
    return false;
  }
  for (const json& x : code) {
    if (!x.is_string()) {
      return false;
    }
  }
  return true;
}

}  // namespace

const json* Value::of_kind(const char* kind) const {
  if (!code_->is_object() || code_->size() != 1) {
    return nullptr;
  }
  const auto found = code_->find(kind);
  return found == code_->end() ? nullptr : &*found;
}

std::string Value::told() const {
  switch (code_->type()) {
    case json::value_t::null:
      return "None";
    case json::value_t::boolean:
      return code_->get<bool>() ? "True" : "False";
    case json::value_t::string:
      return "'" + io::shown(code_->get_ref<const std::string&>(), kMostShown) + "'";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
      return code_->dump();
    default:
      break;
  }
  const std::string kind = kind_of(*code_);
  if (kind == "object" || kind == "member" || kind == "named") {
    return "an object of Python's class '" + class_in(code_->begin().value()) + "'";
  }
  if (kind == "class" && code_->begin()->is_string()) {
    return "'" + io::shown(code_->begin()->get_ref<const std::string&>(), kMostShown) + "'";
  }
  if (kind == "float" && code_->begin()->is_string()) {
    return io::shown(code_->begin()->get_ref<const std::string&>(), kMostShown);
  }
  for (const auto& [name, told] : kToldKinds) {
    if (kind == name) {
      return told;
    }
  }
  return kind.empty() ? "no value of Python's" : "a value of the kind '" + io::shown(kind) + "'";
}

void Value::fail(const std::string& want) const {
  throw errors::IoError(place_ + " is " + told() + "; want " + want);
}

bool Value::is_none() const { return code_->is_null(); }

bool Value::truth() const {
  if (!code_->is_boolean()) {
    fail("True or False");
  }
  return code_->get<bool>();
}

std::int64_t Value::whole() const {
  const bool is_too_large =
      code_->is_number_unsigned() &&
      code_->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!code_->is_number_integer() || is_too_large) {
    fail("a whole number of 64 bits");
  }
  return code_->get<std::int64_t>();
}

unsigned Value::size() const {
  if (!code_->is_number_unsigned() ||
      code_->get<std::uint64_t>() > std::numeric_limits<unsigned>::max()) {
    fail("a whole number from 0 to " + std::to_string(std::numeric_limits<unsigned>::max()));
  }
  return code_->get<unsigned>();
}

double Value::number() const {
  if (const json* const text = of_kind("float")) {
    for (const auto& [name, number] : kNoJson) {
      if (*text == name) {
        return number;
      }
    }
  }
  if (!code_->is_number()) {
    fail("a number");
  }
  return code_->get<double>();
}

const std::string& Value::text() const {
  if (!code_->is_string()) {
    fail("a text");
  }
  return code_->get_ref<const std::string&>();
}

const std::string& Value::class_name() const {
  const json* const name = of_kind("class");
  if (name == nullptr || !name->is_string()) {
    fail("a class");
  }
  return name->get_ref<const std::string&>();
}

std::vector<Value> Value::list() const {
  const json* members = of_kind("tuple");
  if (members == nullptr) {
    members = of_kind("list");
  }
  if (members == nullptr || !members->is_array()) {
    fail("a tuple or list");
  }
  std::vector<Value> list;
  list.reserve(members->size());
  for (const json& member : *members) {
    list.emplace_back(member, place_ + "[" + std::to_string(list.size()) + "]");
  }
  return list;
}

std::vector<std::pair<std::string, Value>> Value::items() const {
  const json* const entries = of_kind("dict");
  if (entries == nullptr || !entries->is_object()) {
    fail("a dict with texts as keys");
  }
  std::vector<std::pair<std::string, Value>> items;
  for (const auto& [key, value] : entries->items()) {
    items.emplace_back(key, Value(value, place_ + "['" + io::shown(key) + "']"));
  }
  return items;
}

// ---- vocabularies

bool Value::is_vocabulary() const {
  if (const json* const object = of_kind("object")) {
    return class_in(*object) == kVocabulary;
  }
  if (const json* const ids = of_kind("dict"); ids != nullptr && ids->is_object()) {
    std::vector<bool> is_taken(ids->size());
    for (const json& id : *ids) {
      const bool is_id = id.is_number_unsigned() && id.get<std::uint64_t>() < ids->size();
      if (!is_id || is_taken[id.get<std::size_t>()]) {
        return false;
      }
      is_taken[id.get<std::size_t>()] = true;
    }
    return true;
  }
  return of_kind("Dict") != nullptr;
}

Dict Value::dict() const {
  if (const json* const state = of_kind("Dict")) {
    return dict_of_state(*state);
  }
  if (const json* const object = of_kind("object"); object != nullptr && is_vocabulary()) {
    return dict_of_vocabulary(*object);
  }
  if (const json* const ids = of_kind("dict"); ids != nullptr && ids->is_object()) {
    return dict_of_ids(*ids);
  }
  fail("a vocabulary: a dy.text.Vocabulary, a dy.Dict, or a dict of words and their ids");
}

Dict Value::frozen(const json& words) const {
  Dict dict;
  if (!is_text_list(words)) {
    throw errors::IoError(place_ + ": the words of the vocabulary are no list of texts");
  }
  for (const json& word : words) {
    const unsigned before = dict.size();
    dict.convert(word.get_ref<const std::string&>());
    if (dict.size() == before) {
      throw errors::IoError(place_ + ": the vocabulary has '" +
                            io::shown(word.get_ref<const std::string&>()) +
                            "' twice; want each word once");
    }
  }
  dict.freeze();
  return dict;
}

/// The attributes of Python's class: `_words`, `_ids`, which says the same, and `unknown`.
Dict Value::dict_of_vocabulary(const json& object) const {
  static const json none = json::object();
  const json& attributes = object.size() == 2 && object[1].is_object() ? object[1] : none;
  const auto words = attributes.find("_words");
  const auto ids = attributes.find("_ids");
  const auto unknown = attributes.find("unknown");
  const bool has_all =
      words != attributes.end() && ids != attributes.end() && unknown != attributes.end();
  if (!has_all || kind_of(*words) != "list" || kind_of(*ids) != "dict") {
    throw errors::IoError(place_ + ": a Vocabulary without _words, _ids or unknown");
  }
  Dict dict = frozen((*words)["list"]);
  json wanted = json::object();
  for (unsigned id = 0; id < dict.size(); ++id) {
    wanted[dict.convert(static_cast<int>(id))] = id;
  }
  if ((*ids)["dict"] != wanted) {
    throw errors::IoError(place_ + ": a Vocabulary whose _ids are not those of its _words");
  }
  if (!unknown->is_null()) {
    const std::string& word = Value(*unknown, place_ + ".unknown").text();
    if (!dict.contains(word)) {
      throw errors::IoError(place_ + ": a Vocabulary without its unknown word '" + io::shown(word) +
                            "'");
    }
    dict.set_unk(word);
  }
  return dict;
}

Dict Value::dict_of_ids(const json& ids) const {
  std::vector<const std::string*> words(ids.size(), nullptr);
  for (const auto& [word, code] : ids.items()) {
    const Value value(code, place_ + "['" + io::shown(word) + "']");
    const unsigned id = value.size();
    if (id >= words.size() || words[id] != nullptr) {
      value.fail("the ids 0 to " + std::to_string(words.size() - 1) + ", each for one word");
    }
    words[id] = &ids.find(word).key();
  }
  Dict dict;
  for (const std::string* word : words) {
    dict.convert(*word);
  }
  dict.freeze();
  return dict;
}

/// [words, is_frozen, id of the unknown word or -1].
Dict Value::dict_of_state(const json& state) const {
  const bool is_whole = state.is_array() && state.size() == 3 && state[1].is_boolean() &&
                        state[2].is_number_integer();
  if (!is_whole) {
    throw errors::IoError(place_ + ": a Dict that is no list of words, a flag and a number");
  }
  Dict dict = frozen(state[0]);
  const std::int64_t unknown = Value(state[2], place_).whole();
  if (unknown < -1 || unknown >= static_cast<std::int64_t>(dict.size())) {
    throw errors::IoError(place_ + ": a Dict of " + std::to_string(dict.size()) +
                          " words whose unknown word has the id " + std::to_string(unknown));
  }
  if (unknown >= 0) {
    const std::string word = dict.convert(static_cast<int>(unknown));
    dict.set_unk(word);
  }
  return dict;
}

const Value& Arguments::at(std::size_t i) const {
  if (i >= list_.size()) {
    throw errors::IoError(spec_.place() + " has " + std::to_string(list_.size()) +
                          " arguments; want " + std::to_string(i + 1) + " or more");
  }
  return list_[i];
}

}  // namespace dynet::models
