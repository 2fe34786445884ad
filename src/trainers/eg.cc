// The demands of exponentiated gradients on parameters.

#include "dynet/trainers/eg.h"

#include <string>

#include "params/access.h"
#include "params/host.h"
#include "util/number_text.h"

namespace dynet {
namespace {

/// ValueError unless each of `rows` rows is a distribution up to a factor.
void check_positive(const ParameterStorageBase& storage, const Tensor& values, std::int64_t rows) {
  params::visit(values, [&](const auto* x, std::int64_t n) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t length = n / rows;
      bool has_positive = length == 0;
      for (std::int64_t i = r * length; i < (r + 1) * length; ++i) {
        if (!(x[i] >= 0)) {
          throw errors::ValueError("EGTrainer: element " + std::to_string(i) + " of " +
                                   storage.name + " is " + util::text_of(x[i]) +
                                   "; want numbers of at least 0");
        }
        has_positive = has_positive || x[i] > 0;
      }
      if (!has_positive) {
        throw errors::ValueError("EGTrainer: " + storage.name +
                                 (rows == 1 ? std::string() : ", row " + std::to_string(r)) +
                                 ", is 0 everywhere; want a number above 0");
      }
    }
  });
}

}  // namespace

unsigned EGTrainer::alloc_impl() {
  const auto& all = detail::ModelAccess::parameters(*model);
  for (std::size_t i = aux_allocated; i < all.size(); ++i) {
    if (all[i]->updated) {
      check_positive(*all[i], all[i]->values, 1);
    }
  }
  return RuleTrainer::alloc_impl();
}
unsigned EGTrainer::alloc_lookup_impl() {
  const auto& all = detail::ModelAccess::lookups(*model);
  for (std::size_t i = aux_allocated_lookup; i < all.size(); ++i) {
    if (all[i]->updated) {
      check_positive(*all[i], all[i]->all_values, all[i]->rows());
    }
  }
  return RuleTrainer::alloc_lookup_impl();
}

}  // namespace dynet
