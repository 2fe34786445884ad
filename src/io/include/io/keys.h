#pragma once

// Names in model files of all formats, and texts for errors.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/model.h"

namespace dynet::io {

/// A collection's key with a '/' at its end, or empty. ValueError for a key that is not allowed.
[[nodiscard]] std::string collection_key(const char* call, const std::string& key);
/// ValueError for a parameter's key that is not allowed.
void check_parameter_key(const char* call, const std::string& key);
/// ValueError for an empty key, too.
void require_key(const char* call, const std::string& key);
/// A parameter of a model, and its name in a file of the model.
struct Entry {
  ParameterStorageBase* storage;
  std::string name;
  /// For a parameter that a builder made beside its own collection, if that collection is saved:
  /// the name in a file of the collection above; empty if the key is another builder's, whose
  /// parameters have unknown numbers. Else absent.
  std::optional<std::string> name_above;
};
/// The contents of a file of a model, under `prefix` (a collection_key): parameters in the order of
/// creation, then tables. A builder's collection includes the builder's parameters beside it, under
/// names below its own.
[[nodiscard]] std::vector<Entry> entries_of(const ParameterCollection& model,
                                            const std::string& prefix);
/// The name of a collection in a file, under `prefix`: the beginning of its parameters' names.
[[nodiscard]] std::string collection_in_file(const ParameterCollection& model,
                                             const std::string& prefix);

/// Text of a file as an error shows it: the first `most` bytes, unprintable ones as '?'.
[[nodiscard]] std::string shown(std::string_view text, std::size_t most = 40);
/// Advice if a file and a model mean different LSTMs by `LSTMBuilder`, from the shape in the file
/// and the shape of the parameter `name`. Empty if that is not the reason.
[[nodiscard]] std::string other_lstm(const Dim& found, const Dim& wanted, std::string_view name);
/// Such advice for a parameter that the file lacks, from the names that it `has`.
[[nodiscard]] std::string other_lstm(std::string_view name,
                                     const std::function<bool(const std::string& name)>& has);

}  // namespace dynet::io
