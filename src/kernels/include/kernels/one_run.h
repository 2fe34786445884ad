#pragma once

// A rule's call that is one run of the device's loop already, and needs no cutting
// (rule_cutter.cc). Most calls of one node are such calls, and most elementwise steps of programs
// (ops/program_elements.cc).

#include <cstddef>
#include <cstdint>

#include "dynet/ext/kernels.h"
#include "dynet/ext/operand.h"
#include "dynet/ext/rule_loop.h"

#include "kernels/elements.h"

namespace dynet::ext {

/// The streams of such a call: each operand is one block with the box's elements and the call's
/// examples, or, if only read, one number for all elements. Use: `read` all inputs and `write` all
/// results, in the order of RuleLoop; then `run`, unless an operand did not fit.
class OneRun {
 public:
  /// `elements`: of the box.
  OneRun(const Kernels& kernels, std::int64_t examples, std::int64_t elements)
      : kernels_(kernels), examples_(examples), elements_(elements) {}
  void read(const Operand& o, unsigned parts) {
    if (!is_all_) {
      return;
    }
    if (o.absent()) {
      add(const_cast<void*>(kernels_.zero()), Stream::kRepeat, parts);
    } else if (fits(o, parts)) {
      add(o.blocks[0].data, Stream::kRun);
    } else if (parts == 1 && o.examples == 1 && kernels::elements_of(o.dim) == 1) {
      add(o.blocks[0].data, Stream::kRepeat);
    } else {
      is_all_ = false;
    }
    inputs_ = count_;
  }
  /// Absent: not wanted.
  void write(const Operand& o, unsigned parts) {
    if (!is_all_) {
      return;
    }
    if (o.absent()) {
      add(nullptr, Stream::kSkip, parts);
    } else if (fits(o, parts)) {
      add(o.blocks[0].data, o.blocks[0].fresh ? Stream::kStore : Stream::kAdd);
    } else {
      is_all_ = false;
    }
  }
  /// Is the call one run?
  [[nodiscard]] bool is_all() const { return is_all_; }
  void run(const RuleInfo& rule, Direction direction, const void* op) const {
    if (const std::int64_t n = elements_ * examples_; n != 0) {
      kernels_.run(rule, direction, op, streams_, streams_ + inputs_, n);
    }
  }

 private:
  [[nodiscard]] bool fits(const Operand& o, unsigned parts) const {
    return parts == 1 && o.block_count == 1 && o.examples == examples_ &&
           kernels::elements_of(o.dim) == elements_;
  }
  /// `parts` is 0 if the rule has a form without the operand.
  void add(void* data, Stream::Mode mode, unsigned parts = 1) {
    if (count_ + parts > kMost) {
      is_all_ = false;
      return;
    }
    for (; parts != 0; --parts) {
      streams_[count_++] = {data, mode};
    }
  }

  static constexpr std::size_t kMost = 16;  // rules with more streams are rare

  const Kernels& kernels_;
  std::int64_t examples_;
  std::int64_t elements_;
  bool is_all_ = true;
  std::size_t count_ = 0;   ///< of streams
  std::size_t inputs_ = 0;  ///< the first ones
  Stream streams_[kMost];
};

}  // namespace dynet::ext
