#pragma once

#include <string>

#include "support/program.h"

namespace dynet::testing {

/// Compares the gradients of all sources with central differences on the double device, at most
/// `most` elements of each (or of every n-th). Empty when |a - n| <= 1e-6 max(1, |n|) everywhere.
std::string check_gradients(const Program& program, const Result& analytic, int most = 12,
                            std::size_t every_nth_source = 1);

}  // namespace dynet::testing
