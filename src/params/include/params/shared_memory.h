#pragma once

#include "dynet/ext/memory.h"

namespace dynet::params {

/// Memory of the host that this process shares with processes forked later: all see each other's
/// writes. The memory has no name, so that nothing is left behind when the last process ends,
/// however it ends. New memory is zero, whatever contents are requested. Lives as long as the
/// process.
///
/// Small blocks lie side by side in chunks, as a mapping for each block would cost a page and an
/// entry in the system's table of mappings; a chunk is given back with its last block. Thread rule:
/// any number of threads; a process frees its own mapping of a block alone.
[[nodiscard]] ext::Memory& shared_memory();

}  // namespace dynet::params
