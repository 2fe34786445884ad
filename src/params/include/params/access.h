#pragma once

// What trainers and files do with a model that users do not: without making gradients true for
// good.

#include <memory>
#include <string>
#include <vector>

#include "dynet/model.h"

#include "params/state.h"

namespace dynet::detail {

struct ModelAccess {
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
  /// The handle of a root's storage that `owner` points to; it does not keep the root alive.
  static std::unique_ptr<ParameterCollection> unowned(ParameterCollectionStorage& root) {
    return std::unique_ptr<ParameterCollection>(new ParameterCollection(
        std::shared_ptr<ParameterCollectionStorage>(std::shared_ptr<void>(), &root)));
  }
};

}  // namespace dynet::detail
