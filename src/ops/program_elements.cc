// Elementwise steps of a program. If every operand is one block, a step is one run of the device's
// loop over the blocks' memory, and no call is made for it.

#include <cstddef>

#include "dynet/ext/kernels.h"
#include "dynet/ext/rule_loop.h"

#include "kernels/one_run.h"
#include "ops/program_run.h"

namespace dynet::ops {

/// Whether the operands of the step are arguments and one result of one shape, and nothing else.
bool Program::is_elementwise(const ProgramStep& step) const {
  const ext::RuleInfo* const rule = step.record->rule;
  if (rule == nullptr || rule->has_scalar || step.absent != 0 || !step.saved.empty() ||
      step.record->outputs != 1 || rule->out_parts[0] != 1) {
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

/// A run that reads the arguments of an elementwise step.
ext::OneRun ProgramRun::run_of(std::size_t s) const {
  const ProgramStep& of = step(s);
  ext::OneRun run(call_.kernels, examples(of.first), kernels::elements_of(dim(of.first)));
  for (const ValueId a : of.args) {
    run.read(*values_[a].at, 1);
  }
  return run;
}

/// False, and nothing has run, if an operand is not one block.
bool ProgramRun::run_elements(std::size_t s) {
  const ProgramStep& of = step(s);
  ext::OneRun run = run_of(s);
  run.write(*values_[of.first].at, 1);
  if (run.is_all()) {
    run.run(*of.record->rule, ext::Direction::kForward, of.op.get());
  }
  return run.is_all();
}

/// Backward of an elementwise step, whose arguments' wanted gradients have places. False, and
/// nothing has run, if an operand is not one block.
bool ProgramRun::run_elements_back(std::size_t s) {
  const ProgramStep& of = step(s);
  ext::OneRun run = run_of(s);
  run.read(*values_[of.first].at, 1);
  run.read(*gradients_[of.first].to, 1);
  for (const ValueId a : of.args) {
    if (!case_.values[a].is_wanted) {
      run.write({}, 1);
      continue;
    }
    if (program_.has_arg_twice_[s]) {  // each of its gradients is added
      zero_fresh(gradients_[a], *gradients_[a].to);
    }
    run.write(*gradients_[a].to, 1);
  }
  if (!run.is_all()) {
    return false;
  }
  run.run(*of.record->rule, ext::Direction::kBackward, of.op.get());
  for (const ValueId a : of.args) {
    gradients_[a].is_written = gradients_[a].is_written || case_.values[a].is_wanted;
  }
  return true;
}

}  // namespace dynet::ops
