#pragma once

// What files of any format need of a model: names, shapes and numbers as a program means them,
// though storages keep them otherwise. A storage's decay may be pending, its rows may have missed
// updates, its gradient may be listed by rows, and its numbers may lie on a device.
//
// To write: SaveScope, then for each storage a Stored, whose numbers the format writes. To read:
// parse and check everything, then an UpdateScope (use_count.h) and `load` for each storage.

#include <mutex>
#include <string>

#include "dynet/ext/operand.h"
#include "dynet/model.h"

#include "params/access.h"
#include "params/gradient.h"
#include "params/use_count.h"

namespace dynet::params {

/// Stores what the rows of all tables have missed. GraphError if a graph of the model runs.
void catch_up(const ParameterCollection& model);

/// While it lives nothing updates the model, and rows have missed nothing. GraphError while an
/// update runs.
class SaveScope {
 public:
  explicit SaveScope(const ParameterCollection& model) : SaveScope(model, usage_of(model)) {}
  explicit SaveScope(const ParameterStorageBase& storage);

 private:
  SaveScope(const ParameterCollection& model, Usage& usage) : scope_((catch_up(model), usage)) {}
  RunScope scope_;
};

/// One storage while it is written; holds its lock. Made within a SaveScope.
class Stored {
 public:
  /// Spreads zeros in the gradient if only rows of it are true.
  explicit Stored(ParameterStorageBase& storage);
  [[nodiscard]] bool is_table() const { return state_.is_table(); }
  /// The numbers as they lie; the values are these times scale(). A table has its rows last.
  [[nodiscard]] const Tensor& values() const;
  [[nodiscard]] double scale() const { return state_.decay_factor(); }
  /// Null: the gradient is empty.
  [[nodiscard]] const Tensor* gradient() const;

 private:
  detail::StorageState& state_;
  std::lock_guard<util::ForkMutex> lock_;
};

/// What files and trainers' states call a table or a parameter.
[[nodiscard]] inline const char* type_word(bool is_table) {
  return is_table ? "#LookupParameter#" : "#Parameter#";
}
/// The whole shape: of a table with its rows last.
[[nodiscard]] const Dim& shape_of(const ParameterStorageBase& storage);
[[nodiscard]] inline bool is_table(const ParameterStorageBase& storage) {
  return storage.state().is_table();
}
/// The type of its numbers, which load() wants.
[[nodiscard]] inline ext::Number number_of(const ParameterStorageBase& storage) {
  return storage.state().kernels.number();
}

/// Gives a storage its values, as a program means them, and its gradient (null: none): as many
/// numbers as it has, in its number type, in the host's memory. Throws nothing within an
/// UpdateScope.
void load(ParameterStorageBase& storage, const void* values, const void* gradient);
/// Gives a gradient to a storage that has none, as if it had been computed: the rows of a table
/// that have something are listed.
void load_gradient(ParameterStorageBase& storage, const void* gradient);

}  // namespace dynet::params
