#include "kernels/call_shares.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

#include "kernels/kernels.h"
#include "kernels/team.h"
#include "util/scratch.h"

namespace dynet::ext {
namespace {

/// Nanoseconds for each number of a short run, its begin included.
constexpr double kNumberOfRuns = 0.25;

std::span<const Operand> results_of(const Call& call, bool is_forward, bool second) {
  if (is_forward) {
    return second ? call.saved : call.out;
  }
  return second ? std::span<const Operand>() : call.d_in;
}

/// Where an operand's blocks lie, if they follow each other: no address twice.
struct Extent {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool is_sorted = true;

  Extent() = default;
  explicit Extent(const Operand& o) {
    for (std::int64_t b = 0; b < o.block_count && is_sorted; ++b) {
      const auto* const at = o.data<const std::byte>(b);
      is_sorted = b == 0 || at >= end;
      begin = b == 0 ? at : begin;
      end = at + o.blocks[b].examples * o.size() * bytes_of(Number::kFloat);
    }
  }
};

/// Whether the results are examples of their own. Two results that touch the same memory may be one
/// node, at different examples of the two.
bool results_lie_apart(const Call& call, bool is_forward, std::int64_t elements) {
  constexpr std::size_t kMost = 8;
  Extent seen[kMost];
  std::size_t count = 0;
  for (const bool second : {false, true}) {
    for (const Operand& o : results_of(call, is_forward, second)) {
      if (o.absent()) {
        continue;
      }
      const Extent its(o);
      const bool is_whole = o.examples == call.examples && o.size() % elements == 0;
      const bool meets = std::any_of(seen, seen + count, [&](const Extent& other) {
        return its.begin < other.end && other.begin < its.end;
      });
      if (!is_whole || !its.is_sorted || meets || count == kMost) {
        return false;
      }
      seen[count++] = its;
    }
  }
  return true;
}

/// Memory of a share for its operands.
class Operands {
 public:
  Operands(const Call& call, std::int64_t first, std::int64_t last) : first_(first), last_(last) {
    std::size_t blocks = 0;
    for (const auto& list : {call.in, call.out, call.saved, call.d_out, call.d_in}) {
      for (const Operand& o : list) {
        ++operand_count_;
        blocks += static_cast<std::size_t>(o.block_count);
      }
    }
    blocks += static_cast<std::size_t>(call.values.block_count);
    static thread_local util::Scratch memory;
    const std::size_t bytes = operand_count_ * sizeof(Operand) + blocks * sizeof(Block);
    auto* const data = reinterpret_cast<std::byte*>(memory.get(bytes / sizeof(float) + 1));
    operand_ = reinterpret_cast<Operand*>(data);
    block_ = reinterpret_cast<Block*>(data + operand_count_ * sizeof(Operand));
  }
  /// The examples of the share; an operand of one example stays.
  Operand part_of(const Operand& o) {
    if (o.absent() || o.examples == 1) {
      return o;
    }
    Operand part = o;
    part.examples = last_ - first_;
    part.blocks = block_;
    part.block_count = 0;
    std::int64_t at = 0;  // the first example of a block
    for (std::int64_t b = 0; b < o.block_count && at < last_; at += o.blocks[b++].examples) {
      const std::int64_t begin = std::max(first_, at);
      const std::int64_t end = std::min(last_, at + o.blocks[b].examples);
      if (begin < end) {
        auto* const data =
            o.data<std::byte>(b) + (begin - at) * o.size() * bytes_of(Number::kFloat);
        new (block_++) Block{data, end - begin, o.blocks[b].fresh};
        ++part.block_count;
      }
    }
    return part;
  }
  std::span<const Operand> parts_of(std::span<const Operand> all) {
    Operand* const begin = operand_;
    for (const Operand& o : all) {
      new (operand_++) Operand(part_of(o));
    }
    return {begin, all.size()};
  }

 private:
  std::int64_t first_, last_;
  std::size_t operand_count_ = 0;
  Operand* operand_ = nullptr;
  Block* block_ = nullptr;
};

}  // namespace

unsigned shares_of_call(const Call& call, bool is_forward, std::int64_t elements) {
  if (call.examples < 2 || elements == 0 || &call.kernels != &kernels::cpu_kernels()) {
    return 1;  // another device has a queue, or is there to check
  }
  std::size_t parts = 0;
  for (const auto& list : {call.in, call.out, call.saved, call.d_out, call.d_in}) {
    for (const Operand& o : list) {
      parts += o.absent() ? 0 : static_cast<std::size_t>(o.size() / elements);
    }
  }
  const double numbers = static_cast<double>(parts) * static_cast<double>(call.examples * elements);
  const unsigned shares = kernels::shares_of(kNumberOfRuns * numbers);
  return shares > 1 && results_lie_apart(call, is_forward, elements) ? shares : 1;
}

void detail::run_call_in_shares(unsigned shares, const Call& call, RunPart run,
                                const void* context) {
  kernels::run_shares(shares, [&](unsigned share) {
    const kernels::Range mine(static_cast<std::size_t>(call.examples), 1, share, shares);
    if (mine.empty()) {
      return;
    }
    Operands operands(call, static_cast<std::int64_t>(mine.first),
                      static_cast<std::int64_t>(mine.last));
    Call part(call.kernels, call.memory);
    part.examples = static_cast<std::int64_t>(mine.last - mine.first);
    part.absent = call.absent;
    part.part = call.part;
    part.in = operands.parts_of(call.in);
    part.out = operands.parts_of(call.out);
    part.saved = operands.parts_of(call.saved);
    part.d_out = operands.parts_of(call.d_out);
    part.d_in = operands.parts_of(call.d_in);
    part.values = operands.part_of(call.values);
    run(context, part);
  });
}

}  // namespace dynet::ext
