#pragma once

// Access to a model for trainers and files, which does not keep gradients true from then on.

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dynet/model.h"

#include "params/state.h"

namespace dynet::detail {

struct ModelAccess {
  using Uses = std::unordered_map<std::string, unsigned>;

  static const std::vector<std::shared_ptr<ParameterStorage>>& parameters(
      const ParameterCollection& c) {
    return c.storage_->params;
  }
  static const std::vector<std::shared_ptr<LookupParameterStorage>>& lookups(
      const ParameterCollection& c) {
    return c.storage_->lookup_params;
  }
  static const std::vector<std::shared_ptr<ParameterStorageBase>>& all(
      const ParameterCollection& c) {
    return c.storage_->all_params;
  }
  static const CollectionState& state(const ParameterCollection& c) { return *c.storage_->state_; }
  static CollectionState& state(ParameterCollection& c) { return *c.storage_->state_; }
  static const void* identity(const ParameterCollection& c) { return c.storage_.get(); }
  static ParameterCollection root(const ParameterCollection& c);
  /// A new collection that owns nothing and lists the parameters of all living models of the
  /// process whose values lie in memory that processes share, or of the models whose values do not:
  /// for callers that do not know the program's model. Models must not change meanwhile.
  static ParameterCollection all_models(bool shared);
  /// A new collection below `parent`, of the root's parameters whose names begin with `fullname`.
  static ParameterCollection part(const ParameterCollection& parent, const std::string& fullname);
  /// The sub-collection `fullname`, in which additions are found from now on, as after these uses
  /// of names; it is entered in `all`.
  static ParameterCollection replay(const ParameterCollection& root, const std::string& fullname,
                                    std::vector<ParameterCollection>& all, const Uses& names,
                                    const Uses& sub_names);
  /// The part of a root that lives under this name, or null.
  static std::unique_ptr<ParameterCollection> living_part(const ParameterCollection& root,
                                                          const std::string& fullname);
  /// Files of `collection` have this parameter too, which was made in the collection above.
  static void note_beside(const ParameterCollection& collection, const Parameter& parameter);
  /// From now on `part` is the living collection of its name below `root`.
  static void note_part(const ParameterCollection& root, const ParameterCollection& part);
  /// From now on a trainer keeps state for the entries of a list from `first` on, by their places.
  template <class Storage>
  static void follow(const std::vector<std::shared_ptr<Storage>>& list, std::size_t first) {
    for (std::size_t i = first; i < list.size(); ++i) {
      list[i]->state().has_followers = true;
    }
  }
  /// Makes the public data of a storage true, and keeps the gradient true from then on.
  static void expose(ParameterStorageBase& storage);

  static std::shared_ptr<ParameterStorage> make_parameter(const Dim& dim, Device& device,
                                                          const std::string& what);
  static std::shared_ptr<LookupParameterStorage> make_lookup(unsigned rows, const Dim& dim,
                                                             Device& device,
                                                             const std::string& what);
  /// Adds a finished storage to a collection and all above; all or nothing.
  static void enlist(const std::shared_ptr<ParameterCollectionStorage>& to,
                     const std::shared_ptr<ParameterStorage>& parameter,
                     const std::shared_ptr<LookupParameterStorage>& table);
  /// Takes storages out of all collections of a tree.
  static void delist(const ParameterCollection& root,
                     const std::unordered_set<const ParameterStorageBase*>& storages);
  /// Cuts the living collections of these names off a tree: each becomes an empty root.
  static void cut_off(const ParameterCollection& root, const std::vector<std::string>& names);
  /// The handle of a root's storage that `owner` points to; it does not keep the root alive.
  static std::unique_ptr<ParameterCollection> unowned(ParameterCollectionStorage& root) {
    return std::unique_ptr<ParameterCollection>(new ParameterCollection(
        std::shared_ptr<ParameterCollectionStorage>(std::shared_ptr<void>(), &root)));
  }
};

}  // namespace dynet::detail

namespace dynet::params {

/// "b_2" is the third use of "b", "b" the first. Programs may not ask for names with a '_'.
[[nodiscard]] std::pair<std::string, unsigned> use_of(const std::string& name);

}  // namespace dynet::params
