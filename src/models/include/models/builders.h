#pragma once

// The classes of builders that a file may name, and how each is made of its arguments: the one
// table from Python's classes to C++'s.

#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "dynet/model.h"

#include "models/value.h"

namespace dynet::models {

/// A builder of any class.
///
/// Invariant: `faces` are pointers into `object`, by the builder's class and by its base.
struct Built {
  std::shared_ptr<void> object;
  std::vector<std::pair<std::type_index, void*>> faces;
  std::string name;  ///< of the class in C++: "BiRNNBuilder<GRUBuilder>"
  ParameterCollection collection;
  /// A call after the constructor, such as `forbid`, of the i-th builder that this one consists of;
  /// false if the class has no such setting.
  std::function<bool(unsigned i, const std::string& method, const Arguments& arguments)> set;
};

/// A builder of Python's class `name`, such as "dynet:GRUBuilder", with new parameters in `model`.
/// IoError, beginning with `place`, for a class that is not in the table, and for arguments of
/// other kinds than the class has; the errors of its constructor.
[[nodiscard]] Built make_builder(const std::string& name, const Value& spec,
                                 ParameterCollection& model, const std::string& place);

/// "VanillaLSTMBuilder", for errors; for a type without a row in the table a word for it.
[[nodiscard]] std::string name_of(std::type_index type);

}  // namespace dynet::models
