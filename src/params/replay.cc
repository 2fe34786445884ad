#include "dynet/replay.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "params/access.h"

namespace dynet {

using detail::CollectionState;
using detail::ModelAccess;

std::pair<std::string, unsigned> params::use_of(const std::string& name) {
  const std::size_t bar = name.rfind('_');
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (bar == std::string::npos || name.size() > bar + 9 || bar + 1 == name.size() ||
      !std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1, name.end(), is_digit)) {
    return {name, 1};
  }
  return {name.substr(0, bar), static_cast<unsigned>(std::stoul(name.substr(bar + 1))) + 1};
}

namespace {

void count(std::unordered_map<std::string, unsigned>& uses, const std::string& name) {
  const auto [base, n] = params::use_of(name);
  uses[base] = std::max(uses[base], n);
}

/// Raises the counts of names to the uses shown by its parameters' names.
void count_names(ParameterCollection& collection) {
  CollectionState& state = ModelAccess::state(collection);
  for (const auto& storage : ModelAccess::all(collection)) {
    if (!storage->name.starts_with(state.name)) {
      continue;
    }
    const std::string rest = storage->name.substr(state.name.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) {
      count(state.names, rest);
    } else {
      count(state.sub_names, rest.substr(0, slash));
    }
  }
}

}  // namespace

ParameterCollection root_of(const ParameterCollection& collection) {
  return ModelAccess::root(collection);
}

const void* identity_of(const ParameterCollection& collection) {
  return ModelAccess::identity(collection);
}

const std::vector<std::shared_ptr<ParameterStorageBase>>& all_of(
    const ParameterCollection& collection) {
  return ModelAccess::all(collection);
}

void recount_names(ParameterCollection& root) {
  ModelAccess::state(root).names.clear();
  ModelAccess::state(root).sub_names.clear();
  count_names(root);
}

ParameterCollection find_subcollection(const ParameterCollection& root,
                                       const std::string& fullname) {
  if (fullname == "/") {
    return root_of(root);
  }
  if (fullname.size() < 3 || fullname.front() != '/' || fullname.back() != '/' ||
      fullname.find("//") != std::string::npos) {
    throw errors::UsageError("find_subcollection: '" + fullname + "'; want a name such as '/a/b/'");
  }
  if (const auto living = ModelAccess::living_part(root_of(root), fullname)) {
    count_names(*living);
    return *living;
  }
  const std::size_t begin = fullname.rfind('/', fullname.size() - 2) + 1;
  ParameterCollection parent = find_subcollection(root, fullname.substr(0, begin));
  ParameterCollection found = ModelAccess::part(parent, fullname);
  count_names(found);
  ModelAccess::note_part(root_of(root), found);
  count(ModelAccess::state(parent).sub_names, fullname.substr(begin, fullname.size() - begin - 1));
  return found;
}

Replay::Replay(const ParameterCollection& root, const std::string& fullname,
               const std::map<std::string, unsigned>& uses,
               const std::map<std::string, unsigned>& sub_uses)
    : collection_(ModelAccess::replay(root, fullname, all_, {uses.begin(), uses.end()},
                                      {sub_uses.begin(), sub_uses.end()})) {}
Replay::~Replay() {
  for (ParameterCollection& collection : all_) {
    ModelAccess::state(collection).replayed = nullptr;
  }
}

NameLog::NameLog(const ParameterCollection& collection) : collection_(collection) {
  ModelAccess::state(collection_).logs.push_back(&before_);
}
NameLog::~NameLog() {
  std::vector<NameUses*>& logs = ModelAccess::state(collection_).logs;
  logs.erase(std::remove(logs.begin(), logs.end(), &before_), logs.end());
}

namespace detail {

ParameterCollection ModelAccess::root(const ParameterCollection& c) {
  std::shared_ptr<ParameterCollectionStorage> at = c.storage_;
  while (at->state_->parent != nullptr) {
    at = at->state_->parent;
  }
  return ParameterCollection(std::move(at));
}

std::unique_ptr<ParameterCollection> ModelAccess::living_part(const ParameterCollection& root,
                                                              const std::string& fullname) {
  const auto& parts = state(root).parts;
  const auto found = parts.find(fullname);
  auto storage = found == parts.end() ? nullptr : found->second.lock();
  return storage == nullptr
             ? nullptr
             : std::unique_ptr<ParameterCollection>(new ParameterCollection(std::move(storage)));
}

void ModelAccess::note_part(const ParameterCollection& root, const ParameterCollection& part) {
  CollectionState& whole = *root.storage_->state_;
  if (whole.parts.size() >= whole.parts_swept) {
    std::erase_if(whole.parts, [](const auto& entry) { return entry.second.expired(); });
    whole.parts_swept = std::max<std::size_t>(16, 2 * whole.parts.size());
  }
  whole.parts[state(part).name] = part.storage_;
}

ParameterCollection ModelAccess::replay(const ParameterCollection& root,
                                        const std::string& fullname,
                                        std::vector<ParameterCollection>& all, const Uses& names,
                                        const Uses& sub_names) {
  ParameterCollection found = find_subcollection(root, fullname);
  if (state(found).replayed != nullptr) {
    throw errors::UsageError("Replay: another one is on in '" + fullname + "'");
  }
  auto replayed = std::make_unique<Replayed>(Replayed{names, sub_names, {}, {}, &all});
  for (const auto& storage : parameters(found)) {
    replayed->parameters.emplace(storage->name, storage);
  }
  for (const auto& storage : lookups(found)) {
    replayed->tables.emplace(storage->name, storage);
  }
  all.push_back(found);
  state(found).replayed = std::move(replayed);  // last: its maker ends the replay, if it was made
  return found;
}

ParameterCollection ModelAccess::part(const ParameterCollection& parent,
                                      const std::string& fullname) {
  const std::shared_ptr<ParameterCollectionStorage> whole = root(parent).storage_;
  const CollectionState& above = *parent.storage_->state_;
  auto made = std::make_shared<ParameterCollectionStorage>(0.0F);
  CollectionState& state = *made->state_;
  state.name = fullname;
  state.usage = above.usage;
  state.decay->parent = above.decay;
  made->weight_decay.inherit(above.decay->own);
  for (const auto& storage : whole->all_params) {
    if (storage->name.starts_with(fullname)) {
      made->all_params.push_back(storage);
    }
  }
  for (const auto& storage : whole->params) {
    if (storage->name.starts_with(fullname)) {
      made->params.push_back(storage);
    }
  }
  for (const auto& storage : whole->lookup_params) {
    if (storage->name.starts_with(fullname)) {
      made->lookup_params.push_back(storage);
    }
  }
  state.parent = parent.storage_;  // last: until then `made` counts as a root of its own
  return ParameterCollection(std::move(made));
}

}  // namespace detail
}  // namespace dynet
