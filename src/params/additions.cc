#include "dynet/ext/additions.h"

#include <cstddef>
#include <unordered_set>

#include "params/access.h"

namespace dynet::ext {

using detail::ModelAccess;

struct Additions::State {
  explicit State(const ParameterCollection& collection)
      : to(collection),
        count(ModelAccess::all(to).size()),
        names(ModelAccess::state(to).names),
        sub_names(ModelAccess::state(to).sub_names) {}
  ParameterCollection to;
  std::size_t count;  ///< of its parameters and tables
  ModelAccess::Uses names;
  ModelAccess::Uses sub_names;
};

Additions::Additions(const ParameterCollection& to) : state_(std::make_unique<State>(to)) {}
Additions::~Additions() = default;

void Additions::undo() {
  const params::UpdateScope scope(params::usage_of(state_->to), "Additions::undo");
  std::unordered_set<const ParameterStorageBase*> added;
  const auto& all = ModelAccess::all(state_->to);
  for (std::size_t i = state_->count; i < all.size(); ++i) {
    added.insert(all[i].get());
  }
  ModelAccess::delist(state_->to, added);
  ModelAccess::restore_names(state_->to, state_->names, state_->sub_names);
}

}  // namespace dynet::ext
