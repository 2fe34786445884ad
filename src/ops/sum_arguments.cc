#include <cstdint>

#include "dynet/ops/arithmetic.h"

#include "kernels/long_sum.h"

namespace dynet::ops {

void sum_arguments(const ext::Call& call, double scale) {
  const ext::Operand& out = call.out[0];
  const ext::Move all = ext::whole_move(out.size(), scale);
  ext::LongSum sum(call, out, static_cast<std::int64_t>(call.in.size()));
  auto write = ext::Write::kStore;
  for (const ext::Operand& x : call.in) {
    call.kernels.move(all, x, out, write);
    write = ext::Write::kAdd;
    sum.added_everywhere();
  }
  sum.settle();
}

}  // namespace dynet::ops
