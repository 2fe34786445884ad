#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dynet/ext/op.h"

#include "kernels/one_run.h"
#include "ops/program.h"

namespace dynet::ops {

/// One call of a program, forward or backward. Its lists lie in memory of the thread that is used
/// again. Not thread-safe.
class ProgramRun {
 public:
  ProgramRun(const Program& program, ext::Call& call);
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;
  ~ProgramRun();

  void forward();
  void backward();

 private:
  /// A value's numbers.
  struct Value {
    const ext::Operand* at;
    bool lasts;  ///< the memory outlives the call
  };
  /// A value's gradient.
  struct Gradient {
    const ext::Operand* to = nullptr;  ///< where it is stored or added next; null: nowhere so far
    ext::Block* blocks = nullptr;      ///< of `to`, if they may be changed
    bool is_written = false;           ///< something was given
    bool is_left = false;              ///< in a sink
    bool lasts = false;                ///< the memory outlives the call
    bool is_sum = false;               ///< of an argument: in scratch memory, to be moved
  };
  /// The saved outputs of a step.
  struct Saved {
    ext::Operand* first;
  };
  [[nodiscard]] const ProgramStep& step(std::size_t s) const { return program_.content_.steps[s]; }
  [[nodiscard]] std::size_t outputs(std::size_t s) const { return step(s).record->outputs; }
  [[nodiscard]] const Dim& dim(ValueId v) const { return program_.content_.dims[v]; }
  [[nodiscard]] std::int64_t examples(ValueId v) const {
    return case_.values[v].is_single ? 1 : call_.examples;
  }
  /// Memory that is not initialised.
  template <class T>
  T* room(std::size_t count);
  std::byte* take_lists();
  const ext::Operand* absent(ValueId v);
  ext::Operand* in_scratch(ValueId v, ext::Block*& block);

  // values
  void place_forward(ValueId v);
  void take_stored(ValueId v);
  void place_again(ValueId v);
  void run_step(std::size_t s);
  void spread(ValueId v);
  void show_alias(std::size_t s);
  ext::Operand* arguments_of(std::size_t s);
  void set_payload(std::size_t s);
  ext::Operand payload_operand(const void* numbers, std::size_t count, std::int64_t bytes);
  ext::Operand* part_of_way_back(std::int64_t offset, ValueId v, ext::Block*& blocks);

  // gradients
  void compute_again();
  void begin_gradients();
  void begin_argument(ValueId v);
  void take_result_gradients();
  const ext::Operand& target(ValueId v);
  void zero_fresh(const Gradient& g, const ext::Operand& to) const;
  void give_whole(ValueId v, const ext::Operand& gradient);
  void step_back(std::size_t s);
  void run_back(std::size_t s);
  void give_results(std::size_t s);
  ext::Operand* gradients_of_arguments(std::size_t s);
  [[nodiscard]] bool may_leave_products(std::size_t s) const;
  void finish_arguments();

  // program_elements.cc
  [[nodiscard]] ext::OneRun run_of(std::size_t s) const;
  bool run_elements(std::size_t s);
  bool run_elements_back(std::size_t s);

  const Program& program_;
  ext::Call& call_;
  ProgramCase own_case_;
  const ProgramCase& case_;
  std::unique_ptr<std::byte[]> own_;  ///< the memory of a call within another call
  std::byte* end_ = nullptr;
  std::byte* next_;
  ext::Call part_;  ///< the call of the step that runs
  bool has_payload_ = false;
  Value* values_;
  Gradient* gradients_ = nullptr;
  Saved* saved_;  ///< by step
};

}  // namespace dynet::ops
