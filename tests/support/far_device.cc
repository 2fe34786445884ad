#include "support/far_device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dynet/ext/chain.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

#include "kernels/kernels.h"
#include "support/far_memory.h"

namespace dynet::testing {
namespace {

constexpr std::size_t kMostOpBytes = 512;  ///< of an operation that waits in the queue

using ext::Block;
using ext::Operand;
using ext::Stream;
using ext::Transposed;
using ext::Write;

/// A queued call's copy of an operand: the host forgets its own blocks when the call returns.
class KeptOperand {
 public:
  KeptOperand(const Operand& o, const FarMemory& memory, const char* user)
      : operand_(o), blocks_(o.blocks, o.blocks + o.block_count) {
    for (Block& b : blocks_) {
      b.data = memory.near(b.data, user);
    }
    operand_.sink = nullptr;
  }
  [[nodiscard]] Operand get() const {
    Operand o = operand_;
    o.blocks = o.absent() ? nullptr : blocks_.data();
    return o;
  }

 private:
  Operand operand_;
  std::vector<Block> blocks_;
};

/// Queues the calls of another device's kernels.
class FarKernels final : public ext::Kernels {
 public:
  FarKernels(const ext::Kernels& kernels, FarMemory& memory) : kernels_(kernels), memory_(memory) {
    zero_ = memory.allocate(sizeof(double), ext::Contents::kZeros);
  }

  [[nodiscard]] ext::Number number() const override { return kernels_.number(); }
  [[nodiscard]] const void* zero() const override { return zero_; }

  void run(const ext::RuleInfo& rule, ext::Direction direction, const void* op, const Stream* in,
           const Stream* out, std::int64_t n) const override {
    const auto& counts = rule.streams[static_cast<std::size_t>(direction)];
    if (rule.op_bytes > kMostOpBytes) {
      throw std::length_error("an operation of " + std::to_string(rule.op_bytes) +
                              " bytes does not fit in the far device's copy");
    }
    std::vector<std::byte> kept_op(static_cast<const std::byte*>(op),
                                   static_cast<const std::byte*>(op) + rule.op_bytes);
    queue([this, &rule, direction, n, kept = std::move(kept_op), reads = streams(in, counts.in),
           writes = streams(out, counts.out)] {
      alignas(std::max_align_t) std::byte bytes[kMostOpBytes];
      std::copy(kept.begin(), kept.end(), bytes);
      kernels_.run(rule, direction, bytes, reads.data(), writes.data(), n);
    });
  }
  void run_rows(const ext::RowRule& rule, ext::Direction direction,
                const ext::RowCall& call) const override {
    const bool forward = direction == ext::Direction::kForward;
    queue([this, &rule, direction, rows = call.rows,
           constants = std::vector<double>(call.constants, call.constants + ext::kMaxRowConstants),
           reads = row_streams(call.in, forward ? rule.inputs : rule.backward_inputs),
           writes = row_streams(call.out, forward ? rule.results : rule.args)] {
      kernels_.run_rows(rule, direction, {constants.data(), reads.data(), writes.data(), rows});
    });
  }
  void move(const ext::Move& m, const Operand& x, const Operand& y, Write write) const override {
    queue([this, m, index = keep(m.index, "move, index"), a = keep(x, "move"), b = keep(y, "move"),
           write] {
      ext::Move there = m;
      there.index = index.get();
      kernels_.move(there, a.get(), b.get(), write);
    });
  }
  void product(const Operand& a, Transposed ta, const Operand& b, Transposed tb, const Operand& c,
               Write write) const override {
    queue([this, x = keep(a, "product"), ta, y = keep(b, "product"), tb, z = keep(c, "product"),
           write] { kernels_.product(x.get(), ta, y.get(), tb, z.get(), write); });
  }
  void products(std::span<const ext::ProductSum> all) const override {
    for (const ext::ProductSum& s : all) {
      std::vector<KeptOperand> factors;
      for (const ext::Factors& f : s.pairs) {
        factors.push_back(keep(*f.a, "products"));
        factors.push_back(keep(*f.b, "products"));
      }
      queue([this, factors = std::move(factors), ta = s.ta, write = s.write,
             c = keep(*s.c, "products"), has_start = s.start != nullptr,
             start = keep(s.start != nullptr ? *s.start : *s.c, "products")] {
        std::vector<Operand> there;
        std::vector<ext::Factors> pairs;
        there.reserve(factors.size());
        for (const KeptOperand& f : factors) {
          there.push_back(f.get());
        }
        for (std::size_t i = 0; i < there.size(); i += 2) {
          pairs.push_back({&there[i], &there[i + 1]});
        }
        const Operand to = c.get();
        const Operand from = start.get();
        const ext::ProductSum sum{pairs, &to, ta, write, has_start ? &from : nullptr};
        kernels_.products({&sum, 1});
      });
    }
  }
  void scan(unsigned axis, ext::ScanFrom from, const Operand& x, const Operand& y) const override {
    queue([this, axis, from, a = keep(x, "scan"), b = keep(y, "scan")] {
      kernels_.scan(axis, from, a.get(), b.get());
    });
  }
  void select(unsigned axis, ext::Order order, const Operand& x,
              const Operand& places) const override {
    queue([this, axis, order, a = keep(x, "select"), b = keep(places, "select")] {
      kernels_.select(axis, order, a.get(), b.get());
    });
  }
  void invert(const Operand& a, const Operand& inverse, const Operand& log_det) const override {
    queue([this, x = keep(a, "invert"), y = keep(inverse, "invert"), z = keep(log_det, "invert")] {
      kernels_.invert(x.get(), y.get(), z.get());
    });
  }
  void chain(const ext::Chain& c, ext::Direction direction) const override {
    static constexpr std::array kOperands{
        &ext::Chain::emissions,   &ext::Chain::transitions,   &ext::Chain::start,
        &ext::Chain::end,         &ext::Chain::lengths,       &ext::Chain::path,
        &ext::Chain::before,      &ext::Chain::value,         &ext::Chain::d_value,
        &ext::Chain::d_emissions, &ext::Chain::d_transitions, &ext::Chain::d_start,
        &ext::Chain::d_end};
    std::vector<KeptOperand> kept;
    kept.reserve(kOperands.size());
    for (const auto operand : kOperands) {
      kept.push_back(keep(c.*operand, "chain"));
    }
    queue([this, c, direction, all = std::move(kept)] {
      ext::Chain there = c;
      for (std::size_t i = 0; i < kOperands.size(); ++i) {
        there.*kOperands[i] = all[i].get();
      }
      kernels_.chain(there, direction);
    });
  }
  void random(ext::Distribution kind, double a, double b, const ext::RandomKey& key, void* out,
              std::int64_t n) const override {
    queue([this, kind, a, b, key, at = memory_.near(out, "random"), n] {
      kernels_.random(kind, a, b, key, at, n);
    });
  }
  void fill(void* out, double value, std::int64_t n) const override {
    queue([this, at = memory_.near(out, "fill"), value, n] { kernels_.fill(at, value, n); });
  }
  void add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store) const override {
    queue([this, scale, from = memory_.near(x, "add_scaled"), to = memory_.near(y, "add_scaled"), n,
           store] { kernels_.add_scaled(scale, from, to, n, store); });
  }
  void add_squared_norm(const void* x, std::int64_t n, double* sum) const override {
    queue([this, from = memory_.near(x, "add_squared_norm"), n,
           to = static_cast<double*>(memory_.near(sum, "add_squared_norm"))] {
      kernels_.add_squared_norm(from, n, to);
    });
  }

 private:
  void queue(std::function<void()> work) const { memory_.enqueue(std::move(work)); }
  [[nodiscard]] KeptOperand keep(const Operand& o, const char* user) const {
    return {o, memory_, user};
  }
  [[nodiscard]] std::vector<Stream> streams(const Stream* from, std::size_t count) const {
    std::vector<Stream> there(from, from + count);
    for (Stream& s : there) {
      if (s.mode != Stream::kSkip) {
        s.data = memory_.near(s.data, "a rule");
      }
    }
    return there;
  }

  [[nodiscard]] std::vector<ext::RowStream> row_streams(const ext::RowStream* from,
                                                        std::size_t count) const {
    std::vector<ext::RowStream> there(from, from + count);
    for (ext::RowStream& s : there) {
      s.data = s.data == nullptr ? nullptr : memory_.near(s.data, "a rule over rows");
    }
    return there;
  }

  const ext::Kernels& kernels_;
  FarMemory& memory_;
  const void* zero_;
};

struct FarDevice {
  FarDevice(int id, const char* name, const ext::Kernels& near, std::size_t longest)
      : memory(longest),
        kernels(near, memory),
        device(id, DeviceType::GPU, name, kernels, memory) {}
  FarMemory memory;
  FarKernels kernels;
  Device device;
};

std::deque<FarDevice>& far_devices() {
  // Never destroyed, like all devices: parameters may outlive main(). The queues have different
  // lengths, so that two devices get out of step.
  static auto& all = *[] {
    auto* devices = new std::deque<FarDevice>;
    devices->emplace_back(100, "FAR:0", kernels::cpu_kernels(), 300);
    devices->emplace_back(101, "FAR:1", kernels::cpu_kernels(), 77);
    devices->emplace_back(102, "FAR:0:double", kernels::double_kernels(), 300);
    return devices;
  }();
  return all;
}

}  // namespace

void add_far_devices() {
  const std::vector<Device*>& known = get_device_manager()->get_devices();
  for (FarDevice& far : far_devices()) {
    if (std::find(known.begin(), known.end(), &far.device) == known.end()) {
      get_device_manager()->add(&far.device);
    }
  }
}

Device& far_device(std::size_t i) { return far_devices().at(i).device; }

FarCounts far_counts(const Device& device) {
  const auto& memory = dynamic_cast<const FarMemory&>(*device.memory);
  return {memory.waits(), memory.copies_in()};
}

std::size_t far_queue_length(const Device& device) {
  return dynamic_cast<FarMemory&>(*device.memory).queue_length();
}

}  // namespace dynet::testing
