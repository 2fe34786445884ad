#pragma once

// Operators of Expression as slots that Python calls directly.

#include <string_view>

#include "dynet/ext/op.h"

namespace dynet::python {

/// Makes the operator `dunder` ("__mul__", or "__rmul__" for `number op x`) call the operation,
/// which has no attributes: on two expressions, on an expression and a number, or on one
/// expression, as its arguments and payload say. Returns false if there is no such operator.
bool enter_operator(std::string_view dunder, const ext::Record& record);
/// Puts the slots into the type object of Expression, before types are derived from it.
void install_operators();

}  // namespace dynet::python
