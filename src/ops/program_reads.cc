// Which values backward of a step reads.

#include <algorithm>
#include <array>
#include <vector>

#include "dynet/ext/gradient.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/shape.h"

#include "ops/program.h"

namespace dynet::ops {
namespace {

/// Gets the formula of a rule's gradients, and ends if the rule has none.
class FormulaGetter final : public ext::GradientBuilder {
 public:
  struct NoFormula {};
  std::vector<bool> inputs;  ///< by number of the rule's inputs: whether the formula has it

  void give(const ext::Formula& formula) override {
    for (const ext::Formula::Step& step : formula.steps) {
      if (step.word == ext::Word::kInput) {
        inputs.resize(std::max<std::size_t>(inputs.size(), step.input + std::size_t{1}));
        inputs[step.input] = true;
      }
    }
  }
  [[nodiscard]] std::size_t args() const override { throw NoFormula(); }
  [[nodiscard]] bool wants(std::size_t /*i*/) const override { throw NoFormula(); }
  [[nodiscard]] Node in(std::size_t /*i*/) const override { throw NoFormula(); }
  [[nodiscard]] Node out(std::size_t /*k*/) const override { throw NoFormula(); }
  Node d_out(std::size_t /*k*/) override { throw NoFormula(); }
  [[nodiscard]] Dim dim(Node /*n*/) const override { throw NoFormula(); }
  [[nodiscard]] std::uint32_t index_count() const override { throw NoFormula(); }
  Node add(const ext::Record& /*record*/, const void* /*op*/, std::span<const Node> /*args*/,
           const Indices& /*indices*/) override {
    throw NoFormula();
  }
  Node drawn_again(const ext::Record& /*record*/, const void* /*op*/, Node /*x*/) override {
    throw NoFormula();
  }
  Node constant(const Dim& /*shape*/, double /*value*/) override { throw NoFormula(); }
  Node indices_as_numbers(const Dim& /*shape*/) override { throw NoFormula(); }
  Node scaled(Node /*x*/, double /*factor*/) override { throw NoFormula(); }
  Node reshaped(Node /*x*/, const Dim& /*shape*/) override { throw NoFormula(); }
  void give(std::size_t /*i*/, Node /*gradient*/) override { throw NoFormula(); }

 protected:
  void add_slopes(const RuleAt& /*at*/, const ext::Formula& /*formula*/,
                  std::span<Node> /*d_in*/) override {
    throw NoFormula();
  }
};

/// The inputs of a rule's loop of gradients are parts of the arguments, a number of the payload,
/// then parts of the results.
StepReads reads_of_rule(const ProgramStep& step, const std::vector<bool>& inputs) {
  const ext::RuleInfo& rule = *step.record->rule;
  std::size_t next = 0;
  const auto is_read = [&](std::size_t parts) {
    bool any = false;
    for (const std::size_t end = next + parts; next < end; ++next) {
      any = any || (next < inputs.size() && inputs[next]);
    }
    return any;
  };
  StepReads reads{0, 0};
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    reads.args |= std::uint64_t{is_read(rule.parts[i])} << i;
  }
  next += rule.has_scalar ? 1 : 0;
  for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
    reads.results |= std::uint32_t{is_read(rule.out_parts[k])} << k;
  }
  return reads;
}

}  // namespace

StepReads reads_of(const ProgramStep& step) {
  const std::array products{&ext::kRecord<AffineTransform>, &ext::kRecord<MatMul>};
  const std::array moves{&ext::kRecord<PickRange>, &ext::kRecord<Pick>, &ext::kRecord<Concatenate>,
                         &ext::kRecord<Sum>};
  if (std::find(products.begin(), products.end(), step.record) != products.end()) {
    return {.results = 0};
  }
  if (std::find(moves.begin(), moves.end(), step.record) != moves.end()) {
    return {0, 0};
  }
  if (step.record->rule == nullptr || step.record->gradient == nullptr || step.absent != 0) {
    return {};
  }
  FormulaGetter formula;
  try {
    step.record->gradient(step.op.get(), 0, formula);
  } catch (const FormulaGetter::NoFormula&) {
    return {};
  }
  return reads_of_rule(step, formula.inputs);
}

}  // namespace dynet::ops
