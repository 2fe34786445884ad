// Calls of operations that compute on the host, for devices whose memory the host cannot touch.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "dynet/ext/info.h"
#include "dynet/ext/memory.h"

#include "kernels/host_copies.h"
#include "kernels/kernels.h"

namespace dynet::ext {
namespace {

/// Scratch memory of the host, for one call.
class HostScratch final : public ScratchMemory {
 public:
  explicit HostScratch(Memory& device) : device_(device) {}
  void* take(std::int64_t bytes) override {
    return taken_.emplace_back(kernels::allocate_aligned(static_cast<std::size_t>(bytes))).get();
  }
  [[nodiscard]] Memory& memory() const override { return device_; }

 private:
  Memory& device_;
  std::vector<kernels::AlignedBytes> taken_;
};

/// The operands of a call over copies of their memory.
class OperandCopies {
 public:
  explicit OperandCopies(Memory& device) : copies_(device) {}

  /// `width`: bytes of one element.
  void note(const Operand& o, std::int64_t width, bool is_written) {
    for (std::int64_t b = 0; b < o.block_count; ++b) {
      const auto bytes = static_cast<std::size_t>(o.blocks[b].examples * o.size() * width);
      copies_.note(o.blocks[b].data, bytes, is_written);
    }
  }
  void copy_out() { copies_.copy_out(); }
  /// The operand over the copies.
  [[nodiscard]] Operand copy_of(const Operand& o) {
    if (o.absent()) {
      return o;
    }
    std::vector<Block>& blocks = blocks_.emplace_back(o.blocks, o.blocks + o.block_count);
    for (Block& b : blocks) {
      b.data = copies_.copy_at(b.data);
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
  void copy_in() { copies_.copy_in(); }

 private:
  kernels::HostCopies copies_;
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
  OperandCopies copies(call.memory->memory());
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
