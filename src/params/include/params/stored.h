#pragma once

// A model as files of any format write it: names, shapes and effective numbers. A storage keeps its
// numbers otherwise: decay may be pending, rows may have missed updates, the gradient may be listed
// by rows, and numbers may lie on a device. Example: a table with stored 2 and a pending factor of
// 0.5 is written as 1.
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

/// Stores the missed updates of the rows of all tables. GraphError if a graph of the model runs.
void catch_up(const ParameterCollection& model);

/// While the scope lives no update runs, and rows have no missed updates. GraphError while an
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
  /// The stored numbers; the values are the stored numbers times scale(). A table has its rows
  /// last.
  [[nodiscard]] const Tensor& values() const;
  [[nodiscard]] double scale() const { return state_.decay_factor(); }
  /// Null: the gradient is empty.
  [[nodiscard]] const Tensor* gradient() const;

 private:
  detail::StorageState& state_;
  std::lock_guard<util::ForkMutex> lock_;
};

/// The word for a table or a parameter in files and trainers' states.
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

/// Gives a storage its effective values and its gradient (null: none): arrays of the storage's size
/// and number type, in the host's memory. Throws nothing within an UpdateScope.
void load(ParameterStorageBase& storage, const void* values, const void* gradient);
/// Gives a gradient to a storage that has none, as if it had been computed: the rows of a table
/// that are not zero are listed.
void load_gradient(ParameterStorageBase& storage, const void* gradient);

}  // namespace dynet::params
