#pragma once

// Models that were trained in Python: one safetensors file with builders, parameters and
// vocabularies by name, which C++ makes without knowing their sizes.
//
//   dy.save("tagger.safetensors", {"words": words, "table": table, "reader": lstm})    # Python
//
//   LoadedModel model = load_model("tagger.safetensors");                              // C++
//   Dict& words = model.dict("words");
//   LookupParameter table = model.lookup_parameter("table");
//   auto& lstm = model.builder<VanillaLSTMBuilder>("reader");
//
// The file has the class and the arguments of each builder; one table (src/models/builders.cc)
// makes the object of each class. The same parameters give the same numbers as in Python, to the
// bit. docs/train-in-python-use-in-cpp.md is a whole example.

#include <cstdint>
#include <memory>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "dynet/dict.h"
#include "dynet/model.h"

namespace dynet {

/// The objects of a file, by name. Each call below throws an IoError, with the names of the file
/// and of the entry, if there is no such entry, or if the entry is something else:
/// "'t.safetensors': 'reader' is a GRUBuilder; want a VanillaLSTMBuilder".
///
/// Owns the builders and dictionaries; references to them are valid while the model, or the object
/// that the model was moved to, lives. Thread rule: reading names and values, any number of
/// threads; a builder, one thread.
class LoadedModel {
 public:
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;
  LoadedModel(LoadedModel&&) noexcept;
  LoadedModel& operator=(LoadedModel&&) noexcept;
  ~LoadedModel();

  /// The names, sorted. A file of a list, rather than of a dict, has "0", "1", ...
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool contains(const std::string& name) const;
  /// All parameters, those of builders too.
  [[nodiscard]] ParameterCollection& collection();

  /// `Builder` is the builder's class or one of its bases RNNBuilder, TreeNodesBuilder,
  /// BinaryTreeBuilder, SoftmaxBuilder, AttentionBuilder. Python's BiRNNBuilder of some class is a
  /// BiRNNBuilder<class>.
  template <class Builder>
  [[nodiscard]] Builder& builder(const std::string& name) {
    return *static_cast<Builder*>(find_builder(name, typeid(Builder)));
  }
  [[nodiscard]] Parameter parameter(const std::string& name) const;
  [[nodiscard]] LookupParameter lookup_parameter(const std::string& name) const;
  /// A vocabulary, frozen: a dy.text.Vocabulary, a dy.Dict, or a dict of words and their ids.
  [[nodiscard]] Dict& dict(const std::string& name);
  /// Plain data. `T` is bool, std::int64_t, double, std::string, or a std::vector of the last
  /// three. A double takes a whole number, a vector a tuple or list.
  template <class T>
  [[nodiscard]] T value(const std::string& name) const = delete;

  struct Entries;
  explicit LoadedModel(std::unique_ptr<Entries> entries) noexcept;

 private:
  [[nodiscard]] void* find_builder(const std::string& name, std::type_index type) const;
  std::unique_ptr<Entries> entries_;
};

template <>
bool LoadedModel::value<bool>(const std::string& name) const;
template <>
std::int64_t LoadedModel::value<std::int64_t>(const std::string& name) const;
template <>
double LoadedModel::value<double>(const std::string& name) const;
template <>
std::string LoadedModel::value<std::string>(const std::string& name) const;
template <>
std::vector<std::int64_t> LoadedModel::value<std::vector<std::int64_t>>(
    const std::string& name) const;
template <>
std::vector<double> LoadedModel::value<std::vector<double>>(const std::string& name) const;
template <>
std::vector<std::string> LoadedModel::value<std::vector<std::string>>(
    const std::string& name) const;

/// Makes the objects of a safetensors file that Python's dy.save wrote. A file of plain data of
/// other kinds loads too; such entries are errors when asked for. All or nothing, and no random
/// number is drawn for the program. IoError, with the file, the entry, the wanted and the found
/// class, if the file is damaged, was not written by dy.save, or has an object of a class that only
/// Python knows. Memory is bounded by the size of the file, whatever the sizes in it say.
template <int = 0>
[[nodiscard]] LoadedModel load_model(const std::string& file);

}  // namespace dynet
