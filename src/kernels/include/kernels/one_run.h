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
/// examples, or, if only read, one number for all elements. The parts of an example lie side by
/// side, so a call of one example has a stream for each part. Use: `read` all inputs and `write`
/// all results, in the order of RuleLoop; then `run`, unless an operand did not fit.
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
      add_like(const_cast<void*>(kernels_.zero()), Stream::kRepeat, parts);
    } else if (fits(o, parts)) {
      add_parts(o, Stream::kRun, parts);
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
      add_like(nullptr, Stream::kSkip, parts);
    } else if (fits(o, parts)) {
      add_parts(o, o.blocks[0].fresh ? Stream::kStore : Stream::kAdd, parts);
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
    return (parts == 1 || (parts > 1 && examples_ == 1)) && o.block_count == 1 &&
           o.examples == examples_ && kernels::elements_of(o.dim) == elements_ * parts;
  }
  void add(void* data, Stream::Mode mode) {
    if (count_ == kMost) {
      is_all_ = false;
      return;
    }
    streams_[count_++] = {data, mode};
  }
  void add_like(void* data, Stream::Mode mode, unsigned parts) {
    for (; parts != 0; --parts) {  // 0 if the rule has a form without the operand
      add(data, mode);
    }
  }
  void add_parts(const Operand& o, Stream::Mode mode, unsigned parts) {
    auto* const data = o.data<std::byte>();
    add(data, mode);
    for (unsigned p = 1; p < parts; ++p) {
      add(data + p * elements_ * bytes_of(kernels_.number()), mode);
    }
  }

  static constexpr std::size_t kMost = 32;  // rules with more streams are rare

  const Kernels& kernels_;
  std::int64_t examples_;
  std::int64_t elements_;
  bool is_all_ = true;
  std::size_t count_ = 0;   ///< of streams
  std::size_t inputs_ = 0;  ///< the first ones
  Stream streams_[kMost];
};

}  // namespace dynet::ext
