#pragma once

// Operations of the list by name, with attributes from text: for tests that read files.

#include <map>
#include <string>

#include "dynet/ext/testing.h"

namespace dynet::testing {

struct NamedOperation {
  const ext::Record* record = nullptr;  ///< null: there is no operation of that name
  OpBytes op;
};

/// The operation, with default attributes except the given ones: "2.5", lists "0,2", shapes
/// "{4,3}x2", truth values and enumerators as whole numbers. std::invalid_argument for an attribute
/// that the operation does not have.
NamedOperation named_operation(const std::string& name,
                               const std::map<std::string, std::string>& attributes);

/// "{4,3}x2" as a shape.
Dim shape_of_text(const std::string& text);

}  // namespace dynet::testing
