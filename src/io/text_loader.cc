#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dynet/globals.h"
#include "dynet/io.h"

#include "io/keys.h"
#include "io/text_parser.h"
#include "params/access.h"
#include "params/settings.h"
#include "params/stored.h"

namespace dynet {
namespace {

using io::TextObject;
using io::TextParser;
using params::type_word;

/// The numbers of a line, or null. One of the two lists is empty.
const void* data_of(const io::TextNumbers& numbers) {
  if (numbers.empty()) {
    return nullptr;
  }
  return numbers.doubles.empty() ? static_cast<const void*>(numbers.floats.data())
                                 : numbers.doubles.data();
}

/// Gives an object to a storage of its shape and number type. Throws nothing.
void commit(const TextObject& object, ParameterStorageBase& storage) {
  params::load(storage, data_of(object.values), data_of(object.gradient));
}

void require_shape(const TextParser& parser, const TextObject& object,
                   const ParameterStorageBase& storage) {
  const Dim& dim = params::shape_of(storage);
  if (object.dim != dim) {
    parser.fail(object.at, std::string(object.name) + " is " + to_string(object.dim) + "; want " +
                               to_string(dim) + " for " + storage.name +
                               io::other_lstm(object.dim, dim, storage.name));
  }
}

/// Reads the first object of a kind named `key`, and checks the lines of the rest of the file.
TextObject find(TextParser& parser, bool is_lookup, const std::string& key, ext::Number number) {
  TextObject found;
  TextObject object;
  bool is_found = false;
  while (parser.next(object)) {
    if (!is_found && object.is_lookup == is_lookup && object.name == key) {
      parser.read(object, number);
      found = std::move(object);
      object = TextObject();
      is_found = true;
    } else {
      parser.skip();
    }
  }
  if (!is_found) {
    throw errors::IoError("'" + parser.file_name() + "' has no " + type_word(is_lookup) +
                          " named '" + key + "'");
  }
  return found;
}

void populate_one(const std::string& file, ParameterStorageBase* storage, const std::string& key) {
  io::require_key("TextFileLoader::populate", key);
  if (storage == nullptr) {
    throw errors::StateError("TextFileLoader::populate: the parameter is unset");
  }
  TextParser parser(file);
  const TextObject object =
      find(parser, params::is_table(*storage), key, params::number_of(*storage));
  require_shape(parser, object, *storage);
  const params::UpdateScope scope(params::usage_of(*storage), "TextFileLoader::populate");
  commit(object, *storage);
}

}  // namespace

TextFileLoader::TextFileLoader(const std::string& filename) : dataname_(filename) {}
TextFileLoader::~TextFileLoader() = default;

namespace {

/// The part of a file for a collection: entries in the order of the file, and their objects.
class CollectionReader {
 public:
  CollectionReader(TextParser& parser, const ParameterCollection& model, const std::string& prefix)
      : parser_(parser), prefix_(prefix) {
    const bool has_all = !has_only_own(model);
    for (const io::Entry& entry : io::entries_of(model, prefix)) {
      const bool is_above = entry.name_above && !has_all;
      lists_[is_above                           ? kAbove
             : params::is_table(*entry.storage) ? kTables
                                                : kParameters]
          .push_back({entry, TextObject()});
    }
  }

  /// Reads and checks all of it; IoError.
  void read() {
    std::size_t found[kLists] = {};
    TextObject object;
    while (parser_.next(object)) {
      if (!startswith(std::string(object.name), prefix_)) {
        read_above(object);
        continue;
      }
      const List kind = object.is_lookup ? kTables : kParameters;
      const std::size_t i = found[kind]++;
      if (i == lists_[kind].size()) {
        parser_.fail(object.at, std::string("one more ") + type_word(object.is_lookup) +
                                    " than the model's " + std::to_string(i));
      }
      take(object, lists_[kind][i]);
    }
    if (found[kParameters] < lists_[kParameters].size() ||
        found[kTables] < lists_[kTables].size()) {
      throw errors::IoError("'" + parser_.file_name() + "' has " +
                            std::to_string(found[kParameters]) + " parameters and " +
                            std::to_string(found[kTables]) + " lookup parameters" +
                            (prefix_.empty() ? "" : " under '" + prefix_ + "'") +
                            "; the model has " + std::to_string(lists_[kParameters].size()) +
                            " and " + std::to_string(lists_[kTables].size()));
    }
    drop_what_is_not_above();
  }
  /// Within an UpdateScope. Throws nothing.
  void commit() {
    for (const auto& list : lists_) {
      for (const auto& [entry, object] : list) {
        dynet::commit(object, *entry.storage);
      }
    }
  }

 private:
  enum List : unsigned char { kParameters, kTables, kAbove, kLists };
  struct Wanted {
    io::Entry entry;
    TextObject object;
  };

  /// A DyNet 2.1 file of a builder's collection lacks the parameters that the builder made beside
  /// the collection. A file of a larger model has them elsewhere.
  bool has_only_own(const ParameterCollection& model) {
    if (detail::ModelAccess::state(model).beside.empty()) {
      return false;
    }
    std::size_t found = 0;
    TextObject object;
    while (parser_.next(object)) {
      found += !object.is_lookup && startswith(std::string(object.name), prefix_) ? 1 : 0;
      parser_.skip();
    }
    parser_.rewind();
    return found == detail::ModelAccess::parameters(model).size();
  }
  void take(TextObject& object, Wanted& wanted) {
    require_shape(parser_, object, *wanted.entry.storage);
    parser_.read(object, params::number_of(*wanted.entry.storage));
    wanted.object = std::move(object);
    object = TextObject();
  }
  /// An object that is not under the key.
  void read_above(TextObject& object) {
    for (Wanted& wanted : lists_[kAbove]) {
      if (!object.is_lookup && object.name == wanted.entry.name_above &&
          object.dim == params::shape_of(*wanted.entry.storage)) {
        take(object, wanted);
        return;
      }
    }
    parser_.skip();
  }
  /// Some names and shapes may be of other parameters by chance, but not all of them.
  void drop_what_is_not_above() {
    std::vector<Wanted>& above = lists_[kAbove];
    if (std::any_of(above.begin(), above.end(),
                    [](const Wanted& w) { return w.object.name.empty(); })) {
      params::log("TextFileLoader::populate: '" + parser_.file_name() +
                  "': it has no parameters of layer normalisation, or does not say which are this "
                  "builder's, as files of DyNet 2.1; they stay as they are");
      above.clear();
    }
  }

  TextParser& parser_;
  const std::string& prefix_;
  std::vector<Wanted> lists_[kLists];
};

}  // namespace

void TextFileLoader::populate(ParameterCollection& model, const std::string& key) {
  const std::string prefix = io::collection_key("TextFileLoader::populate", key);
  TextParser parser(dataname_);
  CollectionReader reader(parser, model, prefix);
  reader.read();
  const params::UpdateScope scope(params::usage_of(model), "TextFileLoader::populate");
  reader.commit();
}

void TextFileLoader::populate(Parameter& param, const std::string& key) {
  populate_one(dataname_, param.p.get(), key);
}
void TextFileLoader::populate(LookupParameter& lookup_param, const std::string& key) {
  populate_one(dataname_, lookup_param.p.get(), key);
}

Parameter TextFileLoader::load_param(ParameterCollection& model, const std::string& key) {
  io::require_key("TextFileLoader::load_param", key);
  TextParser parser(dataname_);
  const TextObject object = find(parser, false, key, default_device->kernels->number());
  std::string name = key;
  Parameter p = model.add_parameters(object.dim, ParameterInitConst(0.0F));
  commit(object, *p.p);
  p.p->name = std::move(name);
  return p;
}

LookupParameter TextFileLoader::load_lookup_param(ParameterCollection& model,
                                                  const std::string& key) {
  io::require_key("TextFileLoader::load_lookup_param", key);
  TextParser parser(dataname_);
  const TextObject object = find(parser, true, key, default_device->kernels->number());
  if (object.dim.nd == 0) {
    parser.fail(object.at, "a lookup table without dimensions");
  }
  Dim row = object.dim;
  row.resize(row.nd - 1);
  std::string name = key;
  LookupParameter p =
      model.add_lookup_parameters(object.dim.d[row.nd], row, ParameterInitConst(0.0F));
  commit(object, *p.p);
  p.p->name = std::move(name);
  return p;
}

}  // namespace dynet
