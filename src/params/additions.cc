#include "dynet/ext/additions.h"

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "params/access.h"

namespace dynet::ext {

using detail::CollectionState;
using detail::ModelAccess;

struct Additions::State {
  explicit State(const ParameterCollection& collection)
      : to(collection),
        count(ModelAccess::all(to).size()),
        names(ModelAccess::state(to).names),
        sub_names(ModelAccess::state(to).sub_names) {}
  /// Parameters added since the constructor. UsageError if they cannot be removed any more.
  [[nodiscard]] std::unordered_set<const ParameterStorageBase*> storages() const;
  /// The sub-collections whose names were given since then, with all below them.
  [[nodiscard]] std::vector<std::string> parts() const;

  ParameterCollection to;
  std::size_t count;  ///< of its parameters and tables
  ModelAccess::Uses names;
  ModelAccess::Uses sub_names;
};

std::unordered_set<const ParameterStorageBase*> Additions::State::storages() const {
  std::unordered_set<const ParameterStorageBase*> added;
  const auto& all = ModelAccess::all(to);
  for (std::size_t i = count; i < all.size(); ++i) {
    if (all[i]->state().has_followers) {
      throw errors::UsageError("Additions::undo: a trainer has a state for '" + all[i]->name +
                               "'; want undo() before its first update");
    }
    added.insert(all[i].get());
  }
  return added;
}

std::vector<std::string> Additions::State::parts() const {
  const std::string& own = ModelAccess::state(to).name;
  std::vector<std::string> added;
  for (const auto& [name, part] : ModelAccess::state(ModelAccess::root(to)).parts) {
    if (name.size() == own.size() || !name.starts_with(own)) {
      continue;
    }
    const auto [base, use] =
        params::use_of(name.substr(own.size(), name.find('/', own.size()) - own.size()));
    const auto before = sub_names.find(base);
    if (use > (before == sub_names.end() ? 0 : before->second)) {
      added.push_back(name);
    }
  }
  return added;
}

Additions::Additions(const ParameterCollection& to) : state_(std::make_unique<State>(to)) {}
Additions::~Additions() = default;

void Additions::undo() {
  const params::UpdateScope scope(params::usage_of(state_->to), "Additions::undo");
  const ParameterCollection root = ModelAccess::root(state_->to);
  const auto storages = state_->storages();
  const std::vector<std::string> parts = state_->parts();
  ModelAccess::delist(root, storages);
  ModelAccess::cut_off(root, parts);
  CollectionState& state = ModelAccess::state(state_->to);
  state.names = state_->names;
  state.sub_names = state_->sub_names;
}

}  // namespace dynet::ext
