#pragma once

#include <string>

#include "testing/program.h"
#include "testing/sanitized.h"

namespace dynet::testing {

/// Compares the gradients of all sources with central differences on the double device, at most
/// `most` elements of each (or of every n-th). Empty when they are within tolerance::kDifferences
/// everywhere.
std::string check_gradients(const Program& program, const Result& analytic,
                            int most = trials(12, 1), std::size_t every_nth_source = 1);

}  // namespace dynet::testing
