#pragma once

// The loops of a device. Operations are written over these loops; a new device implements this
// class and its memory (memory.h), and nothing else. `run_call` takes elementwise rules (rule.h),
// `run_rows_call` rules over rows (over.h): both have a default that cuts the call for `run` and
// `run_rows`. A device that pays for each start, a GPU, overrides the functions that take a whole
// call or a list. Example: the transpose of {2,3} is one move over the box
// {2,3} with from_stride {1,2} and to_stride {3,1}.
//
// All numbers and indices lie in the device's memory, and a device may run a call later: memory.h
// has the rules for its queue. All other arguments of a call (operands and their blocks, streams,
// attributes, constants) lie in the host's memory and are read before the call returns.
//
// Every operand may consist of several blocks (operand.h). Each block of a written operand says
// whether numbers are stored or added (`fresh`); `Write` can override the blocks for outputs that
// an operation fills in several calls. Operands with one example beside others with n are repeated
// when read, and summed over the examples when written. Shapes were checked when the node was
// built: these functions do not check them again.

#include <cstdint>
#include <optional>
#include <span>

#include "dynet/ext/operand.h"

namespace dynet::ext {

enum class Write : std::uint8_t {
  kAsBlocks,
  kStore,
  kAdd,
  kMax  ///< of move() alone: the larger of old and new number; NaN if either is
};
enum class Transposed : std::uint8_t { kNo, kYes };
/// The factors of a product.
struct Factors {
  const Operand* a;
  const Operand* b;
};
/// A result of Kernels::products: c = or += the sum of op(a) * b over one pair of factors or more.
/// Example: with transposed matrices the gradient of x, which several matrices multiply.
struct ProductSum {
  std::span<const Factors> pairs;
  const Operand* c = nullptr;
  Transposed ta = Transposed::kNo;  ///< of each a
  Write write = Write::kAsBlocks;
  /// {m}, or null: every column of every example of c starts from it, and c is stored, whatever
  /// `write` and the blocks of c say.
  const Operand* start = nullptr;
};

/// A box of elements, the same in each example: element (i0, i1, ...) of the box is read at
/// `from_offset + sum i_k * from_stride[k]` and written at `to_offset + sum i_k * to_stride[k]`.
/// A `from_stride` of 0 repeats, a `to_stride` of 0 sums. Strides are in elements.
struct Move {
  Dim box;  ///< extents; bd is ignored
  std::int64_t from_stride[DYNET_MAX_TENSOR_DIM] = {};
  std::int64_t to_stride[DYNET_MAX_TENSOR_DIM] = {};
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  double scale = 1.0;
  /// Indices shift the offsets, by index * from_index_stride when reading and by
  /// index * to_index_stride when writing. Absent: nothing is shifted. Each example has one index,
  /// or (`index_axis` below the dimensions of the box) one for each i_k of that axis k, or one for
  /// each element. A place that is written several times gets the sum, or with Write::kMax the
  /// largest number. One example stands for all.
  Operand index;  ///< of type unsigned, {1}, {extent of the axis} or the box's shape per example
  unsigned index_axis = kPerExample;
  std::int64_t from_index_stride = 0;
  std::int64_t to_index_stride = 0;

  static constexpr unsigned kPerExample = DYNET_MAX_TENSOR_DIM;
  static constexpr unsigned kPerElement = DYNET_MAX_TENSOR_DIM + 1;
};
/// Column-major strides of `d`.
void strides_of(const Dim& d, std::int64_t (&stride)[DYNET_MAX_TENSOR_DIM]);
/// The move that copies whole examples of `elements` elements in memory order.
[[nodiscard]] Move whole_move(std::int64_t elements, double scale = 1.0);
/// The reverse of `m`, for gradients: reads the places that `m` writes, and writes the places that
/// it reads.
[[nodiscard]] Move reversed(Move m);

/// The key of a random node: element i of the node's value is a function of the key and i alone, so
/// no schedule can change it.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;   ///< the graph's
  std::uint64_t ordinal = 0;  ///< of the node among the random nodes of its graph
  std::uint64_t evaluation = 0;
};
enum class Distribution : std::uint8_t { kBernoulli, kNormal, kUniform, kGumbel };

/// Where running sums begin.
enum class ScanFrom : std::uint8_t { kStart, kEnd };
/// In which order selected elements are named.
enum class Order : std::uint8_t {
  kDescending,   ///< the largest first
  kAsTheyStand,  ///< by position
};

struct Call;      // info.h
struct Chain;     // chain.h
struct RuleInfo;  // rule_loop.h
struct Stream;
struct RowRule;  // rows.h
struct RowCall;
/// A rule's loop of values, or its loop of gradients.
enum class Direction : std::uint8_t { kForward, kBackward };

/// One run of a list: the streams of Kernels::run.
struct RuleRun {
  const Stream* in;
  const Stream* out;
  std::int64_t n;
};
/// An addition of a list: *to = or += scale * *from.
struct Addition {
  const void* from;
  void* to;
  bool stores;
};
/// Numbers in a row.
struct NumberRun {
  const void* data;
  std::int64_t n;
};

/// One device's loops. Thread rule: const, without state; any number of threads.
class Kernels {
 public:
  Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  virtual ~Kernels() = default;

  [[nodiscard]] virtual Number number() const = 0;
  /// A zero in the device's memory, of the size of the largest number: absent operands are read
  /// here.
  [[nodiscard]] virtual const void* zero() const = 0;

  /// Runs a rule over a whole call: arguments of any number of blocks, broadcast, repeated or
  /// summed; `op` is the operation. The default cuts the call into runs (rule_cutter.cc).
  virtual void run_call(const RuleInfo& rule, Direction direction, const void* op,
                        const Call& call) const;
  /// Runs a rule over rows over a whole call. The default cuts the call into boxes of rows
  /// (row_cutter.cc).
  virtual void run_rows_call(const RowRule& rule, Direction direction, const void* op,
                             const Call& call) const;
  /// Runs a rule over several runs that share no written memory. The default calls run().
  virtual void run_all(const RuleInfo& rule, Direction direction, const void* op,
                       std::span<const RuleRun> runs) const;
  /// Runs a rule over n elements: `op` is the operation, `in` and `out` are its streams in the
  /// order that RuleLoop (rule_loop.h) states. Rules without values or gradients are not run.
  virtual void run(const RuleInfo& rule, Direction direction, const void* op, const Stream* in,
                   const Stream* out, std::int64_t n) const = 0;
  /// Runs a rule over rows. The call names no operation, so that it can be queued or sent away.
  virtual void run_rows(const RowRule& rule, Direction direction, const RowCall& call) const = 0;

  /// y = or += scale * x over a box: copies, slices, concatenation, transposition, repetition,
  /// sums, and (kMax) maxima.
  virtual void move(const Move& m, const Operand& x, const Operand& y,
                    Write write = Write::kAsBlocks) const = 0;
  /// c = or += op(a) * op(b), example by example; {m,k} * {k,n}. A dimension missing counts as 1.
  virtual void product(const Operand& a, Transposed ta, const Operand& b, Transposed tb,
                       const Operand& c, Write write = Write::kAsBlocks) const = 0;
  /// Sums of products, none of which reads the result of another. The default computes one after
  /// the other.
  virtual void products(std::span<const ProductSum> all) const;
  /// One of them: c = or += the sum of transpose(a) * b, {k,m} and {k,n} to {m,n}.
  void transposed_products(std::span<const Factors> all, const Operand& c,
                           Write write = Write::kAsBlocks) const;
  /// One of them: c = start + a * b.
  void product_plus(const Operand& start, const Operand& a, const Operand& b,
                    const Operand& c) const;
  /// c = or += a * transpose(b), as product(), and the squared norm of the resulting c, if no
  /// further pass over c is necessary. For gradients of weights, whose norm clipping needs.
  [[nodiscard]] virtual std::optional<double> product_with_norm(const Operand& a, const Operand& b,
                                                                const Operand& c) const;
  /// y = or += running sums of x along dimension `axis`: each element with all before it, or (kEnd)
  /// with all after it. For cumulative sums and their gradients, and for sums over the beginnings
  /// of sorted lines. Bound: half a rounding of each result, and a rounding in double of each sum.
  virtual void scan(unsigned axis, ScanFrom from, const Operand& x, const Operand& y) const = 0;
  /// The positions, of type unsigned, of the largest elements of each line of x along dimension
  /// `axis`: the extent of `places` there is their number. NaN counts as the largest; of equal
  /// elements the first comes first. For sorting, the k best, and pooling; a move by kPerElement
  /// takes the elements.
  virtual void select(unsigned axis, Order order, const Operand& x,
                      const Operand& places) const = 0;
  /// By LU factorisation with exchange of rows: inverse = or += the inverse of each example of `a`,
  /// {n,n}, NaN if a pivot is 0; log_det = or += the logarithm of its determinant, {1}, NaN
  /// if that is negative. Either may be absent. For small dense matrices. Bound: n roundings
  /// times the condition of `a`.
  virtual void invert(const Operand& a, const Operand& inverse, const Operand& log_det) const = 0;
  /// The sum over all paths through a chain of steps, the best path, or the score of a path, and
  /// the gradients: chain.h. For conditional random fields and alignments. Bound: for each step a
  /// few roundings, a logarithm, and an exponential for each predecessor of a state.
  virtual void chain(const Chain& c, Direction direction) const = 0;
  /// Fills n elements. Bernoulli: b with probability a, else 0. Normal: mean a, deviation b.
  /// Uniform: [a, b). Gumbel: a - b * ln(-ln(u)), location a and scale b.
  virtual void random(Distribution kind, double a, double b, const RandomKey& key, void* out,
                      std::int64_t n) const = 0;
  /// Sets n elements to `value`.
  virtual void fill(void* out, double value, std::int64_t n) const = 0;
  /// y = or += scale * x, n elements in a row.
  virtual void add_scaled(double scale, const void* x, void* y, std::int64_t n,
                          bool store) const = 0;
  /// Additions of n elements each, in the order of the list: several may have the same `to`.
  /// The default calls add_scaled().
  virtual void add_all(double scale, std::span<const Addition> all, std::int64_t n) const;
  /// *sum += the squares of n elements. `sum` lies in the device's memory, so that the host does
  /// not wait.
  virtual void add_squared_norm(const void* x, std::int64_t n, double* sum) const = 0;
  /// *sum += the squares of all numbers of several runs. The default calls add_squared_norm().
  virtual void add_squared_norms(std::span<const NumberRun> all, double* sum) const;
};

}  // namespace dynet::ext
