#pragma once

// Programs: operations that were found by running a function (dynet/cell.h), as data.
//
// In:  the steps that the function made: operations, with the numbers of the values that they read.
// Out: a Record, whose forward and backward run the steps over the kernels of the call's device.
//
// A program's values are numbered: first its arguments, then the results of its steps in order.
// Example: `logistic(affine_transform({b, w, x}))` has the arguments 0, 1 and 2; the step
// affine_transform makes value 3 and the step logistic value 4, which is the result.
//
// No step is implemented twice: a step's call goes to the record of its own operation, with
// operands of the program's call, or of scratch memory. Memory that backward needs is of three
// kinds:
//
//   kept       values that backward reads, or else results of products: saved outputs, written by
//              forward
//   way back   one saved output that backward alone writes: gradients and factors of products, so
//              that a weight's gradient can wait for the end of the pass
//   scratch    all else; backward runs the steps of missing values once more
//
// Programs of equal content are one program, so that nodes of two cells with the same formula run
// together. Programs live until the process ends: their records are keys of nodes.
//
// Start reading at intern_program. Surprising: in a merged call a value that depends on nothing but
// shared arguments has one example, in another call of the same program all examples of the call.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet/dim.h"
#include "dynet/ext/op.h"

namespace dynet::ops {

/// The number of a value.
using ValueId = std::uint32_t;
/// Stands for an absent optional argument of a step.
inline constexpr ValueId kNoValue = ~ValueId{0};

/// One operation of a program.
struct ProgramStep {
  const ext::Record* record = nullptr;
  std::shared_ptr<const std::byte> op;  ///< the operation's struct
  std::vector<ValueId> args;            ///< of the operation, absent ones included
  ValueId first = 0;                    ///< of its results
  unsigned absent = 0;                  ///< groups of optional arguments, as in ext::Call
  std::vector<unsigned> indices;        ///< payload, the same for all examples
  std::vector<float> values;
  std::vector<double> doubles;  ///< `values` for devices with such numbers
  std::vector<Dim> saved;       ///< shapes of its saved outputs, for one example

  /// Whether a gradient of an argument may be left in a sink: weights, and factors of weights.
  [[nodiscard]] bool is_product() const {
    return record->has_shared && record->rule == nullptr && record->row_rule == nullptr;
  }
};

/// The values that backward of a step may read: bit i of `args` for its argument i (all from 64
/// on), bit k of `results` for its result k.
struct StepReads {
  std::uint64_t args = ~std::uint64_t{0};
  std::uint32_t results = ~std::uint32_t{0};

  [[nodiscard]] bool reads_argument(std::size_t i) const {
    return i >= 64 || ((args >> i) & 1) != 0;
  }
  [[nodiscard]] bool reads_result(std::size_t k) const { return ((results >> k) & 1) != 0; }
};
/// For a rule its formula decides. Some other operations are listed. All others read everything.
/// Called only when a program is made, since building a formula takes time.
[[nodiscard]] StepReads reads_of(const ProgramStep& step);

/// The content of a program.
struct ProgramContent {
  std::string name;
  std::vector<bool> weights;  ///< by argument: whether the argument is a parameter
  std::vector<Dim> dims;      ///< by value: the shape of one example
  std::vector<ProgramStep> steps;
  std::vector<ValueId> results;

  [[nodiscard]] std::size_t arguments() const { return weights.size(); }
};

/// The work of a call, as it follows from the operands that the call has.
struct ProgramCase {
  struct OfValue {
    bool is_single = false;   ///< has one example beside the batch of the call
    bool is_wanted = false;   ///< depends on an argument whose gradient is wanted
    bool is_reached = false;  ///< and a result with a gradient depends on it
    bool is_needed = false;   ///< backward reads it
  };
  struct OfStep {
    bool is_active = false;  ///< backward runs it
    bool is_again = false;   ///< forward runs once more, since backward reads what was not kept
  };
  std::vector<OfValue> values;
  std::vector<OfStep> steps;

  /// The case of a call: bit a for argument a, bit k for result k.
  struct Key {
    std::uint64_t single = 0;  ///< arguments with one example beside a batch
    std::uint64_t wanted = 0;  ///< arguments whose gradients are wanted
    std::uint64_t given = 0;   ///< results that have gradients

    [[nodiscard]] bool operator==(const Key&) const = default;
  };
};

/// The most steps of a program, and the most programs of a process: beyond, nothing is interned.
inline constexpr std::size_t kMaxProgramSteps = 256;
inline constexpr std::size_t kMaxPrograms = 4096;

class Program;
/// The struct of the operation that runs a program.
struct ProgramOperation {
  const Program* program;
};

/// A program with its plan of memory. Never changes, never dies. Thread-safe.
class Program {
 public:
  /// `gradient`: adds backward as nodes; null if a step has no backward in nodes.
  Program(ProgramContent content, ext::detail::AddGradient gradient);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() = default;

  [[nodiscard]] const ProgramContent& content() const { return content_; }
  /// The operation of nodes that run the program: `Graph::add(record(), operation(), ...)`.
  [[nodiscard]] const ext::Record& record() const { return record_; }
  [[nodiscard]] const void* operation() const { return &operation_; }
  /// The shapes of the saved outputs: of kept values, then of the way back.
  [[nodiscard]] const std::vector<Dim>& saved() const { return saved_; }
  [[nodiscard]] bool is_like(const ProgramContent& content) const;
  /// The case of a call. Calls of a program are of few cases, which are kept; `own` is filled if
  /// there are too many.
  const ProgramCase& case_of(const ext::Call& call, ProgramCase& own) const;

 private:
  friend class ProgramRun;
  static constexpr std::uint8_t kNowhere = 255;

  void plan_values();
  [[nodiscard]] bool is_internal(ValueId v) const;
  void keep(ValueId v);
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] std::vector<ValueId> read_values(bool by_products_alone) const;
  [[nodiscard]] std::vector<bool> run_again() const;
  bool keep_read_values();
  void keep_products();
  void plan_kept();
  void plan_way_back();
  void make_record(ext::detail::AddGradient gradient);
  [[nodiscard]] bool is_elementwise(const ProgramStep& step) const;

  // program_case.cc
  struct KeptCase;
  [[nodiscard]] bool is_stored(ValueId v) const;
  void fill_case(const ext::Call& call, ProgramCase& to) const;
  void mark_reached(const ext::Call& call, ProgramCase& to) const;
  void mark_needed(ProgramCase& to) const;

  /// A value's places.
  struct Place {
    std::uint8_t result = kNowhere;  ///< the first result that is this value, if a step made it
    std::uint8_t kept = kNowhere;    ///< the saved output that forward writes
    std::int64_t value = -1;         ///< in numbers of an example of the way back; -1: none
    std::int64_t gradient = -1;      ///< likewise
    std::uint32_t uses = 0;          ///< by steps and results
    bool depends_on_weights = true;  ///< and on nothing else
    bool is_partly_given = false;    ///< a step gives a part of its gradient
  };

  ProgramContent content_;
  std::vector<Place> places_;     ///< by value
  std::vector<StepReads> reads_;  ///< by step
  std::vector<ValueId> shown_;    ///< by value: the argument of which it is an alias; else itself
  std::vector<Dim> saved_;        ///< the kept values, then the way back
  bool has_way_back_ = false;
  std::vector<bool> is_product_;      ///< by step
  std::vector<bool> is_elementwise_;  ///< by step
  std::vector<bool> has_arg_twice_;   ///< by step
  std::size_t operands_ = 0;          ///< of all steps: arguments, results and saved outputs
  std::size_t longest_ = 0;           ///< arguments of a step, at most
  ext::Info info_;
  ext::Record record_{};
  ProgramOperation operation_{this};
  /// The newest one of a list that grows at its front and is never taken apart.
  mutable std::atomic<const KeptCase*> cases_{nullptr};
};

/// The program of a record; null if the record is of another kind.
[[nodiscard]] const Program* program_of(const ext::Record& record, const void* op);

/// The program with this content, made if it is the first one; null if there are too many.
/// Thread-safe.
[[nodiscard]] const Program* intern_program(ProgramContent content,
                                            ext::detail::AddGradient gradient);

}  // namespace dynet::ops
