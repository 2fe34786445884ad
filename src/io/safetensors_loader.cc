#include <limits>
#include <set>
#include <utility>

#include "dynet/globals.h"
#include "dynet/safetensors.h"

#include "io/keys.h"
#include "io/model_reader.h"
#include "io/safetensors_file.h"
#include "params/stored.h"

namespace dynet {
namespace io {
namespace {

/// The shape of a parameter that a tensor makes, or of a table with its rows last. IoError if DyNet
/// has no such shape.
Dim dim_of(const SafetensorsFile& file, const std::string& name, const FileTensor& tensor,
           bool is_table) {
  const std::size_t nd = tensor.shape.size();
  const auto fail = [&](const std::string& wanted) {
    file.fail(tensor, "'" + name + "' has shape " + to_string(tensor.shape) + "; want " + wanted);
  };
  if (nd > DYNET_MAX_TENSOR_DIM || (is_table && nd == 0)) {
    fail((is_table ? "1 to " : "at most ") + std::to_string(DYNET_MAX_TENSOR_DIM) + " axes");
  }
  Dim d;
  d.nd = static_cast<unsigned>(nd);
  for (std::size_t i = 0; i < nd; ++i) {
    const std::uint64_t n = tensor.shape[is_table ? (i + 1) % nd : i];
    if (n > std::numeric_limits<unsigned>::max()) {
      fail("axes of at most " + std::to_string(std::numeric_limits<unsigned>::max()));
    }
    d.d[i] = static_cast<unsigned>(n);
  }
  return d;
}

/// Advice for a tensor that is missing in a file of another program, which may keep one of several
/// equal tensors; "" if that cannot be the reason. `shape`: null if unknown.
std::string tied_hint(const SafetensorsFile& file, const std::vector<std::uint64_t>* shape) {
  constexpr std::size_t kMostNames = 3;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, tensor] : file.header().tensors) {
    if (!tensor.checksum.empty()) {
      return "";  // a file of this library has all
    }
    if (shape != nullptr && tensor.shape == *shape && ++count <= kMostNames) {
      names += (count == 1 ? "'" : ", '") + shown(name) + "'";
    }
  }
  if (shape != nullptr && count == 0) {
    return "";
  }
  return "; of tensors that share their numbers (tied embeddings), PyTorch's writers keep one "
         "name: "
         "say with SafetensorsLoader's set_alias for which tensor this one stands" +
         (count == 0 ? "" : "; of its shape: " + names + (count > kMostNames ? ", ..." : ""));
}

/// A file of a larger model has some parameters of a builder beside the builder's collection.
const std::string& name_of(const SafetensorsFile& file, const Entry& entry) {
  const bool is_above = entry.name_above && file.find(entry.name) == nullptr &&
                        file.find(*entry.name_above) != nullptr;
  return is_above ? *entry.name_above : entry.name;
}

}  // namespace

std::string no_tensor(const SafetensorsFile& file, const std::string& name) {
  return "'" + file.name() + "' has no tensor named '" + name + "'";
}

void ModelReader::want(const std::string& name, ParameterStorageBase& storage) {
  want(name, storage, false);
}

void ModelReader::want(const std::string& name, ParameterStorageBase& storage, bool is_gradient) {
  const FileTensor* const tensor = file_.find(name);
  if (tensor == nullptr) {
    const auto has = [this](const std::string& other) { return file_.find(other) != nullptr; };
    const std::vector<std::uint64_t> shape =
        file_shape(params::shape_of(storage), params::is_table(storage));
    throw errors::IoError(no_tensor(file_, name) + "; want it for " + storage.name +
                          other_lstm(name, has) + tied_hint(file_, &shape));
  }
  const Dim& dim = params::shape_of(storage);
  const bool is_table = params::is_table(storage);
  const std::vector<std::uint64_t> wanted = file_shape(dim, is_table);
  if (tensor->shape != wanted) {
    file_.fail(*tensor, "'" + name + "' has shape " + to_string(tensor->shape) + "; want " +
                            to_string(wanted) + " for " + storage.name +
                            other_lstm(dim_of(file_, name, *tensor, is_table), dim, storage.name));
  }
  reader_.add(name, *tensor, dim, is_table, params::number_of(storage));
  wanted_.push_back({&storage, is_gradient});
}

void ModelReader::want_all(const ParameterCollection& model, const std::string& prefix) {
  std::set<std::string> used;
  for (const Entry& entry : entries_of(model, prefix)) {
    const std::string name = name_of(file_, entry);
    want(name, *entry.storage);
    used.insert(file_.name_of(name));
  }
  const std::string begin = collection_in_file(model, prefix);
  for (const auto& [name, tensor] : file_.header().tensors) {
    if (name.starts_with(begin) && is_parameter_name(name) && used.count(name) == 0) {
      file_.fail(tensor, "there is a tensor '" + name + "' of shape " + to_string(tensor.shape) +
                             ", for which the model has no parameter; want none");
    }
  }
}

void ModelReader::want_gradients(const ParameterCollection& model) {
  for (const Entry& entry : entries_of(model, "")) {
    const std::string name = gradient_tensor(entry.name);
    if (file_.find(name) != nullptr) {
      want(name, *entry.storage, true);
    }
  }
}

void ModelReader::prepare() { reader_.prepare(); }

void ModelReader::commit() {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i].is_gradient) {
      params::load_gradient(*wanted_[i].storage, reader_.numbers(i));
    } else {
      params::load(*wanted_[i].storage, reader_.numbers(i), nullptr);
    }
  }
}

}  // namespace io

namespace {

constexpr const char* kPopulate = "SafetensorsLoader::populate";

void populate_one(const io::SafetensorsFile& file, ParameterStorageBase* storage,
                  const std::string& key) {
  io::require_key(kPopulate, key);
  if (storage == nullptr) {
    throw errors::StateError(std::string(kPopulate) + ": the parameter is unset");
  }
  io::ModelReader reader(file);
  reader.want(key, *storage);
  reader.prepare();
  const params::UpdateScope scope(params::usage_of(*storage), kPopulate);
  reader.commit();
}

/// The tensor of a name, its shape, and its numbers checked, for a new parameter.
struct Found {
  Found(const io::SafetensorsFile& file, const char* call, const std::string& key, bool is_table)
      : reader(file) {
    io::require_key(call, key);
    const io::FileTensor* const tensor = file.find(key);
    if (tensor == nullptr) {
      throw errors::IoError(io::no_tensor(file, key) + io::tied_hint(file, nullptr));
    }
    dim = io::dim_of(file, key, *tensor, is_table);
    reader.add(key, *tensor, dim, is_table, default_device->kernels->number());
    reader.prepare();
  }
  void commit(ParameterStorageBase& storage, std::string name) {
    params::load(storage, reader.numbers(0), nullptr);
    storage.name = std::move(name);
  }
  Dim dim;
  io::SafetensorsReader reader;
};

}  // namespace

SafetensorsLoader::SafetensorsLoader(const std::string& filename)
    : file_(std::make_unique<File>(filename)) {}
SafetensorsLoader::~SafetensorsLoader() = default;

void SafetensorsLoader::populate(ParameterCollection& model, const std::string& key) {
  io::ModelReader reader(*file_);
  reader.want_all(model, io::collection_key(kPopulate, key));
  reader.prepare();
  const params::UpdateScope scope(params::usage_of(model), kPopulate);
  reader.commit();
}

void SafetensorsLoader::populate(ParameterCollection& model,
                                 const std::function<bool(const std::string& name)>& is_wanted,
                                 const std::string& key) {
  const std::string prefix = io::collection_key(kPopulate, key);
  io::ModelReader reader(*file_);
  for (const io::Entry& entry : io::entries_of(model, prefix)) {
    const std::string& name = io::name_of(*file_, entry);
    if (is_wanted(name)) {
      reader.want(name, *entry.storage);
    }
  }
  reader.prepare();
  const params::UpdateScope scope(params::usage_of(model), kPopulate);
  reader.commit();
}

void SafetensorsLoader::populate(Parameter& param, const std::string& key) {
  populate_one(*file_, param.p.get(), key);
}
void SafetensorsLoader::populate(LookupParameter& lookup_param, const std::string& key) {
  populate_one(*file_, lookup_param.p.get(), key);
}

Parameter SafetensorsLoader::load_param(ParameterCollection& model, const std::string& key) {
  Found found(*file_, "SafetensorsLoader::load_param", key, false);
  std::string name = key;
  Parameter p = model.add_parameters(found.dim, ParameterInitConst(0.0F));
  found.commit(*p.p, std::move(name));
  return p;
}

LookupParameter SafetensorsLoader::load_lookup_param(ParameterCollection& model,
                                                     const std::string& key) {
  Found found(*file_, "SafetensorsLoader::load_lookup_param", key, true);
  std::string name = key;
  Dim row = found.dim;
  row.resize(row.nd - 1);
  LookupParameter p =
      model.add_lookup_parameters(found.dim.d[row.nd], row, ParameterInitConst(0.0F));
  found.commit(*p.p, std::move(name));
  return p;
}

void SafetensorsLoader::set_alias(const std::string& name, const std::string& of) {
  if (!contains(of)) {
    throw errors::IoError(io::no_tensor(*file_, of) + ", for which '" + name + "' is to stand");
  }
  file_->set_alias(name, of);
}

std::vector<std::string> SafetensorsLoader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file_->header().tensors) {
    if (io::is_parameter_name(name)) {
      names.push_back(name);
    }
  }
  return names;
}
bool SafetensorsLoader::contains(const std::string& name) const {
  return io::is_parameter_name(name) && file_->find(name) != nullptr;
}
std::vector<std::size_t> SafetensorsLoader::shape(const std::string& name) const {
  if (!contains(name)) {
    throw errors::IoError(io::no_tensor(*file_, name));
  }
  const io::FileTensor* const tensor = file_->find(name);
  return {tensor->shape.begin(), tensor->shape.end()};
}
std::map<std::string, std::string> SafetensorsLoader::metadata() const {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : file_->header().metadata) {
    if (!key.starts_with(io::kOwnKeys)) {
      metadata.emplace(key, text);
    }
  }
  return metadata;
}
void SafetensorsLoader::check_all() const { file_->check_all(); }

}  // namespace dynet
