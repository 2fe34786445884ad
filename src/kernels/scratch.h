#pragma once

#include "util/scratch.h"

namespace dynet::kernels {

using util::Scratch;

/// For the packed panels of a product's operands.
[[nodiscard]] Scratch& left_panel();
[[nodiscard]] Scratch& right_panel();

}  // namespace dynet::kernels
