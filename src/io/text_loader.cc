#include <algorithm>
#include <string>
#include <vector>

#include "dynet/ext/memory.h"
#include "dynet/globals.h"
#include "dynet/io.h"

#include "io/keys.h"
#include "io/text_parser.h"
#include "params/access.h"

namespace dynet {
namespace {

using detail::GradientFill;
using detail::StorageState;
using io::TextObject;
using io::TextParser;

const char* type_of(bool is_lookup) { return is_lookup ? "#LookupParameter#" : "#Parameter#"; }

ext::Number number_of(const ParameterStorageBase& storage) {
  return storage.state().kernels.number();
}

/// Throws nothing.
void copy_in(const StorageState& s, const io::TextNumbers& from, std::byte* to) {
  const bool is_double = s.kernels.number() == ext::Number::kDouble;
  const void* numbers =
      is_double ? static_cast<const void*>(from.doubles.data()) : from.floats.data();
  s.device.memory->copy_in(numbers, to, static_cast<std::size_t>(s.elements * s.number_bytes));
}

/// Gives an object to a storage of its shape and number type. Throws nothing.
void commit(const TextObject& object, ParameterStorageBase& storage) {
  StorageState& s = storage.state();
  const std::lock_guard lock(s.mutex);
  s.catch_up();  // else what rows missed would be added to the file's values
  // The file holds effective values.
  s.factor = 1.0;
  copy_in(s, object.values, s.values.data());
  const double pending = s.decay_factor();
  if (pending != 1.0) {
    s.kernels.add_scaled(1.0 / pending, s.values.data(), s.values.data(), s.elements, true);
  }
  s.forget_gradient();
  if (object.gradient.empty()) {
    return;
  }
  copy_in(s, object.gradient, s.gradient.change());
  s.fill = GradientFill::kAll;
  s.is_pristine = false;
  s.has_unlisted = s.is_table();
}

void require_shape(const TextParser& parser, const TextObject& object, const std::string& name,
                   const Dim& dim) {
  if (object.dim != dim) {
    parser.fail(object.at, std::string(object.name) + " is " + to_string(object.dim) + "; want " +
                               to_string(dim) + " for " + name);
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
    throw IoError("'" + parser.file_name() + "' has no " + type_of(is_lookup) + " named '" + key +
                  "'");
  }
  return found;
}

void require_key(const char* call, const std::string& key) {
  if (key.empty()) {
    throw ValueError(std::string(call) + ": the key is empty");
  }
  io::check_parameter_key(call, key);
}

template <class Handle>
void populate_one(const std::string& file, Handle& handle, const std::string& key, bool is_lookup) {
  require_key("TextFileLoader::populate", key);
  if (!handle) {
    throw StateError("TextFileLoader::populate: the parameter is unset");
  }
  TextParser parser(file);
  const TextObject object = find(parser, is_lookup, key, number_of(*handle.p));
  if constexpr (std::is_same_v<Handle, Parameter>) {
    require_shape(parser, object, handle.p->name, handle.p->dim);
  } else {
    require_shape(parser, object, handle.p->name, handle.p->all_dim);
  }
  const params::UpdateScope scope(params::usage_of(*handle.p), "TextFileLoader::populate");
  commit(object, *handle.p);
}

}  // namespace

Loader::~Loader() = default;
TextFileLoader::TextFileLoader(const std::string& filename) : dataname_(filename) {}
TextFileLoader::~TextFileLoader() = default;

void TextFileLoader::populate(ParameterCollection& model, const std::string& key) {
  const std::string prefix = io::collection_key("TextFileLoader::populate", key);
  const auto& parameters = detail::ModelAccess::parameters(model);
  const auto& lookups = detail::ModelAccess::lookups(model);
  TextParser parser(dataname_);
  std::vector<TextObject> found[2];  // parameters, lookup tables
  TextObject object;
  while (parser.next(object)) {
    if (!startswith(std::string(object.name), prefix)) {
      parser.skip();
      continue;
    }
    auto& list = found[object.is_lookup ? 1 : 0];
    const std::size_t i = list.size();
    const std::size_t wanted = object.is_lookup ? lookups.size() : parameters.size();
    if (i == wanted) {
      parser.fail(object.at, std::string("one more ") + type_of(object.is_lookup) +
                                 " than the model's " + std::to_string(wanted));
    }
    if (object.is_lookup) {
      require_shape(parser, object, lookups[i]->name, lookups[i]->all_dim);
      parser.read(object, number_of(*lookups[i]));
    } else {
      require_shape(parser, object, parameters[i]->name, parameters[i]->dim);
      parser.read(object, number_of(*parameters[i]));
    }
    list.push_back(std::move(object));
    object = TextObject();
  }
  if (found[0].size() < parameters.size() || found[1].size() < lookups.size()) {
    throw IoError("'" + dataname_ + "' has " + std::to_string(found[0].size()) +
                  " parameters and " + std::to_string(found[1].size()) + " lookup parameters" +
                  (prefix.empty() ? "" : " under '" + prefix + "'") + "; the model has " +
                  std::to_string(parameters.size()) + " and " + std::to_string(lookups.size()));
  }
  const params::UpdateScope scope(params::usage_of(model), "TextFileLoader::populate");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    commit(found[0][i], *parameters[i]);
  }
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    commit(found[1][i], *lookups[i]);
  }
}

void TextFileLoader::populate(Parameter& param, const std::string& key) {
  populate_one(dataname_, param, key, false);
}
void TextFileLoader::populate(LookupParameter& lookup_param, const std::string& key) {
  populate_one(dataname_, lookup_param, key, true);
}

Parameter TextFileLoader::load_param(ParameterCollection& model, const std::string& key) {
  require_key("TextFileLoader::load_param", key);
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
  require_key("TextFileLoader::load_lookup_param", key);
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

void load_dynet_model(std::string filename, ParameterCollection* model) {
  TextFileLoader(filename).populate(*model, "/model");
}

}  // namespace dynet
