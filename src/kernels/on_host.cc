// Calls of operations that compute on the host, for devices whose memory the host cannot touch.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "dynet/ext/info.h"
#include "dynet/ext/memory.h"

#include "kernels/kernels.h"

namespace dynet::ext {
namespace {

constexpr std::size_t kAlignment = 64;

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;
AlignedBytes allocate_aligned(std::size_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment})));
}

/// Scratch memory of the host, for one call.
class HostScratch final : public ScratchMemory {
 public:
  explicit HostScratch(Memory& device) : device_(device) {}
  void* take(std::int64_t bytes) override {
    return taken_.emplace_back(allocate_aligned(static_cast<std::size_t>(bytes))).get();
  }
  [[nodiscard]] Memory& memory() const override { return device_; }

 private:
  Memory& device_;
  std::vector<AlignedBytes> taken_;
};

/// Copies of the memory that a call reads and writes. Memory in several operands, or twice in one,
/// has one copy: a node may be two arguments of an operation, and gets the sum of two gradients.
/// Use: note() all, copy_out(), copies_of() each, copy_in().
class HostCopies {
 public:
  explicit HostCopies(Memory& device) : device_(device) {}

  /// `width`: bytes of one element.
  void note(const Operand& o, std::int64_t width, bool is_written) {
    for (std::int64_t b = 0; b < o.block_count; ++b) {
      const auto bytes = static_cast<std::size_t>(o.blocks[b].examples * o.size() * width);
      pieces_.push_back({static_cast<std::byte*>(o.blocks[b].data), bytes, is_written, {}});
    }
  }
  void copy_out() {
    join_overlapping();
    for (Piece& p : pieces_) {
      p.copy = allocate_aligned(p.bytes);
      device_.copy_out(p.data, p.copy.get(), p.bytes);
    }
  }
  /// The operand over the copies.
  [[nodiscard]] Operand copy_of(const Operand& o) {
    if (o.absent()) {
      return o;
    }
    std::vector<Block>& blocks = blocks_.emplace_back(o.blocks, o.blocks + o.block_count);
    for (Block& b : blocks) {
      b.data = copy_at(static_cast<const std::byte*>(b.data));
    }
    Operand there = o;
    there.blocks = blocks.data();
    there.sink = nullptr;  // a product that is left for later would read the copies then
    return there;
  }
  [[nodiscard]] std::vector<Operand> copies_of(std::span<const Operand> all) {
    std::vector<Operand> there;
    there.reserve(all.size());
    for (const Operand& o : all) {
      there.push_back(copy_of(o));
    }
    return there;
  }
  void copy_in() {
    for (const Piece& p : pieces_) {
      if (p.is_written) {
        device_.copy_in(p.copy.get(), p.data, p.bytes);
      }
    }
  }

 private:
  struct Piece {
    std::byte* data;
    std::size_t bytes;
    bool is_written;
    AlignedBytes copy;
  };
  /// Neighbours stay apart, so that pieces that are only read are not written back.
  void join_overlapping() {
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
    });
    std::vector<Piece> joined;
    for (Piece& p : pieces_) {
      if (!joined.empty() && p.data < joined.back().data + joined.back().bytes) {
        Piece& last = joined.back();
        last.bytes = std::max(last.bytes, static_cast<std::size_t>(p.data - last.data) + p.bytes);
        last.is_written = last.is_written || p.is_written;
      } else if (p.bytes != 0) {
        joined.push_back(std::move(p));
      }
    }
    pieces_ = std::move(joined);
  }
  [[nodiscard]] std::byte* copy_at(const std::byte* data) const {
    const auto after =
        std::upper_bound(pieces_.begin(), pieces_.end(), data,
                         [](const std::byte* at, const Piece& p) { return at < p.data; });
    if (after == pieces_.begin()) {
      return nullptr;  // a block without elements
    }
    const Piece& p = *std::prev(after);
    return p.copy.get() + (data - p.data);
  }

  Memory& device_;
  std::vector<Piece> pieces_;  ///< by address, once they are joined
  std::deque<std::vector<Block>> blocks_;
};

}  // namespace

void call_on_host(Call& call, Direction direction, std::span<const SavedAs> saved_as,
                  const void* op, void (*compute)(const void* op, Call& call)) {
  if (call.memory == nullptr || call.memory->memory().is_host_visible()) {
    compute(op, call);
    return;
  }
  const Number number = call.kernels.number();
  const bool is_forward = direction == Direction::kForward;
  HostCopies copies(call.memory->memory());
  const auto note = [&](std::span<const Operand> all, bool is_written) {
    for (const Operand& o : all) {
      copies.note(o, bytes_of(number), is_written);
    }
  };
  note(call.in, false);
  note(call.out, is_forward);
  note(call.d_out, false);
  note(call.d_in, true);
  for (std::size_t k = 0; k < call.saved.size(); ++k) {
    copies.note(call.saved[k], saved_bytes(saved_as[k], number), is_forward);
  }
  copies.note(call.indices, sizeof(unsigned), false);
  copies.note(call.values, bytes_of(number), false);
  copies.copy_out();

  const auto in = copies.copies_of(call.in);
  const auto out = copies.copies_of(call.out);
  const auto saved = copies.copies_of(call.saved);
  const auto d_out = copies.copies_of(call.d_out);
  const auto d_in = copies.copies_of(call.d_in);
  HostScratch scratch(call.memory->memory());
  Call here(number == Number::kFloat ? kernels::cpu_kernels() : kernels::double_kernels(),
            &scratch);
  here.examples = call.examples;
  here.absent = call.absent;
  here.in = in;
  here.out = out;
  here.saved = saved;
  here.d_out = d_out;
  here.d_in = d_in;
  here.indices = copies.copy_of(call.indices);
  here.values = copies.copy_of(call.values);
  here.random = call.random;
  compute(op, here);
  copies.copy_in();
}

}  // namespace dynet::ext
