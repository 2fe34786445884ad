#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/ext/count.h"

#define DYNET_MAX_TENSOR_DIM 7

namespace dynet {

/// The shape of a tensor: up to seven dimensions and a batch extent. Data are column-major (first
/// index fastest), examples of a batch one after the other.
///
/// Invariant kept by every member: entries of `d` at and after `nd` are 1, so two equal shapes have
/// equal bytes. A dimension may be 0. Thread rule: a value, like an int.
struct Dim {
  unsigned d[DYNET_MAX_TENSOR_DIM] = {1, 1, 1, 1, 1, 1, 1};  ///< extents; only the first `nd` count
  unsigned nd = 0;                                           ///< number of dimensions
  unsigned bd = 1;                                           ///< batch extent

  Dim() = default;
  /// More than seven entries: SizeError. (Implicit, as programs write `{3, 4}` for a shape.)
  Dim(std::initializer_list<unsigned> x) : Dim(x, 1) {}  // NOLINT(google-explicit-constructor)
  Dim(std::initializer_list<unsigned> x, unsigned b);
  /// Negative entries: ValueError.
  Dim(const std::vector<long>& x) : Dim(x, 1) {}  // NOLINT(google-explicit-constructor)
  Dim(const std::vector<long>& x, unsigned b);

  /// Number of elements with the batch. SizeError if it does not fit 32 bits: see elements().
  [[nodiscard]] unsigned size() const;
  /// Number of elements of one example. SizeError if it does not fit 32 bits.
  [[nodiscard]] unsigned batch_size() const;
  /// Number of elements with the batch, in 64 bits. SizeError above 2^60.
  [[nodiscard]] std::int64_t elements() const { return checked_product(true); }
  /// Number of elements of one example, in 64 bits. SizeError above 2^60.
  [[nodiscard]] std::int64_t example_elements() const { return checked_product(false); }
  /// Sum of the extents. SizeError if it does not fit 32 bits.
  [[nodiscard]] unsigned sum_dims() const;
  /// Copy without trailing dimensions of 1, keeping at least one dimension.
  [[nodiscard]] Dim truncate() const;
  /// Copy with batch extent 1.
  [[nodiscard]] Dim single_batch() const {
    Dim r = *this;
    r.bd = 1;
    return r;
  }
  void resize(unsigned i);
  [[nodiscard]] unsigned ndims() const { return nd; }
  [[nodiscard]] unsigned rows() const { return d[0]; }
  [[nodiscard]] unsigned cols() const { return nd > 1 ? d[1] : 1; }
  [[nodiscard]] unsigned num_nonone_dims() const;
  [[nodiscard]] unsigned batch_elems() const { return bd; }
  /// Needs `i < nd || s == 1` and `s != 0`, else ValueError.
  void set(unsigned i, unsigned s);
  [[nodiscard]] unsigned operator[](unsigned i) const { return i < nd ? d[i] : 1; }
  [[nodiscard]] unsigned size(unsigned i) const { return (*this)[i]; }
  /// Removes dimension `i` (`i < nd`, else ValueError); the last one becomes 1 instead.
  void delete_dim(unsigned i);
  /// Removes several; all of them: `{1}`. `reduce_batch` sets the batch extent to 1.
  void delete_dims(std::vector<unsigned> dims, bool reduce_batch);
  void add_dim(unsigned n);
  void insert_dim(unsigned i, unsigned n);
  /// `{n}` becomes `{1,n}`, `{r,c}` becomes `{c,r}`; more dimensions: ShapeError.
  [[nodiscard]] Dim transpose() const;
  /// Prints `{a,b}`, without the batch.
  void print_profile(std::ostream& out) const;

 private:
  [[nodiscard]] std::int64_t checked_product(bool with_batch) const {
    ext::Count n = with_batch ? bd : 1;
    for (unsigned i = 0; i < nd; ++i) {
      n = n * d[i];
    }
    if (!n.fits(std::int64_t{1} << 60)) {
      too_large();
    }
    return n.value();
  }
  [[noreturn]] void too_large() const;
};

/// `count` as an extent. SizeError if it does not fit 32 bits; its text begins with `what`.
template <int = 0>
[[nodiscard]] unsigned to_extent(ext::Count count, const std::string& what);

/// Equal number of dimensions, extents and batch: `{3}` is not `{3,1}`.
[[nodiscard]] bool operator==(const Dim& a, const Dim& b);
[[nodiscard]] inline bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }
/// `{2,3}`, or with a batch `{2,3X4}`: the form of model files.
std::ostream& operator<<(std::ostream& os, const Dim& d);
std::ostream& operator<<(std::ostream& os, const std::vector<Dim>& ds);
std::istream& operator>>(std::istream& is, Dim& d);
/// `{2,3}x4`: the form of error messages.
template <int = 0>
[[nodiscard]] std::string to_string(const Dim& d);

}  // namespace dynet
