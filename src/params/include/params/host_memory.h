#pragma once

#include "dynet/ext/memory.h"

namespace dynet::params {

/// The memory of the CPU devices. Large pieces of zeros cost no pages until they are written.
/// Lives as long as the process.
[[nodiscard]] ext::Memory& host_memory();

}  // namespace dynet::params
