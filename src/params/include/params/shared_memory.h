#pragma once

#include "dynet/ext/memory.h"

namespace dynet::params {

/// Memory of the host that processes forked later share with this one: what one of them writes, all
/// see. It has no name, so that nothing is left of it when the last process that maps it ends,
/// however that ends. Always zeros, whatever contents are asked for. Lives as long as the process.
///
/// Small blocks lie side by side in chunks, as a mapping each would cost a page each and many
/// entries in the system's table of mappings; a chunk is given back when its last block is. Thread
/// rule: any number of threads; a process frees what it has of a block for itself alone.
[[nodiscard]] ext::Memory& shared_memory();

}  // namespace dynet::params
