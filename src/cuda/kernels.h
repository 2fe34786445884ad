#pragma once

// The loops of a GPU.

#include <cstdint>
#include <span>

#include "dynet/ext/kernels.h"

#include "memory.h"

namespace dynet::cuda {

/// Starts a kernel, or a few, for each call, on the stream of the memory. A rule of a program's own
/// has no kernel: the call waits for the device and computes on the host, with copies. Sums have
/// one order, so equal calls give equal bits. Never destroyed. Thread rule: any number of threads.
class CudaKernels final : public ext::Kernels {
 public:
  /// Throws out_of_memory.
  explicit CudaKernels(CudaMemory& memory);

  [[nodiscard]] ext::Number number() const override { return ext::Number::kFloat; }
  [[nodiscard]] const void* zero() const override { return zero_; }
  void run_call(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
                const ext::Call& call) const override;
  void run(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
           const ext::Stream* in, const ext::Stream* out, std::int64_t n) const override;
  void run_all(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
               std::span<const ext::RuleRun> runs) const override;
  void run_rows(const ext::RowRule& rule, ext::Direction direction,
                const ext::RowCall& call) const override;
  void move(const ext::Move& m, const ext::Operand& x, const ext::Operand& y,
            ext::Write write) const override;
  void product(const ext::Operand& a, ext::Transposed ta, const ext::Operand& b, ext::Transposed tb,
               const ext::Operand& c, ext::Write write) const override;
  void products(std::span<const ext::ProductSum> all) const override;
  void scan(unsigned axis, ext::ScanFrom from, const ext::Operand& x,
            const ext::Operand& y) const override;
  void select(unsigned axis, ext::Order order, const ext::Operand& x,
              const ext::Operand& places) const override;
  void invert(const ext::Operand& a, const ext::Operand& inverse,
              const ext::Operand& log_det) const override;
  void chain(const ext::Chain& c, ext::Direction direction) const override;
  void random(ext::Distribution kind, double a, double b, const ext::RandomKey& key, void* out,
              std::int64_t n) const override;
  void fill(void* out, double value, std::int64_t n) const override;
  void add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store) const override;
  void add_all(double scale, std::span<const ext::Addition> all, std::int64_t n) const override;
  void add_squared_norm(const void* x, std::int64_t n, double* sum) const override;
  void add_squared_norms(std::span<const ext::NumberRun> all, double* sum) const override;

 private:
  /// The stream, for a call that starts kernels now.
  [[nodiscard]] void* stream() const;

  CudaMemory& memory_;
  const void* zero_;
};

}  // namespace dynet::cuda
