#pragma once

#include <string>

#include "dynet/init.h"

namespace dynet::params {

/// ValueError naming the field where `p` holds something that is not allowed.
void check(const DynetParams& p);
/// The word itself, in static memory; ValueError for an unknown one.
const char* checked_precision(const std::string& word);

}  // namespace dynet::params
