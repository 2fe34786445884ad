#pragma once

// The description of an operation, the shapes that its shape rule gets, and the operands of a call.
// Example: for two nodes affine_transform({b, W, x}) with the same W {4,3} and x {3}, a call has
// `examples` 2, two examples in the operand x and one in W.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dynet/dim.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/operand.h"

namespace dynet::ext {

/// The treatment of an argument when nodes of equal key run together.
enum class Role : std::uint8_t {
  kStacked,  ///< per example: laid one after the other
  kShared,   ///< one storage for all members of a call (a weight)
  kEither,   ///< shared if the members have the same storage there, else per example
  kWhole,    ///< the operation mixes the examples of its batch (see Call)
};
enum class Payload : std::uint8_t { kNone, kIndices, kValues };
/// The owner of a list of indices in a payload.
enum class IndicesPer : std::uint8_t {
  kExample,  ///< each example of the result has its own (or all have the same): a list makes a
             ///< batch
  kNode      ///< the node has one list of any length, whatever its batch
};
/// The elements of a saved output.
enum class SavedAs : std::uint8_t {
  kNumbers,  ///< in the device's number type
  kIndices   ///< unsigned integers of 32 bits: the place of a maximum, a permutation
};
/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t saved_bytes(SavedAs as, Number number) {
  return as == SavedAs::kIndices ? 4 : bytes_of(number);
}
/// The part of a parameter's storage that is the value of a node without arguments.
enum class Storage : std::uint8_t {
  kNone,
  kWhole,  ///< the value is the storage
  kRows    ///< the rows that the indices say, as a batch
};
/// The receiver of the gradient of a node's value.
enum class GradientTo : std::uint8_t {
  kArguments,
  kNowhere,  ///< the node keeps it
  kStorage,  ///< a parameter's: all its nodes share one gradient
  kRows      ///< the rows that were read
};

/// The arguments that a call of a sum of terms has (kTermArgs in properties.h).
enum class Part : std::uint8_t {
  kWhole,
  kFirst,  ///< the heads, and some terms
  kRest    ///< all other arguments
};

inline constexpr std::size_t kMaxArgs =
    8;  ///< named arguments of an operation that is not variadic
inline constexpr std::size_t kMaxAttrs = 8;
inline constexpr std::size_t kMaxOutputs = 4;
inline constexpr std::size_t kMaxSaved = 6;  ///< saved outputs

/// The texts of an operation. Python, the reference page and error messages are printed from here.
struct Info {
  std::string_view name;                            ///< the name in errors and graphs
  std::array<std::string_view, kMaxArgs> args{};    ///< argument names; variadic: of the list
  std::array<std::string_view, kMaxAttrs> attrs{};  ///< attribute names, in member order
  std::string_view payload{};                       ///< name of the payload, if there is one
  std::string_view formula{};
  std::string_view summary{};
  std::string_view shapes{};  ///< e.g. "{m,k}, {k,n}xb -> {m,n}xb"
  std::string_view errors{};
  std::string_view source{};  ///< where the formula comes from
  std::string_view cpp{};     ///< C++ name if it differs: "operator+"; "-": no generated function
  std::string_view python{};  ///< Python name if it differs: "__add__"; "-": none generated
  std::string_view python_batch{};  ///< Python name of the form with one index per example
  std::string_view mirrored{};  ///< Python name of `scalar op x`: "__radd__"; C++ gets it as well
  /// Python's parameter names if they differ, in the order arguments, payload, attributes: "e,
  /// index=0, dim". Only a payload index may have a default here.
  std::string_view python_params{};
};

/// The shape of an absent argument (kOptional).
[[nodiscard]] inline Dim absent() {
  Dim d;
  d.bd = 0;
  return d;
}
[[nodiscard]] inline bool is_absent(const Dim& d) { return d.bd == 0; }

/// Shapes of the arguments, as a shape rule sees them: one example each (bd is 1), except for
/// operations with a whole role, which see the batch too.
class Shapes {
 public:
  /// `shown`: the shapes as messages print them, with their batches; none: `dims`.
  Shapes(const Info& info, std::span<const Dim> dims, unsigned batch, std::uint32_t payload,
         std::span<const Dim> shown = {})
      : info_(info),
        dims_(dims),
        shown_(shown.empty() ? dims : shown),
        batch_(batch),
        payload_(payload) {}
  const Dim& operator[](std::size_t i) const { return dims_[i]; }
  /// Whether argument i is there (kOptional).
  [[nodiscard]] bool has(std::size_t i) const { return !is_absent(dims_[i]); }
  [[nodiscard]] std::size_t size() const { return dims_.size(); }
  /// Examples of the result by the batch rule (every argument has this many or 1).
  [[nodiscard]] unsigned batch() const { return batch_; }
  /// Number of indices or values given.
  [[nodiscard]] std::uint32_t payload() const { return payload_; }
  /// Throws ShapeError: "name(a, b): a is {..} and b is {..}; want `wanted`".
  [[noreturn]] void fail(std::string_view wanted) const;
  [[noreturn]] void fail_value(std::string_view wanted) const;  ///< as a ValueError
  /// Throws SizeError: "name(a, b): a is {..} and b is {..}; `what`".
  [[noreturn]] void fail_size(const std::string& what) const;
  /// `count` as an extent of the result or of a saved output. SizeError, which names the operation
  /// and all shapes, if it does not fit 32 bits.
  [[nodiscard]] unsigned extent(Count count) const {
    if (!count.fits(std::int64_t{0xFFFFFFFF})) {
      fail_size("an extent of the result would be " + count.text() + "; want at most 4294967295");
    }
    return static_cast<unsigned>(count.value());
  }

 private:
  const Info& info_;
  std::span<const Dim> dims_;
  std::span<const Dim> shown_;
  unsigned batch_;
  std::uint32_t payload_;
};

class Memory;  // memory.h

/// Device memory that a call may use while it runs. Thread rule: as the call.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  virtual ~ScratchMemory() = default;
  /// `bytes` bytes that start on a multiple of 64, not initialised. out_of_memory.
  virtual void* take(std::int64_t bytes) = 0;
  /// The memory of the call's numbers, from which the scratch memory is taken.
  [[nodiscard]] virtual Memory& memory() const = 0;
};

/// The operands of forward and backward of an operation. In a merged call they hold the examples of
/// all members. If an argument has Role::kWhole, the nodes of a call have batches of equal size,
/// and the batch of a node counts as one example in all operands: the last dimension is the batch,
/// {3,4}x5 is {3,4,5}. (Of seven dimensions the first two are joined.)
struct Call {
  explicit Call(const Kernels& k, ScratchMemory* m = nullptr) : kernels(k), memory(m) {}
  const Kernels& kernels;
  ScratchMemory* memory;      ///< source of scratch()
  std::int64_t examples = 0;  ///< of the result (Role::kWhole: nodes)
  unsigned absent = 0;        ///< groups of optional arguments (bit g - 1: group g)
  Part part = Part::kWhole;   ///< of sums of terms
  std::span<const Operand> in;
  std::span<const Operand> out;    ///< forward: to be written. backward: values
  std::span<const Operand> saved;  ///< written by forward, read by backward
  std::span<const Operand> d_out;  ///< backward; absent if nobody used the output
  std::span<const Operand> d_in;   ///< backward; absent if no gradient is wanted
  /// Payload: n indices {n} per example, of type unsigned. If the operation has a list per node
  /// (IndicesPer::kNode), one example stands for all if they have the same list.
  Operand indices;
  Operand values;  ///< payload: n numbers {n} per example; one example if all have the same
  /// Random nodes: one key per member of the call and how many examples each has.
  struct Random {
    RandomKey key;
    std::int64_t examples;
  };
  std::span<const Random> random;
  /// A result of backward: bit i is set if the gradient of operand i was left in its sink
  /// (weight_gradient) and not written.
  std::uint64_t left_for_later = 0;

  /// Device memory for the length of this call, such as the workspace of a factorisation: starts on
  /// a multiple of 64 bytes, is not initialised. out_of_memory.
  template <class T = void>
  [[nodiscard]] T* scratch(std::int64_t bytes) const {
    return static_cast<T*>(memory->take(bytes));
  }
  /// Whether a call of a sum of terms has the arguments before the terms, and the state behind
  /// these arguments.
  [[nodiscard]] bool has_heads() const { return part != Part::kRest; }
  [[nodiscard]] bool has_state() const { return part != Part::kFirst; }
  /// The indices of all examples, one after the other: `indices.size()` each. They lie in one
  /// block.
  [[nodiscard]] const unsigned* index_data() const { return indices.data<const unsigned>(); }
};

/// dW = or += dy * transpose(x), where W is operand `operand` of the call and wants its gradient:
/// at once, or left for later if `d_in` has a sink. Once per operand and call.
void weight_gradient(Call& call, std::size_t operand, const Operand& dy, const Operand& x);

/// Calls `compute` with memory that the host can touch, for operations that say kOnHost: the call
/// itself if its memory is the host's, else a call with copies of all operands, and with the
/// kernels of the CPU for the same numbers. The results of `compute` then go to the device, unless
/// it throws. `saved_as`: the elements of each saved output.
void call_on_host(Call& call, Direction direction, std::span<const SavedAs> saved_as,
                  const void* op, void (*compute)(const void* op, Call& call));

}  // namespace dynet::ext
