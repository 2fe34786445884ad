// The part of a program that does not depend on the state.

#include <algorithm>
#include <cstdint>

#include "dynet/ops/linear.h"

#include "api/cell_reader.h"

namespace dynet::api {
namespace {

using ops::ProgramContent;
using ops::ProgramStep;
using ops::ValueId;

/// The arguments on which a value depends.
enum class Needs : std::uint8_t { kWeights, kInputs, kState };

Needs needs_of(const std::vector<ValueId>& args, const std::vector<Needs>& needs) {
  Needs most = Needs::kWeights;
  for (const ValueId a : args) {
    most = a == ops::kNoValue ? most : std::max(most, needs[a]);
  }
  return most;
}

/// The program with each affine_transform of inputs and state in two: bias and products of inputs,
/// then products with the state.
class Divided {
 public:
  Divided(const ProgramContent& whole, const std::vector<bool>& is_input) {
    program = {whole.name, whole.weights, {}, {}, {}};
    values_.resize(whole.dims.size());
    for (std::size_t a = 0; a < whole.arguments(); ++a) {
      values_[a] = static_cast<ValueId>(a);
      program.dims.push_back(whole.dims[a]);
      const bool is_early = a < is_input.size() && is_input[a];
      needs.push_back(whole.weights[a] ? Needs::kWeights
                                       : (is_early ? Needs::kInputs : Needs::kState));
    }
    for (ProgramStep step : whole.steps) {
      const ValueId first = step.first;
      for (ValueId& a : step.args) {
        a = a == ops::kNoValue ? a : values_[a];
      }
      if (step.record == &ext::kRecord<ops::AffineTransform>) {
        divide(step, whole.dims[first]);
      }
      for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
        values_[first + k] = static_cast<ValueId>(program.dims.size() + k);
      }
      const Dim* const dims = whole.dims.data() + first;
      const Dim* const end = dims + step.record->outputs;
      add(std::move(step), {dims, end});
    }
    for (const ValueId v : whole.results) {
      program.results.push_back(values_[v]);
    }
  }

  ProgramContent program;
  std::vector<Needs> needs;  ///< by value

 private:
  void add(ProgramStep step, const std::vector<Dim>& dims) {
    step.first = static_cast<ValueId>(program.dims.size());
    program.dims.insert(program.dims.end(), dims.begin(), dims.end());
    needs.insert(needs.end(), dims.size(), needs_of(step.args, needs));
    program.steps.push_back(std::move(step));
  }
  /// Takes the terms of inputs out of a sum into a step of their own, with the bias.
  void divide(ProgramStep& step, const Dim& dim) {
    if (needs[step.args[0]] == Needs::kState) {
      return;
    }
    std::vector<ValueId> early{step.args[0]};
    std::vector<ValueId> late{ops::kNoValue};
    bool has_inputs = false;
    for (std::size_t i = 1; i < step.args.size(); i += 2) {
      const std::vector<ValueId> term{step.args[i], step.args[i + 1]};
      const Needs of_term = needs_of(term, needs);
      has_inputs = has_inputs || of_term == Needs::kInputs;
      std::vector<ValueId>& to = of_term == Needs::kState ? late : early;
      to.insert(to.end(), term.begin(), term.end());
    }
    if (has_inputs && late.size() > 1) {
      ProgramStep sum = step;
      sum.args = early;
      add(std::move(sum), {dim});
      late[0] = static_cast<ValueId>(program.dims.size() - 1);
      step.args = late;
    }
  }

  std::vector<ValueId> values_;  ///< by value of the whole program
};

/// The steps that some results need, down to arguments and to `cut` values.
class Part {
 public:
  Part(const ProgramContent& whole, const std::vector<ValueId>& results,
       const std::vector<ValueId>& cut)
      : whole_(whole), is_needed_(whole.dims.size()), values_(whole.dims.size(), ops::kNoValue) {
    program.name = whole.name;
    find_needed(results, cut);
    // Graph::add finds the node of the step before by the first argument, if that is a parameter.
    for (const bool is_weight : {true, false}) {
      for (std::size_t a = 0; a < whole.arguments(); ++a) {
        if (is_needed_[a] && whole.weights[a] == is_weight) {
          add_argument(static_cast<ValueId>(a), static_cast<ValueId>(a), is_weight);
        }
      }
    }
    for (std::size_t k = 0; k < cut.size(); ++k) {
      if (is_needed_[cut[k]]) {
        add_argument(cut[k], static_cast<ValueId>(whole.arguments() + k), false);
      }
    }
    for (const ProgramStep& step : whole.steps) {
      if (is_needed_[step.first] && values_[step.first] == ops::kNoValue) {
        add_step(step);
      }
    }
    for (const ValueId v : results) {
      program.results.push_back(values_[v]);
    }
  }

  ProgramContent program;
  std::vector<ValueId> args;  ///< as in SplitContent

 private:
  /// A step is needed if one of its results is; its first value stands for it.
  void find_needed(const std::vector<ValueId>& results, const std::vector<ValueId>& cut) {
    for (const ValueId v : results) {
      is_needed_[v] = true;
    }
    for (std::size_t s = whole_.steps.size(); s-- > 0;) {
      const ProgramStep& step = whole_.steps[s];
      bool runs = false;
      for (ValueId v = step.first; v < step.first + step.record->outputs; ++v) {
        runs = runs || (is_needed_[v] && std::find(cut.begin(), cut.end(), v) == cut.end());
      }
      if (runs) {
        is_needed_[step.first] = true;
        for (const ValueId a : step.args) {
          if (a != ops::kNoValue) {
            is_needed_[a] = true;
          }
        }
      }
    }
  }
  void add_argument(ValueId v, ValueId as, bool is_weight) {
    values_[v] = static_cast<ValueId>(program.dims.size());
    program.dims.push_back(whole_.dims[v]);
    program.weights.push_back(is_weight);
    args.push_back(as);
  }
  void add_step(ProgramStep step) {
    for (ValueId& a : step.args) {
      a = a == ops::kNoValue ? a : values_[a];
    }
    const ValueId first = step.first;
    step.first = static_cast<ValueId>(program.dims.size());
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      values_[first + k] = step.first + k;
      program.dims.push_back(whole_.dims[first + k]);
    }
    program.steps.push_back(std::move(step));
  }

  const ProgramContent& whole_;
  std::vector<bool> is_needed_;
  std::vector<ValueId> values_;  ///< by value of the whole program
};

/// Which steps depend on inputs, and on no state.
class FirstSteps {
 public:
  explicit FirstSteps(const Divided& divided) : program_(divided.program) {
    const std::size_t args = program_.arguments();
    is_first_.resize(program_.dims.size());
    for (std::size_t v = args; v < is_first_.size(); ++v) {
      is_first_[v] = divided.needs[v] == Needs::kInputs;
    }
  }
  /// The values that other steps read, or that are results: at most `most`. Steps whose values are
  /// too many stay with the state.
  std::vector<ValueId> ends(std::size_t most) {
    std::vector<ValueId> found = find_ends();
    while (found.size() > most) {
      give_up(found.back());
      found = find_ends();
    }
    return found;
  }

 private:
  [[nodiscard]] std::vector<ValueId> find_ends() const {
    std::vector<bool> is_end(is_first_.size());
    for (const ProgramStep& step : program_.steps) {
      for (const ValueId a : step.args) {
        if (a != ops::kNoValue && is_first_[a] && !is_first_[step.first]) {
          is_end[a] = true;
        }
      }
    }
    for (const ValueId v : program_.results) {
      is_end[v] = is_end[v] || is_first_[v];
    }
    std::vector<ValueId> ends;
    for (ValueId v = 0; v < is_end.size(); ++v) {
      if (is_end[v]) {
        ends.push_back(v);
      }
    }
    return ends;
  }
  /// The step of the last end runs with the state. No other first step needs it, since the values
  /// of such a step would be later ends, or lead to them.
  void give_up(ValueId value) {
    for (const ProgramStep& step : program_.steps) {
      const ValueId end = step.first + step.record->outputs;
      for (ValueId v = step.first; value >= step.first && value < end && v < end; ++v) {
        is_first_[v] = false;
      }
    }
  }

  const ProgramContent& program_;
  std::vector<bool> is_first_;  ///< by value
};

}  // namespace

SplitContent split(const ProgramContent& whole, const std::vector<bool>& is_input) {
  const Divided divided(whole, is_input);
  const std::vector<ValueId> ends = FirstSteps(divided).ends(ext::kMaxOutputs);
  Part rest(divided.program, divided.program.results, ends);
  if (ends.empty() || rest.program.steps.empty()) {
    Part all(whole, whole.results, {});
    return {std::nullopt, std::move(all.program), {}, std::move(all.args)};
  }
  Part first(divided.program, ends, {});
  return {std::move(first.program), std::move(rest.program), std::move(first.args),
          std::move(rest.args)};
}

}  // namespace dynet::api
