#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

#include "dynet/except.h"
#include "dynet/replay.h"

#include "params/access.h"
#include "params/random_streams.h"
#include "util/fork.h"

namespace dynet {
namespace {

using detail::ModelAccess;

void check_name(const char* call, const std::string& name) {
  if (name.find_first_of("/_") != std::string::npos) {
    throw errors::UsageError(std::string(call) + ": the name '" + name +
                             "' has a '/' or '_' in it");
  }
  if (name.find_first_of(" \t\r\n\v\f#") != std::string::npos) {
    throw errors::ValueError(std::string(call) + ": the name '" + name +
                             "' has white space or '#' in it");
  }
}
/// `name` as listed in a collection, after `uses` uses.
std::string numbered(const std::string& name, unsigned uses) {
  return name.empty() || uses > 0 ? name + "_" + std::to_string(uses) : name;
}
unsigned uses_of(const std::unordered_map<std::string, unsigned>& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? 0 : found->second;
}
/// Room for one more, growing as push_back does.
template <class T>
void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) {
    list.reserve(std::max<std::size_t>(8, 2 * list.size()));
  }
}
Device& checked(Device* device, const std::string& what) {
  if (device == nullptr) {
    throw errors::ValueError(what + ": the device is null; default_device is the default");
  }
  return *device;
}
void check_shape(const Dim& d, const std::string& what) {
  if (d.bd != 1) {
    throw errors::ShapeError(what + ": " + to_string(d) + " has a batch; parameters have none");
  }
}

/// In a collection that replays: the existing parameter of this name.
template <class Storage>
std::shared_ptr<Storage> find_again(
    const std::unordered_map<std::string, std::shared_ptr<Storage>>& all, const std::string& name,
    const Dim& want, Dim Storage::* shape) {
  const auto found = all.find(name);
  if (found == all.end()) {
    throw errors::UsageError("Replay: there is no '" + name + "'");
  }
  const Dim& has = (*found->second).*shape;
  if (has != want) {
    throw errors::UsageError("Replay: '" + name + "' is " + to_string(has) + "; want " +
                             to_string(want));
  }
  return found->second;
}

using Uses = std::unordered_map<std::string, unsigned>;
/// The number of uses of each name, for the names of the next additions.
Uses& names_of(detail::CollectionState& state) {
  detail::Replayed* const replayed = state.replayed.get();
  return replayed != nullptr ? replayed->names : state.names;
}
Uses& sub_names_of(detail::CollectionState& state) {
  detail::Replayed* const replayed = state.replayed.get();
  return replayed != nullptr ? replayed->sub_names : state.sub_names;
}
/// The counter of the uses of `name`, which is about to be given once more to a parameter or
/// sub-collection (`kind`). No later step of the count can fail.
unsigned& count_of(const detail::CollectionState& state, Uses& uses, const std::string& name,
                   std::map<std::string, unsigned> NameUses::* kind) {
  unsigned& count = uses[name];
  for (NameUses* log : state.logs) {
    (log->*kind).emplace(name, count);  // at the first use since the log began
  }
  return count;
}

/// All collections that live; of the program until it ends, as models may live as long.
struct Living {
  util::ForkMutex mutex;
  std::unordered_set<ParameterCollectionStorage*> all;
};
Living& living() {
  static auto* const collections = new Living;
  return *collections;
}

}  // namespace

ParameterCollectionStorage::ParameterCollectionStorage(float weight_decay_lambda)
    : state_(std::make_unique<detail::CollectionState>()),
      weight_decay((state_->decay = std::make_shared<detail::Decay>())->own) {
  weight_decay.set_lambda(weight_decay_lambda);
  state_->name = "/";
  state_->usage = std::make_shared<params::Usage>();
  const std::lock_guard lock(living().mutex);
  living().all.insert(this);
}
ParameterCollectionStorage::~ParameterCollectionStorage() {
  {
    const std::lock_guard lock(living().mutex);
    living().all.erase(this);
  }
  if (state_->parent != nullptr) {
    return;
  }
  for (const auto& storage : all_params) {
    storage->owner = nullptr;
  }
}
void ParameterCollectionStorage::project_weights(float /*radius*/) {}
float ParameterCollectionStorage::gradient_l2_norm() const {
  params::SquaredNorm norm;
  for (const auto& storage : all_params) {
    if (!storage->updated) {
      continue;
    }
    const std::lock_guard lock(storage->state().mutex);
    storage->state().add_gradient_to(norm);
  }
  return static_cast<float>(std::sqrt(norm.value()));
}

ParameterCollection::ParameterCollection() : ParameterCollection(default_weight_decay_lambda) {}
ParameterCollection::ParameterCollection(float weight_decay_lambda)
    : storage_(std::make_shared<ParameterCollectionStorage>(weight_decay_lambda)) {
  storage_->state_->self = ModelAccess::unowned(*storage_);
}
ParameterCollection::~ParameterCollection() = default;
Model::Model() = default;

float ParameterCollection::gradient_l2_norm() const { return storage_->gradient_l2_norm(); }
void ParameterCollection::reset_gradient() {
  for (const auto& storage : storage_->all_params) {
    const std::lock_guard lock(storage->state().mutex);
    storage->state().forget_gradient();
  }
}

Parameter ParameterCollection::add_parameters(const Dim& d, float scale, const std::string& name,
                                              Device* device) {
  if (scale == 0.0F) {
    return add_parameters(d, ParameterInitGlorot(), name, device);
  }
  return add_parameters(d, ParameterInitUniform(scale), name, device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, Device* device) {
  return add_parameters(d, ParameterInitGlorot(), "", device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, const std::string& name,
                                              Device* device) {
  return add_parameters(d, ParameterInitGlorot(), name, device);
}
Parameter ParameterCollection::add_parameters(const Dim& d, const ParameterInit& init,
                                              const std::string& name, Device* device) {
  return detail::with_typed_allocation([&] {
    check_name("add_parameters", name);
    detail::CollectionState& state = *storage_->state_;
    Uses& names = names_of(state);
    const std::string full = state.name + numbered(name, uses_of(names, name));
    const std::string what = "add_parameters " + full + " " + to_string(d);
    check_shape(d, what);
    unsigned& count = count_of(state, names, name, &NameUses::parameters);
    if (state.replayed != nullptr) {
      Parameter again(find_again(state.replayed->parameters, full, d, &ParameterStorage::dim));
      ++count;
      return again;
    }
    auto storage = ModelAccess::make_parameter(d, checked(device, what), what);
    storage->name = full;
    params::draw_repeatably([&] {
      init.initialize_params(storage->values);
      ModelAccess::enlist(storage_, storage, nullptr);
    });
    ++count;
    return Parameter(std::move(storage));
  });
}

LookupParameter ParameterCollection::add_lookup_parameters(unsigned n, const Dim& d,
                                                           const std::string& name,
                                                           Device* device) {
  return add_lookup_parameters(n, d, ParameterInitGlorot(true), name, device);
}
LookupParameter ParameterCollection::add_lookup_parameters(unsigned n, const Dim& d,
                                                           const ParameterInit& init,
                                                           const std::string& name,
                                                           Device* device) {
  return detail::with_typed_allocation([&] {
    check_name("add_lookup_parameters", name);
    detail::CollectionState& state = *storage_->state_;
    Uses& names = names_of(state);
    const std::string full = state.name + numbered(name, uses_of(names, name));
    const std::string what =
        "add_lookup_parameters " + full + ", " + std::to_string(n) + " rows of " + to_string(d);
    check_shape(d, what);
    unsigned& count = count_of(state, names, name, &NameUses::parameters);
    if (state.replayed != nullptr) {
      Dim all = d;
      all.add_dim(n);
      LookupParameter again(
          find_again(state.replayed->tables, full, all, &LookupParameterStorage::all_dim));
      ++count;
      return again;
    }
    auto storage = ModelAccess::make_lookup(n, d, checked(device, what), what);
    storage->name = full;
    params::draw_repeatably([&] {
      init.initialize_params(storage->all_values);
      ModelAccess::enlist(storage_, nullptr, storage);
    });
    ++count;
    return LookupParameter(std::move(storage));
  });
}

ParameterCollection ParameterCollection::add_subcollection(const std::string& name,
                                                           float weight_decay_lambda) {
  return detail::with_typed_allocation([&] {
    check_name("add_subcollection", name);
    detail::CollectionState& state = *storage_->state_;
    const ParameterCollection root = ModelAccess::root(*this);
    Uses& names = sub_names_of(state);
    const std::string full = state.name + numbered(name, uses_of(names, name)) + "/";
    unsigned& count = count_of(state, names, name, &NameUses::subcollections);
    if (state.replayed != nullptr) {
      const ParameterCollection again =
          ModelAccess::replay(root, full, *state.replayed->all, {}, {});
      ++count;
      return again;
    }
    auto sub = std::make_shared<ParameterCollectionStorage>(std::max(weight_decay_lambda, 0.0F));
    sub->state_->name = full;
    sub->state_->usage = state.usage;
    sub->state_->decay->parent = state.decay;
    if (weight_decay_lambda < 0.0F) {
      sub->weight_decay.inherit(state.decay->own);
    }
    const ParameterCollection made(sub);
    ModelAccess::note_part(root, made);
    ++count;
    sub->state_->parent = storage_;  // last: until then `sub` counts as a root of its own
    return made;
  });
}

std::size_t ParameterCollection::size() const { return storage_->params.size(); }
std::string ParameterCollection::get_fullname() const { return storage_->state_->name; }

namespace {
template <class Storage>
std::shared_ptr<Storage> find(const std::vector<std::shared_ptr<Storage>>& list,
                              const std::string& name, const char* call) {
  for (const auto& storage : list) {
    if (storage->name == name) {
      ModelAccess::expose(*storage);
      return storage;
    }
  }
  throw errors::UsageError(std::string(call) + ": there is no '" + name + "' in the collection");
}
template <class Storage>
void expose_all(const std::vector<std::shared_ptr<Storage>>& list) {
  for (const auto& storage : list) {
    ModelAccess::expose(*storage);
  }
}
}  // namespace

std::shared_ptr<ParameterStorage> ParameterCollection::get_parameter_storage(
    const std::string& pname) const {
  return find(storage_->params, pname, "get_parameter_storage");
}
std::shared_ptr<LookupParameterStorage> ParameterCollection::get_lookup_parameter_storage(
    const std::string& lookup_pname) const {
  return find(storage_->lookup_params, lookup_pname, "get_lookup_parameter_storage");
}
std::vector<std::shared_ptr<ParameterStorage>> ParameterCollection::get_parameter_storages() const {
  return parameters_list();
}
std::vector<std::shared_ptr<LookupParameterStorage>>
ParameterCollection::get_lookup_parameter_storages() const {
  return lookup_parameters_list();
}
std::vector<std::shared_ptr<ParameterStorageBase>>
ParameterCollection::get_parameter_storages_base() const {
  expose_all(storage_->all_params);
  return storage_->all_params;
}
const std::vector<std::shared_ptr<ParameterStorage>>& ParameterCollection::parameters_list() const {
  storage_->state_->exposed = true;
  expose_all(storage_->params);
  return storage_->params;
}
const std::vector<std::shared_ptr<LookupParameterStorage>>&
ParameterCollection::lookup_parameters_list() const {
  storage_->state_->exposed = true;
  expose_all(storage_->lookup_params);
  return storage_->lookup_params;
}

std::size_t ParameterCollection::parameter_count() const {
  std::size_t n = 0;
  for (const auto& storage : storage_->all_params) {
    n += storage->size();
  }
  return n;
}
std::size_t ParameterCollection::updated_parameter_count() const {
  std::size_t n = 0;
  for (const auto& storage : storage_->all_params) {
    n += storage->updated ? storage->size() : 0;
  }
  return n;
}
void ParameterCollection::project_weights(float radius) { storage_->project_weights(radius); }
void ParameterCollection::set_weight_decay_lambda(float lambda) {
  storage_->weight_decay.set_lambda(lambda);
}
L2WeightDecay& ParameterCollection::get_weight_decay() { return storage_->weight_decay; }
float ParameterCollection::get_weight_decay_lambda() const {
  return storage_->weight_decay.get_lambda();
}
ParameterCollectionStorage& ParameterCollection::get_storage() {
  storage_->state_->exposed = true;
  expose_all(storage_->all_params);
  return *storage_;
}
const ParameterCollectionStorage& ParameterCollection::get_storage() const {
  storage_->state_->exposed = true;
  expose_all(storage_->all_params);
  return *storage_;
}

void ParameterCollection::set_updated_param(const Parameter* p, bool status) {
  Parameter(*p).set_updated(status);
}
void ParameterCollection::set_updated_lookup_param(const LookupParameter* p, bool status) {
  LookupParameter(*p).set_updated(status);
}
bool ParameterCollection::is_updated_param(const Parameter* p) const { return p->is_updated(); }
bool ParameterCollection::is_updated_lookup_param(const LookupParameter* p) const {
  return p->is_updated();
}

namespace detail {

ParameterCollection ModelAccess::all_models(bool shared) {
  const ParameterCollection nobody(0.0F);
  auto made = std::make_shared<ParameterCollectionStorage>(0.0F);
  made->state_->parent = nobody.storage_;  // a root would own the listed parameters
  const std::lock_guard lock(living().mutex);
  for (const ParameterCollectionStorage* c : living().all) {
    if (c->state_->parent == nullptr) {
      const auto append = [shared](const auto& from, auto& to) {
        std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                     [shared](const auto& p) { return p->state().values.is_shared() == shared; });
      };
      append(c->all_params, made->all_params);
      append(c->params, made->params);
      append(c->lookup_params, made->lookup_params);
    }
  }
  return ParameterCollection(made);
}

void ModelAccess::enlist(const std::shared_ptr<ParameterCollectionStorage>& to,
                         const std::shared_ptr<ParameterStorage>& parameter,
                         const std::shared_ptr<LookupParameterStorage>& table) {
  std::shared_ptr<ParameterStorageBase> base = parameter;
  if (table != nullptr) {
    base = table;
  }
  bool is_exposed = false;
  for (auto* c = to.get(); c != nullptr; c = c->state_->parent.get()) {
    make_room(c->all_params);
    make_room(c->params);
    make_room(c->lookup_params);
    is_exposed = is_exposed || c->state_->exposed;
    if (c->state_->parent == nullptr) {
      base->owner = c->state_->self.get();
    }
  }
  base->state().decay = to->state_->decay;
  base->state().usage = to->state_->usage;
  if (is_exposed) {
    expose(*base);
  }
  for (auto* c = to.get(); c != nullptr; c = c->state_->parent.get()) {
    c->all_params.push_back(base);
    if (parameter != nullptr) {
      c->params.push_back(parameter);
    }
    if (table != nullptr) {
      c->lookup_params.push_back(table);
    }
  }
}

void ModelAccess::note_beside(const ParameterCollection& collection, const Parameter& parameter) {
  auto& beside = collection.storage_->state_->beside;
  if (std::find(beside.begin(), beside.end(), parameter.p) == beside.end()) {  // else: a Replay
    beside.push_back(parameter.p);
  }
}

void ModelAccess::delist(const ParameterCollection& root,
                         const std::unordered_set<const ParameterStorageBase*>& storages) {
  const auto is_listed = [&storages](const auto& storage) {
    return storages.count(storage.get()) > 0;
  };
  const auto clean = [&is_listed](ParameterCollectionStorage& c) {
    std::erase_if(c.params, is_listed);
    std::erase_if(c.lookup_params, is_listed);
    std::erase_if(c.all_params, is_listed);
    std::erase_if(c.state_->beside, is_listed);
  };
  for (const auto& storage : root.storage_->all_params) {
    if (is_listed(storage)) {
      storage->owner = nullptr;
    }
  }
  for (const auto& [name, weak] : state(root).parts) {
    if (const auto part = weak.lock()) {
      clean(*part);
    }
  }
  clean(*root.storage_);
}

void ModelAccess::cut_off(const ParameterCollection& root, const std::vector<std::string>& names) {
  ParameterCollection whole = root;
  for (const std::string& name : names) {
    const auto found = state(whole).parts.find(name);
    if (found == state(whole).parts.end()) {
      continue;
    }
    if (const auto part = found->second.lock()) {
      part->state_->self = unowned(*part);
      part->state_->parent = nullptr;
      part->params.clear();
      part->lookup_params.clear();
      part->all_params.clear();
      part->state_->beside.clear();
    }
    state(whole).parts.erase(found);
  }
}

}  // namespace detail

namespace params {
Usage& usage_of(const ParameterCollection& collection) {
  return *detail::ModelAccess::state(collection).usage;
}
}  // namespace params
}  // namespace dynet
