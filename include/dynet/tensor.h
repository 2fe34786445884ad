#pragma once

// `Tensor`: a view of numbers in some device's memory, and tools that read and write it.

#include <iosfwd>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dim.h"
#include "dynet/globals.h"
#include "dynet/index-tensor.h"

namespace dynet {

using real = float;

/// A view: owns nothing, copies share the numbers. Dense, column-major, examples of a batch one
/// after the other: in {2,3}x4 element (i, j) of example b is number i + 2 j + 6 b. On the device
/// "CPU:double" `v` points at doubles: use as_vector and TensorTools there. Thread rule: as the
/// owner of the numbers.
struct Tensor {
  Tensor() = default;
  Tensor(const Dim& dim, float* data, Device* dev, DeviceMempool pool)
      : d(dim), v(data), device(dev), mem_pool(pool) {}

  /// First number of example `b % bd`.
  [[nodiscard]] float* batch_ptr(unsigned b) { return at(b); }
  [[nodiscard]] const float* batch_ptr(unsigned b) const { return at(b); }
  /// False if there is a NaN or an infinity.
  [[nodiscard]] bool is_valid() const;
  /// Example `b` as a tensor of its own; with batch extent 1 the same tensor for any `b`.
  /// UsageError when `b` is not below the batch extent.
  [[nodiscard]] Tensor batch_elem(unsigned b) const;
  [[nodiscard]] std::vector<Tensor> batch_elems() const;
  [[nodiscard]] bool is_double() const { return device != nullptr && device->is_double(); }

  Dim d;
  float* v = nullptr;
  Device* device = nullptr;  ///< null: host memory of floats
  DeviceMempool mem_pool = DeviceMempool::NONE;

 private:
  [[nodiscard]] float* at(unsigned b) const;
};

/// Prints a matrix, one line per row. ShapeError for a batch or more than two dimensions.
std::ostream& operator<<(std::ostream& os, const Tensor& t);
/// The only element. UsageError unless there is exactly one.
real as_scalar(const Tensor& t);
/// All elements in memory order, the batch included.
[[nodiscard]] std::vector<real> as_vector(const Tensor& t);
/// All elements in memory order, each times `a`.
[[nodiscard]] std::vector<real> as_scale_vector(const Tensor& v, float a);
/// All elements in the precision of the device.
template <int = 0>
[[nodiscard]] std::vector<double> as_double_vector(const Tensor& t);

/// Draws from `*rndeng`: uniform in [0,1); an integer in [0,n) (UsageError unless n > 0); normal.
real rand01();
int rand0n(int n);
real rand_normal();

/// Reads and writes tensors in place, in float and in double. Random numbers are drawn from
/// `*rndeng` as floats, in memory order, by the distributions of the standard library.
struct TensorTools {
  /// x = min(max(x, left), right).
  static void clip(Tensor& d, float left, float right);
  /// x = x * left + right.
  static void scale(Tensor& x, float left, float right);
  /// x = floor(x + p): draws in [0,1) become 1 with probability p.
  static void uniform_to_bernoulli(Tensor& x, float p);
  static void constant(Tensor& d, float c);
  static void zero(Tensor& d);
  /// UsageError unless `val` is a square matrix.
  static void identity(Tensor& val);
  /// `scale` with probability `p`, else 0. DomainError unless 0 <= p <= 1.
  static void randomize_bernoulli(Tensor& val, real p, real scale = 1.0F);
  /// DomainError when `stddev` is negative.
  static void randomize_normal(Tensor& val, real mean = 0.0F, real stddev = 1.0F);
  /// In [left, right). DomainError when right < left.
  static void randomize_uniform(Tensor& val, real left = 0.0F, real right = 1.0F);
  /// A random orthonormal matrix times `scale`. UsageError unless `val` is a square matrix.
  static void randomize_orthonormal(Tensor& val, real scale = 1.0F);
  /// Element by flat index or by position. IndexError when out of range.
  [[nodiscard]] static float access_element(const Tensor& v, int index);
  [[nodiscard]] static float access_element(const Tensor& v, const Dim& index);
  static void set_element(const Tensor& v, int index, float value);
  static void copy_element(const Tensor& l, int lindex, Tensor& r, int rindex);
  /// All elements, from the first numbers of `vec`. SizeError when `vec` has fewer.
  static void set_elements(const Tensor& v, const std::vector<float>& vec);
  /// v = v_src, also between devices. ShapeError unless both have as many elements.
  static void copy_elements(Tensor& v, const Tensor& v_src);
  /// v += v_src.
  static void accumulate(Tensor& v, const Tensor& v_src);

  // Along dimension `dim`, for each place in the others and each example. NaN counts as infinity;
  // of equal numbers the first comes first. ShapeError if `v` has no such dimension, or fewer
  // than `num` numbers along it.

  /// The position of the largest number; the result has 1 in the place of the dimension.
  /// UsageError unless `num` is 1.
  [[nodiscard]] static IndexTensor argmax(const Tensor& v, unsigned dim = 0, unsigned num = 1);
  /// A position drawn with probability proportional to exp(v), with uniform numbers of `*rndeng`.
  /// UsageError unless `num` is 1.
  [[nodiscard]] static IndexTensor categorical_sample_log_prob(const Tensor& v, unsigned dim = 0,
                                                               unsigned num = 1);
  /// The `num` largest numbers, largest first, and their positions. The numbers are floats of the
  /// host, which live as long as copies of the positions.
  [[nodiscard]] static std::pair<Tensor, IndexTensor> topk(const Tensor& v, unsigned dim = 0,
                                                           unsigned num = 1);
  /// m = the largest number, z = log(sum(exp(x))) along dimension `d`. ShapeError unless `m` and
  /// `z` have an element for each.
  static void logsumexp(const Tensor& x, Tensor& m, Tensor& z, unsigned d = 0);
};

}  // namespace dynet
