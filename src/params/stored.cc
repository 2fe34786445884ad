#include "params/stored.h"

#include <algorithm>
#include <cstddef>

#include "dynet/ext/memory.h"

namespace dynet::params {

using detail::GradientFill;
using detail::StorageState;

void catch_up(const ParameterCollection& model) {
  for (const auto& table : detail::ModelAccess::lookups(model)) {
    table->state().catch_up();
  }
}

SaveScope::SaveScope(const ParameterStorageBase& storage)
    : scope_((storage.state().catch_up(), usage_of(storage))) {}

Stored::Stored(ParameterStorageBase& storage) : state_(storage.state()), lock_(state_.mutex) {
  if (storage.nonzero_grad) {
    state_.fill_gradient();
  }
}

const Tensor& Stored::values() const {
  return is_table() ? state_.table->all_values
                    : static_cast<const ParameterStorage*>(state_.storage)->values;
}

const Tensor* Stored::gradient() const {
  if (!state_.storage->nonzero_grad) {
    return nullptr;
  }
  return is_table() ? &state_.table->all_grads
                    : &static_cast<const ParameterStorage*>(state_.storage)->g;
}

const Dim& shape_of(const ParameterStorageBase& storage) {
  const StorageState& s = storage.state();
  return s.is_table() ? s.table->all_dim : static_cast<const ParameterStorage&>(storage).dim;
}

namespace {
/// Into an empty gradient. The rows of a table that have something are listed, as the next update
/// looks at no others.
void store_gradient(StorageState& s, const void* gradient) {
  if (!s.is_table()) {
    s.device.memory->copy_in(gradient, s.gradient.change(),
                             static_cast<std::size_t>(s.elements * s.number_bytes));
    s.fill = GradientFill::kAll;
    s.is_pristine = false;
    return;
  }
  const auto bytes = static_cast<std::size_t>(s.row_bytes);
  const auto* row = static_cast<const std::byte*>(gradient);
  for (unsigned r = 0; r < s.stamps.size(); ++r, row += bytes) {
    if (std::any_of(row, row + bytes, [](std::byte b) { return b != std::byte{0}; })) {
      s.touch(r);
      s.device.memory->copy_in(row, s.gradient_row(r), bytes);
      s.fill = s.fill == GradientFill::kEmpty ? GradientFill::kRows : s.fill;
    }
  }
}
}  // namespace

void load(ParameterStorageBase& storage, const void* values, const void* gradient) {
  StorageState& s = storage.state();
  const auto bytes = static_cast<std::size_t>(s.elements * s.number_bytes);
  const std::lock_guard lock(s.mutex);
  s.catch_up();  // else missed updates would be added to these values
  s.before_change("values from a file");
  s.factor = 1.0;
  s.device.memory->copy_in(values, s.values.data(), bytes);
  const double pending = s.decay_factor();  // of the collection: it will be multiplied in again
  if (pending != 1.0) {
    s.kernels.add_scaled(1.0 / pending, s.values.data(), s.values.data(), s.elements, true);
  }
  s.forget_gradient();
  if (gradient != nullptr) {
    store_gradient(s, gradient);
  }
}

void load_gradient(ParameterStorageBase& storage, const void* gradient) {
  StorageState& s = storage.state();
  const std::lock_guard lock(s.mutex);
  storage.nonzero_grad = true;
  store_gradient(s, gradient);
}

}  // namespace dynet::params
