#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include "dynet/except.h"
#include "dynet/globals.h"
#include "dynet/load-model.h"
#include "dynet/safetensors.h"

#include "io/keys.h"
#include "models/builders.h"
#include "models/value.h"
#include "params/addition_limit.h"

namespace dynet {

using models::Arguments;
using models::Built;
using models::Value;
using nlohmann::json;

namespace {

constexpr const char* kObjects = "objects";  // the key of the metadata
constexpr std::size_t kMostNames = 10;       // in an error

/// "a GRUBuilder", "an RNNBuilder".
std::string with_article(const std::string& name) {
  const bool is_an = name.rfind("RNN", 0) == 0 || std::string("AEIOU").find(name[0]) < 5;
  return (is_an ? "an " : "a ") + name;
}

std::string place_of(const std::string& file, const std::string& name) {
  return "'" + file + "': '" + io::shown(name) + "'";
}

}  // namespace

/// Invariant: the values of `all` point into `document`.
struct LoadedModel::Entries {
  /// One object of a file, of exactly one kind.
  struct Entry {
    std::optional<Built> builder;
    std::optional<Parameter> parameter;
    std::optional<LookupParameter> table;
    std::unique_ptr<Dict> dict;
    std::optional<Value> value;  ///< plain data, and the data of a dict

    /// "a GRUBuilder".
    [[nodiscard]] std::string told() const {
      if (builder) {
        return with_article(builder->name);
      }
      if (parameter || table) {
        return parameter ? "a parameter" : "a lookup parameter";
      }
      if (dict) {
        return "a vocabulary";
      }
      return value ? value->told() : "nothing";
    }
  };

  std::string file;
  json document;
  ParameterCollection collection;
  std::map<std::string, Entry> all;

  [[nodiscard]] const Entry& find(const std::string& name) const {
    const auto found = all.find(name);
    if (found != all.end()) {
      return found->second;
    }
    std::string names;
    std::size_t count = 0;
    for (const auto& [other, entry] : all) {
      if (++count > kMostNames) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "'" : ", '") + io::shown(other) + "'";
    }
    throw errors::IoError("'" + file + "' has no '" + io::shown(name) + "'; want one of " +
                          (names.empty() ? "no objects" : names));
  }
  [[noreturn]] void refuse(const std::string& name, const Entry& entry,
                           const std::string& want) const {
    throw errors::IoError(place_of(file, name) + " is " + entry.told() + "; want " + want);
  }
  [[nodiscard]] const Value& value(const std::string& name) const {
    const Entry& entry = find(name);
    if (!entry.value) {
      refuse(name, entry, "plain data");
    }
    return *entry.value;
  }
};

namespace {

using Entry = LoadedModel::Entries::Entry;

const std::string& text_of(const json& record, const char* member, const std::string& place) {
  const auto found = record.find(member);
  if (found == record.end() || !found->is_string()) {
    throw errors::IoError(place + " has no text '" + member + "'; the list of objects is damaged");
  }
  return found->get_ref<const std::string&>();
}

/// A list of (number of a builder, method, arguments).
void set_all(const Built& builder, const Value& settings, const std::string& place) {
  for (const Value& setting : settings.list()) {
    const Arguments call(setting);
    const std::string& method = call.at(1).text();
    if (!builder.set(call.size(0), method, Arguments(call.at(2)))) {
      throw errors::IoError(place + " has the setting '" + io::shown(method) +
                            "', which only Python knows of " + with_article(builder.name));
    }
  }
}

/// Adds the parameters of one object to `model`.
Entry entry_of(SafetensorsLoader& loader, ParameterCollection& model, const json& record,
               const std::string& place) {
  if (!record.is_object()) {
    throw errors::IoError(place + " is no record; the list of objects is damaged");
  }
  Entry entry;
  if (const auto plain = record.find("value"); plain != record.end()) {
    entry.value.emplace(*plain, place);
    if (entry.value->is_vocabulary()) {
      entry.dict = std::make_unique<Dict>(entry.value->dict());
    }
    return entry;
  }
  const std::string& kind = text_of(record, "kind", place);
  const std::string& key = text_of(record, "key", place);
  if (kind == "Parameters") {
    entry.parameter = loader.load_param(model, key);
  } else if (kind == "LookupParameters") {
    entry.table = loader.load_lookup_param(model, key);
  } else {
    const auto spec = record.find("spec");
    if (spec == record.end()) {
      throw errors::IoError(place + " has no 'spec'; the list of objects is damaged");
    }
    entry.builder = models::make_builder(kind, Value(*spec, place + ": spec"), model, place);
    if (const auto settings = record.find("settings"); settings != record.end()) {
      set_all(*entry.builder, Value(*settings, place + ": settings"), place);
    }
    loader.populate(entry.builder->collection, key);
  }
  return entry;
}

/// entry_of, with errors as IoErrors that name the entry; out_of_memory passes unchanged.
Entry named_entry_of(SafetensorsLoader& loader, ParameterCollection& model, const json& record,
                     const std::string& place) {
  try {
    return entry_of(loader, model, record, place);
  } catch (const out_of_memory&) {
    throw;
  } catch (const errors::Error& e) {
    const std::string text = e.message();
    throw errors::IoError(text.find(place) == std::string::npos ? place + ": " + text : text);
  }
}

json parsed(const std::string& file, const std::string& text) {
  try {
    json document = json::parse(text);
    if (document.is_array() || document.is_object()) {
      return document;
    }
  } catch (const json::exception& e) {
    throw errors::IoError("'" + file +
                          "': the list of its objects is no JSON: " + io::shown(e.what(), 200));
  }
  throw errors::IoError("'" + file + "': the list of its objects is neither a list nor a dict");
}

/// The number of all elements in a file. The header's check keeps it below the bytes of the file.
std::uint64_t numbers_in(const SafetensorsLoader& loader) {
  std::uint64_t sum = 0;
  for (const std::string& name : loader.names()) {
    std::uint64_t product = 1;
    for (const std::size_t n : loader.shape(name)) {
      product *= n;
    }
    sum += product;
  }
  return sum;
}

/// The program's random numbers go on as if no builder had been initialised.
class SameDraws {
 public:
  SameDraws() = default;
  SameDraws(const SameDraws&) = delete;
  SameDraws& operator=(const SameDraws&) = delete;
  ~SameDraws() { *rndeng = before_; }

 private:
  std::mt19937 before_ = *rndeng;
};

std::unique_ptr<LoadedModel::Entries> entries_of_file(const std::string& file) {
  SafetensorsLoader loader(file);
  loader.check_all();
  const std::map<std::string, std::string> metadata = loader.metadata();
  const auto text = metadata.find(kObjects);
  if (text == metadata.end()) {
    throw errors::IoError("'" + file +
                          "' does not say what objects it has; want a file of Python's dy.save");
  }
  auto entries = std::make_unique<LoadedModel::Entries>();
  entries->file = file;
  entries->document = parsed(file, text->second);
  const SameDraws draws;
  const params::AdditionLimit limit(numbers_in(loader));
  const bool is_list = entries->document.is_array();
  std::size_t place = 0;
  for (const auto& [key, record] : entries->document.items()) {
    const std::string name = is_list ? std::to_string(place++) : key;
    entries->all.emplace(name,
                         named_entry_of(loader, entries->collection, record, place_of(file, name)));
  }
  return entries;
}

}  // namespace

LoadedModel::LoadedModel(std::unique_ptr<Entries> entries) noexcept
    : entries_(std::move(entries)) {}
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;
LoadedModel& LoadedModel::operator=(LoadedModel&&) noexcept = default;
LoadedModel::~LoadedModel() = default;

std::vector<std::string> LoadedModel::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_->all) {
    names.push_back(name);
  }
  return names;
}
bool LoadedModel::contains(const std::string& name) const { return entries_->all.count(name) != 0; }
ParameterCollection& LoadedModel::collection() { return entries_->collection; }

void* LoadedModel::find_builder(const std::string& name, std::type_index type) const {
  const Entries::Entry& entry = entries_->find(name);
  if (entry.builder) {
    for (const auto& [face, object] : entry.builder->faces) {
      if (face == type) {
        return object;
      }
    }
  }
  entries_->refuse(name, entry, with_article(models::name_of(type)));
}

Parameter LoadedModel::parameter(const std::string& name) const {
  const Entries::Entry& entry = entries_->find(name);
  if (!entry.parameter) {
    entries_->refuse(name, entry, "a parameter");
  }
  return *entry.parameter;
}
LookupParameter LoadedModel::lookup_parameter(const std::string& name) const {
  const Entries::Entry& entry = entries_->find(name);
  if (!entry.table) {
    entries_->refuse(name, entry, "a lookup parameter");
  }
  return *entry.table;
}
Dict& LoadedModel::dict(const std::string& name) {
  const Entries::Entry& entry = entries_->find(name);
  if (!entry.dict) {
    entries_->refuse(name, entry,
                     "a vocabulary: a dy.text.Vocabulary, a dy.Dict, or a dict of words and the "
                     "ids 0, 1, 2, ...");
  }
  return *entry.dict;
}

template <>
bool LoadedModel::value<bool>(const std::string& name) const {
  return entries_->value(name).truth();
}
template <>
std::int64_t LoadedModel::value<std::int64_t>(const std::string& name) const {
  return entries_->value(name).whole();
}
template <>
double LoadedModel::value<double>(const std::string& name) const {
  return entries_->value(name).number();
}
template <>
std::string LoadedModel::value<std::string>(const std::string& name) const {
  return entries_->value(name).text();
}

namespace {
template <class T>
std::vector<T> list_of(const Value& value, T (*read)(const Value& member)) {
  std::vector<T> list;
  for (const Value& member : value.list()) {
    list.push_back(read(member));
  }
  return list;
}
}  // namespace

template <>
std::vector<std::int64_t> LoadedModel::value<std::vector<std::int64_t>>(
    const std::string& name) const {
  return list_of<std::int64_t>(entries_->value(name), [](const Value& v) { return v.whole(); });
}
template <>
std::vector<double> LoadedModel::value<std::vector<double>>(const std::string& name) const {
  return list_of<double>(entries_->value(name), [](const Value& v) { return v.number(); });
}
template <>
std::vector<std::string> LoadedModel::value<std::vector<std::string>>(
    const std::string& name) const {
  return list_of<std::string>(entries_->value(name), [](const Value& v) { return v.text(); });
}

template <int>
LoadedModel load_model(const std::string& file) {
  return detail::with_typed_allocation([&] { return LoadedModel(entries_of_file(file)); });
}
template LoadedModel load_model<>(const std::string& file);

}  // namespace dynet
