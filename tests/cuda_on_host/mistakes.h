#pragma once

// Kernels with a mistake planted in each, and their right forms, for cuda_on_host_test.cc. Compiled
// as kernels are, in a library of their own.

#include <cuda_runtime.h>

namespace cuda_on_host::testing {

inline constexpr unsigned kThreads = 128;

/// y_k, for k below 4: the sum of (i + k) over the threads i of each of 3 blocks. Some of
/// the two barriers are there.
enum class Barriers { kBoth, kFirst, kLast };
void start_sums(float* y, Barriers barriers);
/// y_0: the sum of the numbers of a warp's first `active` lanes, by exchanges of all of its lanes.
void start_warp_sum(float* y, int active, unsigned mask);
/// The lanes of a warp leave a number each in shared memory; lane 0 adds them up, after an exchange
/// or without.
void start_warp_leaves(float* y, bool has_exchange);
/// Threads from 100 on return; the others come to a barrier.
void start_early_return(float* y);
/// y_i = v for i below n.
void start_set(float* y, float v, int n, cudaStream_t stream = nullptr,
               unsigned threads = kThreads);
/// Each of 4 blocks of 64 threads adds 1 to y_0.
enum class Adds { kAtomic, kPlain };
void start_count(float* y, Adds how);
/// y_b is y_(b-1) + 1, which block b - 1 has written.
void start_in_order(float* y);
/// y_0 is a variable of shared memory that nobody sets, and 1.
void start_unset_shared(float* y);
/// y_0: a variable of the host's.
void start_host_variable(float* y);
/// Thread 0 writes a local variable of thread 1.
void start_foreign_local(float* y);

}  // namespace cuda_on_host::testing
