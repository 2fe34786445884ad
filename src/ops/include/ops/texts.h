#pragma once

#include <cstddef>
#include <string>

#include "dynet/ext/info.h"

namespace dynet::ops {

/// Name of argument `i` of `count` in messages. The list `xs` of a variadic operation becomes x1,
/// x2, ...; a list with a pattern, `exprs, b, w, x, ...`, becomes b, w1, x1, w2, x2, ...
[[nodiscard]] std::string argument_name(const ext::Info& info, std::size_t i, std::size_t count);

}  // namespace dynet::ops
