// Chains whose operands lie in several blocks, and whose examples share gradients.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "calls.h"
#include "kernels/device_chain.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"

namespace dynet::cuda {
namespace {

using ext::Operand;

constexpr std::int64_t kWordBytes = 4;  ///< of a float and of an index

/// Operands of a chain in one block each. Lives for one call.
class OneBlocks {
 public:
  OneBlocks(std::int64_t examples, void* stream) : examples_(examples), stream_(stream) {}

  /// To be read: the operand, or a copy.
  [[nodiscard]] Operand read(const Operand& o) {
    if (o.absent() || o.one_block()) {
      return o;
    }
    const Operand there = made(o.dim, o.examples);
    copy_blocks(o, there, false);
    return there;
  }
  /// To be written by the chain; `end` copies it to where it belongs.
  [[nodiscard]] Operand written(const Operand& o) {
    if (o.absent() || o.one_block()) {
      return o;
    }
    const Operand there = made(o.dim, o.examples);
    late_.emplace_back(Late::kCopy, there, o);
    return there;
  }
  /// A result that is stored or added, as its blocks say.
  [[nodiscard]] Operand result(const Operand& o) {
    const Operand there = made(o.dim, examples_);
    late_.emplace_back(Late::kStore, there, o);
    return there;
  }
  /// Zeros for each example, which are added in the end.
  [[nodiscard]] Operand gradient(const Operand& o) {
    if (o.absent()) {
      return o;
    }
    const Operand there = made(o.dim, examples_);
    kernels::start_fill(there.blocks->data, 0.0, examples_ * o.size(), stream_);
    late_.emplace_back(Late::kAdd, there, o);
    return there;
  }
  void end() {
    for (const Later& l : late_) {
      if (l.what == Late::kCopy) {
        copy_blocks(l.to, l.from, true);
      } else {
        kernels::start_move(ext::whole_move(l.from.size()), l.from, l.to,
                            l.what == Late::kAdd ? ext::Write::kAdd : ext::Write::kAsBlocks,
                            stream_);
      }
    }
  }

 private:
  enum class Late : std::uint8_t { kCopy, kStore, kAdd };
  struct Later {
    Late what;
    Operand from, to;
    Later(Late w, const Operand& f, const Operand& t) : what(w), from(f), to(t) {}
  };

  Operand made(const Dim& dim, std::int64_t examples) {
    const auto& memory =
        memory_.emplace_back(examples * dim.example_elements() * kWordBytes, stream_);
    const ext::Block& block = blocks_.emplace_back(ext::Block{memory.data(), examples, true});
    return {dim, examples, &block, 1};
  }
  /// All blocks of `many` to the one block of `one`, or back.
  void copy_blocks(const Operand& many, const Operand& one, bool is_back) {
    auto* at = static_cast<std::byte*>(one.blocks->data);
    for (std::int64_t b = 0; b < many.block_count; ++b) {
      void* const block = many.blocks[b].data;
      const auto bytes =
          static_cast<std::size_t>(many.blocks[b].examples * many.size() * kWordBytes);
      if (bytes != 0) {
        kernels::check_cuda(
            cudaMemcpyAsync(is_back ? block : at, is_back ? at : block, bytes,
                            cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream_)),
            "a copy for a chain");
      }
      at += bytes;
    }
  }

  std::int64_t examples_;
  void* stream_;
  std::deque<kernels::DeviceScratch> memory_;
  std::deque<ext::Block> blocks_;
  std::deque<Later> late_;
};

}  // namespace

void run_chain_in_order(const ext::Chain& c, ext::Direction direction, void* cuda_stream) {
  const std::int64_t examples = c.examples();
  if (examples == 0) {
    return;
  }
  const bool is_forward = direction == ext::Direction::kForward;
  OneBlocks blocks(examples, cuda_stream);
  ext::Chain there = c;
  for (auto operand : {&ext::Chain::emissions, &ext::Chain::transitions, &ext::Chain::start,
                       &ext::Chain::end, &ext::Chain::lengths, &ext::Chain::d_value}) {
    there.*operand = blocks.read(c.*operand);
  }
  const bool writes_path = is_forward && c.paths == ext::Paths::kBest;
  there.path = writes_path ? blocks.written(c.path) : blocks.read(c.path);
  there.before = is_forward ? blocks.written(c.before) : blocks.read(c.before);
  there.value = is_forward ? blocks.result(c.value) : blocks.read(c.value);
  if (!is_forward) {
    for (auto operand : {&ext::Chain::d_emissions, &ext::Chain::d_transitions, &ext::Chain::d_start,
                         &ext::Chain::d_end}) {
      there.*operand = blocks.gradient(c.*operand);
    }
  }
  const kernels::DeviceScratch scratch(
      is_forward ? 0 : 2 * examples * c.emissions.dim.rows() * kWordBytes, cuda_stream);
  kernels::start_chain(there, direction, scratch.numbers(), cuda_stream);
  blocks.end();
}

}  // namespace dynet::cuda
