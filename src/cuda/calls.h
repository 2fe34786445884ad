#pragma once

// Calls of Kernels that are more than the start of a kernel.

#include <cstdint>

#include "dynet/ext/chain.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/memory.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

#include "ops/device_rules.h"

namespace dynet::cuda {

/// A rule without a kernel, on copies of its streams.
void run_rule_on_host(ext::Memory& memory, const ext::RuleInfo& rule, ext::Direction direction,
                      const void* op, const ext::Stream* in, const ext::Stream* out,
                      std::int64_t n);
/// A rule over a whole call, at once. False, without a start, if the call has to be cut.
[[nodiscard]] bool run_rule_at_once(const ops::DeviceLoops& loops, const ext::RuleInfo& rule,
                                    ext::Direction direction, const void* op, const ext::Call& call,
                                    void* cuda_stream);
/// A rule over rows without a kernel, likewise.
void run_rows_on_host(ext::Memory& memory, const ext::RowRule& rule, ext::Direction direction,
                      const ext::RowCall& call);

/// A rule over rows. If several rows or elements add to one number, each gets a number of its own,
/// and these are added in order.
void run_rows_in_order(ops::DeviceRowLoop loop, const ext::RowRule& rule, ext::Direction direction,
                       const ext::RowCall& call, void* cuda_stream);

/// A chain of operands in any number of blocks. Each example has gradients of its own, which are
/// added in order.
void run_chain_in_order(const ext::Chain& c, ext::Direction direction, void* cuda_stream);

}  // namespace dynet::cuda
