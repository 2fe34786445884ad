#pragma once

// The functions of ext::Kernels on CUDA devices, but for rules (ops/device_rules.h), steps
// (trainers/device_steps.h) and chains (device_chain.h). Part of libdynet_cuda (src/cuda).
//
// Each function starts kernels on a CUDA stream (`cudaStream_t`) and returns at once; it throws
// cuda_exception if a start fails. Numbers are floats with addresses of the device. Moves and
// products are one launch, whatever the blocks of their operands (device_operands.h); scans,
// selections and inverses start a kernel for each piece of memory. Every sum has one order, so that
// equal calls give equal bits.
//
// The kernels are the plainest that are right, and no library's; products are in tiles
// (cuda/products.cu).

#include <cstdint>
#include <span>

#include "dynet/ext/kernels.h"

namespace dynet::kernels {

void start_move(const ext::Move& m, const ext::Operand& x, const ext::Operand& y, ext::Write write,
                void* cuda_stream);
void start_product(const ext::Operand& a, ext::Transposed ta, const ext::Operand& b,
                   ext::Transposed tb, const ext::Operand& c, ext::Write write, void* cuda_stream);
/// As Kernels::products: one launch for sums of equal shapes whose results do not meet.
void start_products(std::span<const ext::ProductSum> all, void* cuda_stream);
void start_scan(unsigned axis, ext::ScanFrom from, const ext::Operand& x, const ext::Operand& y,
                void* cuda_stream);
/// Compares each pair of elements of a line.
void start_select(unsigned axis, ext::Order order, const ext::Operand& x,
                  const ext::Operand& places, void* cuda_stream);
/// A warp has a matrix.
void start_invert(const ext::Operand& a, const ext::Operand& inverse, const ext::Operand& log_det,
                  void* cuda_stream);
/// Bernoulli and uniform numbers equal the CPU's bit by bit.
void start_random(ext::Distribution kind, double a, double b, const ext::RandomKey& key, void* out,
                  std::int64_t n, void* cuda_stream);
void start_fill(void* out, double value, std::int64_t n, void* cuda_stream);
void start_add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store,
                      void* cuda_stream);
/// As Kernels::add_all; a place's additions are summed before they are added to it.
void start_add_all(double scale, std::span<const ext::Addition> all, std::int64_t n,
                   void* cuda_stream);
/// Two launches: sums of parts, and their sum. The kernels add in double: *sum is a double.
void start_squared_norms(std::span<const ext::NumberRun> all, double* sum, void* cuda_stream);

}  // namespace dynet::kernels
