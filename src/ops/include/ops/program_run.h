#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dynet/ext/op.h"

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
  /// A value's gradient.
  struct Gradient {
    ext::Operand to;
    ext::Block block;              ///< of `to`, if one is enough
    ext::Block* blocks = nullptr;  ///< of `to`, if they may be changed
    bool is_wanted, is_reached;    ///< depends on a wanted argument; a result depends on it
    bool is_written, is_left;      ///< something was given; left in a sink
    bool lasts;                    ///< the memory outlives the call
    bool is_sum;                   ///< of an argument: in scratch memory, to be moved
  };
  /// A value's numbers.
  struct Value {
    ext::Operand at;
    ext::Block block;
    bool is_needed;
    bool lasts;
  };
  /// The saved outputs of a step.
  struct Saved {
    ext::Operand* first;
  };
  [[nodiscard]] const ProgramStep& step(std::size_t s) const { return program_.content_.steps[s]; }
  [[nodiscard]] std::size_t outputs(std::size_t s) const { return step(s).record->outputs; }
  /// Memory that is not initialised.
  template <class T>
  T* room(std::size_t count);
  template <class T>
  T* cleared(std::size_t count);

  // values
  void count_examples();
  void use_scratch(Value& value, const Dim& dim, std::int64_t examples);
  void place_forward(ValueId v);
  [[nodiscard]] bool is_stored(ValueId v) const;
  void take_stored(ValueId v);
  void place_again(ValueId v);
  void run_step(std::size_t s);
  void spread(ValueId v);
  void show_alias(std::size_t s);
  ext::Operand* arguments_of(std::size_t s);
  void set_payload(std::size_t s, ext::Call& part);
  ext::Operand payload_operand(const void* numbers, std::size_t count, std::int64_t bytes);
  ext::Operand part_of_way_back(std::int64_t offset, const Dim& dim, ext::Block* blocks) const;

  // gradients
  void find_wanted();
  void find_reached();
  void find_needed();
  void compute_again();
  void begin_gradients();
  void begin_argument(ValueId v);
  void take_result_gradients();
  const ext::Operand& target(ValueId v);
  void zero_fresh(Gradient& g, const ext::Operand& to) const;
  void give_whole(ValueId v, const ext::Operand& gradient);
  void step_back(std::size_t s);
  void run_back(std::size_t s);
  [[nodiscard]] bool may_leave_products(std::size_t s, const ext::Call& part) const;
  void finish_arguments();

  const Program& program_;
  ext::Call& call_;
  std::size_t values_count_;
  Value* values_ = nullptr;
  Gradient* gradients_ = nullptr;
  bool* is_active_ = nullptr;  ///< by step: backward runs it
  bool* is_again_ = nullptr;   ///< by step: forward runs once more
  Saved* saved_ = nullptr;     ///< by step
  std::byte* next_ = nullptr;
  std::unique_ptr<std::byte[]> own_;  ///< the memory of a call within another call
};

}  // namespace dynet::ops
