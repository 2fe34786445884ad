#include <string>
#include <vector>

#include "dynet/globals.h"
#include "dynet/io.h"

#include "io/keys.h"
#include "io/text_parser.h"
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
    throw IoError("'" + parser.file_name() + "' has no " + type_word(is_lookup) + " named '" + key +
                  "'");
  }
  return found;
}

void populate_one(const std::string& file, ParameterStorageBase* storage, const std::string& key) {
  io::require_key("TextFileLoader::populate", key);
  if (storage == nullptr) {
    throw StateError("TextFileLoader::populate: the parameter is unset");
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

void TextFileLoader::populate(ParameterCollection& model, const std::string& key) {
  const std::string prefix = io::collection_key("TextFileLoader::populate", key);
  std::vector<ParameterStorageBase*> storages[2];  // parameters, lookup tables
  params::for_each_storage(model, [&](ParameterStorageBase& storage) {
    storages[params::is_table(storage) ? 1 : 0].push_back(&storage);
  });
  TextParser parser(dataname_);
  std::vector<TextObject> found[2];
  TextObject object;
  while (parser.next(object)) {
    if (!startswith(std::string(object.name), prefix)) {
      parser.skip();
      continue;
    }
    const std::size_t kind = object.is_lookup ? 1 : 0;
    const std::size_t i = found[kind].size();
    if (i == storages[kind].size()) {
      parser.fail(object.at, std::string("one more ") + type_word(object.is_lookup) +
                                 " than the model's " + std::to_string(i));
    }
    require_shape(parser, object, *storages[kind][i]);
    parser.read(object, params::number_of(*storages[kind][i]));
    found[kind].push_back(std::move(object));
    object = TextObject();
  }
  if (found[0].size() < storages[0].size() || found[1].size() < storages[1].size()) {
    throw IoError("'" + dataname_ + "' has " + std::to_string(found[0].size()) +
                  " parameters and " + std::to_string(found[1].size()) + " lookup parameters" +
                  (prefix.empty() ? "" : " under '" + prefix + "'") + "; the model has " +
                  std::to_string(storages[0].size()) + " and " +
                  std::to_string(storages[1].size()));
  }
  const params::UpdateScope scope(params::usage_of(model), "TextFileLoader::populate");
  for (const std::size_t kind : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t i = 0; i < storages[kind].size(); ++i) {
      commit(found[kind][i], *storages[kind][i]);
    }
  }
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
