#pragma once

// The cutter of rules over rows, for devices that gather the pieces of a call.

#include "dynet/ext/op.h"
#include "dynet/ext/rows.h"

namespace dynet::kernels {

/// Takes the boxes of rows of a call, in their order. The streams and the constants are the
/// cutter's, and change after each call.
class RowSink {
 public:
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  virtual void take(const ext::RowCall& call) = 0;

 protected:
  ~RowSink() = default;
};

/// Cuts a call as Kernels::run_rows_call does. Sums of many rows are left to the device: results
/// that are added to often are not moved on (long_sum.h).
void cut_rows(const ext::RowRule& rule, ext::Direction direction, const void* op,
              const ext::Call& call, RowSink& sink);

}  // namespace dynet::kernels
