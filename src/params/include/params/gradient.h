#pragma once

// How the executor reads parameters and adds to their gradients. See state.h for the idea.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "params/state.h"
#include "params/use_count.h"

namespace dynet::params {

// A graph holds storages as pointers without type. Both kinds derive from ParameterStorageBase
// alone and virtually from nothing, so a storage and its base have one address.
[[nodiscard]] inline ParameterStorageBase& storage_base(void* storage) {
  return *static_cast<ParameterStorageBase*>(storage);
}
[[nodiscard]] inline const ParameterStorageBase& storage_base(const void* storage) {
  return *static_cast<const ParameterStorageBase*>(storage);
}
[[nodiscard]] inline LookupParameterStorage& lookup_storage(void* storage) {
  return *static_cast<LookupParameterStorage*>(storage);
}
[[nodiscard]] inline const LookupParameterStorage& lookup_storage(const void* storage) {
  return *static_cast<const LookupParameterStorage*>(storage);
}

/// Stored values in the device's numbers.
[[nodiscard]] inline const void* values(const ParameterStorageBase& s) {
  return s.state().values.data();
}
/// Whether stored and effective values are equal.
[[nodiscard]] inline bool is_as_stored(const ParameterStorageBase& s) {
  return s.state().decay_factor() == 1.0 && !s.state().lags();
}
/// Writes the values that a graph computes with: all, or one row (`index` was checked). Changes
/// nothing in the storage.
void read(const ParameterStorageBase& storage, void* to);
void read_row(const LookupParameterStorage& table, unsigned index, void* to);
struct RowRead {
  unsigned row;
  void* to;
};
/// Reads several rows as read_row() does, in one call if the device can. `room` is for as many
/// additions.
void read_rows(const LookupParameterStorage& table, std::span<const RowRead> all,
               std::vector<ext::Addition>& room);
/// Effective value / stored value.
[[nodiscard]] inline double decay_factor(const ParameterStorageBase& s) {
  return s.state().decay_factor();
}

/// Holds the lock of a storage while a whole gradient is added. The holder stores to data() if
/// fresh(), else adds, and then calls written(); without that call nothing has changed.
class GradientLock {
 public:
  explicit GradientLock(ParameterStorageBase& storage);
  [[nodiscard]] void* data() const { return state_.gradient.change(); }
  [[nodiscard]] bool fresh() const { return state_.fill == detail::GradientFill::kEmpty; }
  /// `squared_norm`: of the whole gradient as written, if known.
  void written(std::optional<double> squared_norm = std::nullopt);

 private:
  detail::StorageState& state_;
  std::lock_guard<util::ForkMutex> lock_;
};

/// A gradient of one row.
struct RowGradient {
  unsigned row;
  const void* gradient;
};
/// Holds the lock of a table while gradients of rows are added.
class LookupGradientLock {
 public:
  explicit LookupGradientLock(LookupParameterStorage& storage);
  /// Row `index` += gradient; IndexError when there is no such row.
  void add_row(unsigned index, const void* gradient);
  /// Adds to several rows in one call; gradients of one row stand side by side. IndexError when
  /// there is no such row; nothing has changed then. `room` is for as many additions.
  void add_list(std::span<const RowGradient> all, std::vector<ext::Addition>& room);
  /// Adds to several rows, all of them there and no two equal: += scale * gradient, with
  /// the gradients one after the other. `room` is for as many bytes. Threads may
  /// share them.
  void add_rows(std::span<const unsigned> rows, const std::byte* gradients, double scale,
                unsigned char* room);

 private:
  void check_row(unsigned index) const;
  [[nodiscard]] bool begin_row(unsigned index);

  detail::StorageState& state_;
  std::lock_guard<util::ForkMutex> lock_;
};

}  // namespace dynet::params
