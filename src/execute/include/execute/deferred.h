#pragma once

#include "execute/executor.h"

namespace dynet::execute {

/// Collects the products of one parameter during a backward pass.
struct Executor::Deferred final : ext::ProductSink {
  Deferred(Executor& e, std::uint32_t s) : executor(e), slot(s) {}
  void push(const ext::Operand& dy, const ext::Operand& x) override;
  void clear() {
    first = last = 0;
    was_pushed = false;
  }

  Executor& executor;
  std::uint32_t slot;       ///< of the parameter among the graph's storages
  std::uint32_t first = 0;  ///< of its products, + 1
  std::uint32_t last = 0;
  bool was_pushed = false;  ///< since the call that is running began
};

}  // namespace dynet::execute
