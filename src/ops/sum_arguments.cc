#include <algorithm>
#include <cstdint>
#include <vector>

#include "dynet/ext/memory.h"
#include "dynet/ops/arithmetic.h"

#include "kernels/long_sum.h"

namespace dynet::ops {
namespace {

/// Goes through the examples of an operand; one example stands for all.
class Examples {
 public:
  Examples(const ext::Operand& o, std::int64_t bytes) : o_(o), block_(o.blocks), bytes_(bytes) {}
  void* next() {
    while (block_->examples == used_) {
      ++block_;
      used_ = 0;
    }
    void* const here = static_cast<char*>(block_->data) + used_ * o_.size() * bytes_;
    used_ += o_.examples == 1 ? 0 : 1;
    return here;
  }

 private:
  const ext::Operand& o_;
  const ext::Block* block_;
  std::int64_t bytes_;  ///< of a number
  std::int64_t used_ = 0;
};

/// In one call, for devices that the host does not see, on which a start of a loop costs. False,
/// and nothing is done, on other devices, if there are so many arguments that a float does not take
/// their sum, or if the examples of an argument are summed, which is one move.
bool sum_at_once(const ext::Call& call, double scale) {
  const bool is_far = call.memory != nullptr && !call.memory->memory().is_host_visible();
  if (!is_far || static_cast<std::int64_t>(call.in.size()) > ext::LongSum::kMostAdded) {
    return false;
  }
  const ext::Operand& out = call.out[0];
  const auto fits = [&](const ext::Operand& x) {
    return x.examples == 1 || x.examples == out.examples;
  };
  if (!std::all_of(call.in.begin(), call.in.end(), fits)) {
    return false;
  }
  const auto is_like_out = [&](const ext::Operand& x) {
    return x.one_block() && x.examples == out.examples;
  };
  const bool is_dense =
      is_like_out(out) && std::all_of(call.in.begin(), call.in.end(), is_like_out);
  const std::int64_t pieces = is_dense ? 1 : out.examples;
  std::vector<ext::Addition> all;
  const std::int64_t bytes = ext::bytes_of(call.kernels.number());
  for (const ext::Operand& x : call.in) {
    Examples from(x, bytes);
    Examples to(out, bytes);
    for (std::int64_t e = 0; e < pieces; ++e) {
      void* const there = to.next();
      all.push_back({from.next(), there, &x == call.in.data()});
    }
  }
  call.kernels.add_all(scale, all, out.size() * (is_dense ? out.examples : 1));
  return true;
}

}  // namespace

void sum_arguments(const ext::Call& call, double scale) {
  if (sum_at_once(call, scale)) {
    return;
  }
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
