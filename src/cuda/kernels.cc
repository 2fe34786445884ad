#include "kernels.h"

#include "calls.h"
#include "kernels/device_loops.h"
#include "ops/device_rules.h"
#include "trainers/device_steps.h"

namespace dynet::cuda {

CudaKernels::CudaKernels(CudaMemory& memory)
    : memory_(memory), zero_(memory.allocate(sizeof(double), ext::Contents::kZeros)) {}

void* CudaKernels::stream() const {
  memory_.use();
  return memory_.stream();
}

void CudaKernels::run_call(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
                           const ext::Call& call) const {
  const ops::DeviceLoops* const loops = ops::device_loops(&rule);
  if (loops == nullptr || !run_rule_at_once(*loops, rule, direction, op, call, stream())) {
    Kernels::run_call(rule, direction, op, call);
  }
}

void CudaKernels::run(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
                      const ext::Stream* in, const ext::Stream* out, std::int64_t n) const {
  void* const queue = stream();
  if (const ops::DeviceLoops* const loops = ops::device_loops(&rule)) {
    const auto& counts = rule.streams[static_cast<std::size_t>(direction)];
    ops::start_run(direction == ext::Direction::kForward ? loops->forward : loops->backward, op, in,
                   counts.in, out, counts.out, n, queue);
  } else if (const trainers::DeviceStep step = trainers::device_step(&rule)) {
    const ext::RuleRun one{in, out, n};
    step(op, {&one, 1}, queue);
  } else {
    run_rule_on_host(memory_, rule, direction, op, in, out, n);
  }
}

void CudaKernels::run_all(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
                          std::span<const ext::RuleRun> runs) const {
  if (const trainers::DeviceStep step = trainers::device_step(&rule)) {
    step(op, runs, stream());
  } else {
    Kernels::run_all(rule, direction, op, runs);
  }
}

void CudaKernels::run_rows(const ext::RowRule& rule, ext::Direction direction,
                           const ext::RowCall& call) const {
  void* const queue = stream();
  if (const ops::DeviceRowLoops* const loops = ops::device_row_loops(&rule)) {
    run_rows_in_order(direction == ext::Direction::kForward ? loops->forward : loops->backward,
                      rule, direction, call, queue);
  } else {
    run_rows_on_host(memory_, rule, direction, call);
  }
}

void CudaKernels::move(const ext::Move& m, const ext::Operand& x, const ext::Operand& y,
                       ext::Write write) const {
  kernels::start_move(m, x, y, write, stream());
}
void CudaKernels::product(const ext::Operand& a, ext::Transposed ta, const ext::Operand& b,
                          ext::Transposed tb, const ext::Operand& c, ext::Write write) const {
  kernels::start_product(a, ta, b, tb, c, write, stream());
}
void CudaKernels::products(std::span<const ext::ProductSum> all) const {
  kernels::start_products(all, stream());
}
void CudaKernels::scan(unsigned axis, ext::ScanFrom from, const ext::Operand& x,
                       const ext::Operand& y) const {
  kernels::start_scan(axis, from, x, y, stream());
}
void CudaKernels::select(unsigned axis, ext::Order order, const ext::Operand& x,
                         const ext::Operand& places) const {
  kernels::start_select(axis, order, x, places, stream());
}
void CudaKernels::invert(const ext::Operand& a, const ext::Operand& inverse,
                         const ext::Operand& log_det) const {
  kernels::start_invert(a, inverse, log_det, stream());
}
void CudaKernels::chain(const ext::Chain& c, ext::Direction direction) const {
  run_chain_in_order(c, direction, stream());
}
void CudaKernels::random(ext::Distribution kind, double a, double b, const ext::RandomKey& key,
                         void* out, std::int64_t n) const {
  kernels::start_random(kind, a, b, key, out, n, stream());
}
void CudaKernels::fill(void* out, double value, std::int64_t n) const {
  kernels::start_fill(out, value, n, stream());
}
void CudaKernels::add_scaled(double scale, const void* x, void* y, std::int64_t n,
                             bool store) const {
  kernels::start_add_scaled(scale, x, y, n, store, stream());
}
void CudaKernels::add_squared_norm(const void* x, std::int64_t n, double* sum) const {
  const ext::NumberRun run{x, n};
  add_squared_norms({&run, 1}, sum);
}
void CudaKernels::add_squared_norms(std::span<const ext::NumberRun> all, double* sum) const {
  kernels::start_squared_norms(all, sum, stream());
}
void CudaKernels::add_all(double scale, std::span<const ext::Addition> all, std::int64_t n) const {
  kernels::start_add_all(scale, all, n, stream());
}

}  // namespace dynet::cuda
