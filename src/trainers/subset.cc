// An update of some parameters.
#include <memory>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/trainers/trainer.h"

#include "params/access.h"

namespace dynet {

namespace {

using detail::ModelAccess;

std::vector<bool> chosen(const std::vector<unsigned>& places, std::size_t count, const char* list) {
  std::vector<bool> is_chosen(count, false);
  for (const unsigned place : places) {
    if (place >= count) {
      throw errors::IndexError("update: " + std::string(list) + "[" + std::to_string(place) +
                               "] of a collection that has " + std::to_string(count));
    }
    is_chosen[place] = true;
  }
  return is_chosen;
}

/// Freezes the parameters that are not chosen, while this object lives.
class Frozen {
 public:
  Frozen() = default;
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  ~Frozen() {
    for (ParameterStorageBase* storage : frozen_) {
      storage->updated = true;
    }
  }
  template <class Storage>
  void add(const std::vector<std::shared_ptr<Storage>>& all, const std::vector<bool>& is_chosen) {
    frozen_.reserve(frozen_.size() + all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->updated && !is_chosen[i]) {
        all[i]->updated = false;
        frozen_.push_back(all[i].get());
      }
    }
  }

 private:
  std::vector<ParameterStorageBase*> frozen_;
};

}  // namespace

void Trainer::update(const std::vector<unsigned>& updated_params,
                     const std::vector<unsigned>& updated_lookup_params) {
  const auto& parameters = ModelAccess::parameters(*model);
  const auto& lookups = ModelAccess::lookups(*model);
  const std::vector<bool> is_parameter_chosen =
      chosen(updated_params, parameters.size(), "parameters");
  const std::vector<bool> is_table_chosen =
      chosen(updated_lookup_params, lookups.size(), "lookup parameters");
  Frozen frozen;
  frozen.add(parameters, is_parameter_chosen);
  frozen.add(lookups, is_table_chosen);
  update();
}

}  // namespace dynet
