#pragma once

// Names in model files, whatever their format, and what errors say.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/model.h"

namespace dynet::io {

/// A collection's key with a '/' at its end, or empty. ValueError for one that is not allowed.
[[nodiscard]] std::string collection_key(const char* call, const std::string& key);
/// ValueError for a parameter's key that is not allowed.
void check_parameter_key(const char* call, const std::string& key);
/// ValueError for one that is empty, too.
void require_key(const char* call, const std::string& key);
/// A parameter of a model, and what it is called in a file of it.
struct Entry {
  ParameterStorageBase* storage;
  std::string name;
  /// For a parameter that a builder made beside its own collection, which is the model: what it is
  /// called in a file of the collection above; empty if the key is that of another builder
  /// there, whose parameters have numbers that nobody knows. Else nothing.
  std::optional<std::string> name_above;
};
/// All that a file has of a model, under `prefix` (a collection_key): parameters in the order in
/// which they were made, then tables. A builder's collection has what lies beside it too, under
/// names below its own.
[[nodiscard]] std::vector<Entry> entries_of(const ParameterCollection& model,
                                            const std::string& prefix);
/// The name of a collection in a file, under `prefix`: what names of its parameters begin with.
[[nodiscard]] std::string collection_in_file(const ParameterCollection& model,
                                             const std::string& prefix);

/// Text of a file as an error shows it, whatever bytes it has: the first `most` of them.
[[nodiscard]] std::string shown(std::string_view text, std::size_t most = 40);
/// Advice if a file and a model mean different LSTMs by `LSTMBuilder`: the shape that was found
/// for the parameter of this name, and the one that it has. Empty if that is not the reason.
[[nodiscard]] std::string other_lstm(const Dim& found, const Dim& wanted, std::string_view name);
/// Such advice for a parameter that the file does not have, by which names it `has`.
[[nodiscard]] std::string other_lstm(std::string_view name,
                                     const std::function<bool(const std::string& name)>& has);

}  // namespace dynet::io
