// Elementwise steps of a program. If every operand is one block, a step is one run of the device's
// loop over the blocks' memory, and no call is made for it.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/kernels.h"
#include "dynet/ext/rule_loop.h"

#include "ops/program_run.h"

namespace dynet::ops {
namespace {

constexpr std::size_t kMostStreams = 16;

/// The streams of a run. After an operand that does not fit, the list cannot run.
class StreamList {
 public:
  StreamList(const ext::Kernels& kernels, std::int64_t examples)
      : kernels_(kernels), examples_(examples) {}
  void read(const ext::Operand& o) {
    if (o.absent()) {
      add(const_cast<void*>(kernels_.zero()), ext::Stream::kRepeat);
    } else {
      fits_ = fits_ && o.one_block() && o.examples == examples_;
      add(o.blocks[0].data, ext::Stream::kRun);
    }
    inputs_ = count_;
  }
  void write(const ext::Operand& o) {
    fits_ = fits_ && o.one_block() && o.examples == examples_;
    add(o.blocks[0].data, o.blocks[0].fresh ? ext::Stream::kStore : ext::Stream::kAdd);
  }
  void skip() { add(nullptr, ext::Stream::kSkip); }
  /// False, and nothing has run, if an operand did not fit.
  bool run(const ProgramStep& step, ext::Direction direction, std::int64_t elements) const {
    if (fits_ && elements * examples_ != 0) {
      kernels_.run(*step.record->rule, direction, step.op.get(), streams_, streams_ + inputs_,
                   elements * examples_);
    }
    return fits_;
  }

 private:
  void add(void* data, ext::Stream::Mode mode) { streams_[count_++] = {data, mode}; }

  const ext::Kernels& kernels_;
  std::int64_t examples_;
  bool fits_ = true;
  std::size_t count_ = 0;
  std::size_t inputs_ = 0;  ///< the first ones
  ext::Stream streams_[kMostStreams];
};

}  // namespace

/// Whether the operands of the step are arguments and one result of one shape, and nothing else.
bool Program::is_elementwise(const ProgramStep& step) const {
  const ext::RuleInfo* const rule = step.record->rule;
  if (rule == nullptr || rule->has_scalar || step.absent != 0 || !step.saved.empty() ||
      step.record->outputs != 1 || rule->out_parts[0] != 1 ||
      2 * step.args.size() + 2 > kMostStreams) {  // the result, its gradient; arguments, theirs
    return false;
  }
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    const ValueId a = step.args[i];
    if (a == kNoValue || rule->parts[i] != 1 || content_.dims[a] != content_.dims[step.first]) {
      return false;
    }
  }
  return true;
}

bool ProgramRun::run_elements(std::size_t s) {
  const ProgramStep& of = step(s);
  StreamList streams(call_.kernels, examples(of.first));
  for (const ValueId a : of.args) {
    streams.read(*values_[a].at);
  }
  streams.write(*values_[of.first].at);
  return streams.run(of, ext::Direction::kForward, dim(of.first).example_elements());
}

bool ProgramRun::run_elements_back(std::size_t s) {
  const ProgramStep& of = step(s);
  StreamList streams(call_.kernels, examples(of.first));
  for (const ValueId a : of.args) {
    streams.read(*values_[a].at);
  }
  streams.read(*values_[of.first].at);
  streams.read(*gradients_[of.first].to);
  for (const ValueId a : of.args) {
    if (case_.values[a].is_wanted) {
      if (program_.has_arg_twice_[s]) {  // each of its gradients is added
        zero_fresh(gradients_[a], *gradients_[a].to);
      }
      streams.write(*gradients_[a].to);
    } else {
      streams.skip();
    }
  }
  if (!streams.run(of, ext::Direction::kBackward, dim(of.first).example_elements())) {
    return false;
  }
  for (const ValueId a : of.args) {
    gradients_[a].is_written = gradients_[a].is_written || case_.values[a].is_wanted;
  }
  return true;
}

}  // namespace dynet::ops
