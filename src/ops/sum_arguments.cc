#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dynet/ops/arithmetic.h"

#include "kernels/long_sum.h"
#include "kernels/starts_cost.h"

namespace dynet::ops {
namespace {

/// Goes through the examples of an operand; one example stands for all.
class Examples {
 public:
  struct Place {
    void* data;
    bool is_fresh;
  };
  Examples(const ext::Operand& o, std::int64_t bytes) : o_(o), block_(o.blocks), bytes_(bytes) {}
  Place next() {
    while (block_->examples == used_) {
      ++block_;
      used_ = 0;
    }
    void* const here = static_cast<char*>(block_->data) + used_ * o_.size() * bytes_;
    used_ += o_.examples == 1 ? 0 : 1;
    return {here, block_->fresh};
  }

 private:
  const ext::Operand& o_;
  const ext::Block* block_;
  std::int64_t bytes_;  ///< of a number
  std::int64_t used_ = 0;
};

/// Additions between a list of operands and one with as many examples: one call of a device.
class ListAdditions {
 public:
  /// `is_dense`: each operand is one block of as many examples, which are added at once.
  ListAdditions(const ext::Kernels& kernels, const ext::Operand& like, bool is_dense)
      : kernels_(kernels),
        bytes_(ext::bytes_of(kernels.number())),
        count_(is_dense ? 1 : like.examples),
        n_(like.size() * (is_dense ? like.examples : 1)) {}
  /// Without `stores`, as the blocks of `to` say.
  void add(const ext::Operand& from, const ext::Operand& to, std::optional<bool> stores) {
    Examples x(from, bytes_);
    Examples y(to, bytes_);
    for (std::int64_t e = 0; e < count_; ++e) {
      const Examples::Place there = y.next();
      all_.push_back({x.next().data, there.data, stores.value_or(there.is_fresh)});
    }
  }
  void run(double scale) const { kernels_.add_all(scale, all_, n_); }

 private:
  const ext::Kernels& kernels_;
  std::int64_t bytes_;  ///< of a number
  std::int64_t count_, n_;
  std::vector<ext::Addition> all_;
};

bool are_dense(std::span<const ext::Operand> list, const ext::Operand& like) {
  const auto is_dense = [&](const ext::Operand& x) {
    return x.absent() || (x.one_block() && x.examples == like.examples);
  };
  return is_dense(like) && std::all_of(list.begin(), list.end(), is_dense);
}

/// In a call for each 32 arguments and each 32 of their sums, for devices that the host does not
/// see, on which a start of a loop costs: 100 arguments have four sums in one call, and the sum of
/// these in a second one. False, and nothing is done, if the examples of an argument are summed,
/// which is one move.
bool sum_at_once(const ext::Call& call, double scale) {
  constexpr std::size_t kMostAdded = ext::LongSum::kMostAdded;
  const ext::Operand& out = call.out[0];
  const bool fits = std::all_of(call.in.begin(), call.in.end(), [&](const ext::Operand& x) {
    return x.examples == 1 || x.examples == out.examples;
  });
  if (!fits) {
    return false;
  }
  const bool is_dense = are_dense(call.in, out);
  std::vector<ext::Operand> list(call.in.begin(), call.in.end());
  std::deque<ext::Block> rooms;
  while (list.size() > kMostAdded) {
    ListAdditions additions(call.kernels, out, is_dense);
    std::vector<ext::Operand> sums;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i % kMostAdded == 0) {
        const std::int64_t numbers = out.size() * out.examples;
        rooms.push_back(
            {call.scratch(numbers * ext::bytes_of(call.kernels.number())), out.examples, true});
        sums.push_back({out.dim, out.examples, &rooms.back(), 1});
      }
      additions.add(list[i], sums.back(), i % kMostAdded == 0);
    }
    additions.run(1.0);
    list = std::move(sums);
  }
  ListAdditions additions(call.kernels, out, is_dense);
  for (std::size_t i = 0; i < list.size(); ++i) {
    additions.add(list[i], out, i == 0);
  }
  additions.run(scale);
  return true;
}

/// Whether two dense operands have some examples in common and not all, as {a, b} and {b, c} do.
/// Additions to one place have to begin at one address.
bool have_overlaps(std::span<const ext::Operand> list, std::int64_t bytes) {
  std::vector<const std::byte*> begins;
  for (const ext::Operand& x : list) {
    if (!x.absent()) {
      begins.push_back(x.data<const std::byte>());
    }
  }
  std::sort(begins.begin(), begins.end());
  const auto overlap = [bytes](const std::byte* a, const std::byte* b) {
    return a != b && b - a < bytes;
  };
  return std::adjacent_find(begins.begin(), begins.end(), overlap) != begins.end();
}

}  // namespace

bool spread_to_arguments(const ext::Call& call, double scale) {
  const ext::Operand& dy = call.d_out[0];
  const auto fits = [&](const ext::Operand& dx) {
    return dx.absent() || dx.examples == dy.examples;
  };
  if (!kernels::starts_cost(call) || dy.absent() ||
      !std::all_of(call.d_in.begin(), call.d_in.end(), fits)) {
    return false;
  }
  const std::int64_t bytes = dy.size() * dy.examples * ext::bytes_of(call.kernels.number());
  const bool is_dense = are_dense(call.d_in, dy) && !have_overlaps(call.d_in, bytes);
  ListAdditions additions(call.kernels, dy, is_dense);
  for (const ext::Operand& dx : call.d_in) {
    if (!dx.absent()) {
      additions.add(dy, dx, std::nullopt);
    }
  }
  additions.run(scale);
  return true;
}

void sum_arguments(const ext::Call& call, double scale) {
  if (kernels::starts_cost(call) && sum_at_once(call, scale)) {
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
