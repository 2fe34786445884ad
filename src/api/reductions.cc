#include <cstdint>
#include <span>
#include <string>

#include "dynet/except.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/leaves.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

#include "api/functions.h"

// Reductions over dimensions and over the batch. Reductions of the batch are compositions, as a
// node of a merged call does not see the whole batch.

namespace dynet {
namespace {

enum class Reduction : std::uint8_t { kSum, kMoment, kDeviation };
using enum Reduction;

/// The reduced part: `dims`, or every dimension if `all` is set, and the batch if `batch` is set.
struct Span {
  std::span<const unsigned> dims = {};
  bool batch = false;
  unsigned n = 0;  ///< the divisor of means; 0: the number of elements
  bool all = false;
};

template <class Op>
Expression node(const Op& op, Where where, std::same_as<Expression> auto const&... args) {
  const Expression all[] = {args...};
  return ext::add_node(op, all, where);
}

/// A reduction whose dimensions are listed.
class Reducer {
 public:
  Reducer(const Expression& x, const ops::DimSet& dims, bool batch, unsigned n, Where where)
      : x_(x), dims_(dims), batch_(batch), n_(n), where_(where) {
    if (batch_ && n_ == 0) {
      const Dim shape = x.dim();
      n_ = shape.bd;
      for (const unsigned d : dims) {
        n_ *= shape[d];
      }
    }
  }
  [[nodiscard]] Expression sum() const {
    return over_batch(dims_.count == 0 ? x_ : node(ops::SumDim{dims_}, where_, x_));
  }
  [[nodiscard]] Expression moment(const Expression& of, unsigned r) const {
    return over_batch(r == 1 ? node(ops::MeanDim{dims_, n_}, where_, of)
                             : node(ops::MomentDim{dims_, r, n_}, where_, of));
  }
  [[nodiscard]] Expression deviation() const {
    if (!batch_) {
      return node(ops::StdDim{dims_, n_}, where_, x_);
    }
    Dim kept = x_.dim().single_batch();
    for (const unsigned d : dims_) {
      kept.d[d] = 1;
    }
    const Expression mean = node(ops::Reshape{kept}, where_, moment(x_, 1));
    return root(moment(node(ops::Subtract{}, where_, x_, mean), 2));
  }

 private:
  /// With the gradient of std_dim: 0 if the variance is 0.
  [[nodiscard]] Expression root(const Expression& variance) const {
    const detail::LocatedGraph graph(*x_.pg, where_);
    Device* const device = api::device_of(x_);
    const Expression zero = input(graph, 0.0F, device);
    const Expression one = input(graph, 1.0F, device);
    const Expression divisor = node(ops::Choose{}, where_, variance, variance, one);
    return node(ops::Choose{}, where_, variance, node(ops::Sqrt{}, where_, divisor), zero);
  }
  [[nodiscard]] Expression over_batch(const Expression& y) const {
    return batch_ ? node(ops::SumBatches{}, where_, y) : y;
  }

  Expression x_;
  ops::DimSet dims_;
  bool batch_;
  unsigned n_;
  Where where_;
};

/// `r`: the number of the moment. Errors name the function `name`. ValueError if nothing is
/// reduced.
Expression reduce(Reduction kind, const char* name, const Expression& x, const Span& over,
                  unsigned r, Where where) {
  ops::DimSet dims;
  const auto add = [&](unsigned d) {
    if (dims.count == DYNET_MAX_TENSOR_DIM) {
      throw errors::ValueError(std::string(name) + ": more than " +
                               std::to_string(DYNET_MAX_TENSOR_DIM) + " dimensions");
    }
    dims.items[dims.count++] = d;
  };
  for (const unsigned d : over.dims) {
    add(d);
  }
  for (unsigned d = 0; over.all && d < x.dim().nd; ++d) {
    add(d);
  }
  if (dims.count == 0 && !over.batch) {
    throw errors::ValueError(std::string(name) +
                             ": the list of dimensions is empty; want at least one, or the batch");
  }
  const Reducer reducer(x, dims, over.batch, over.n, where);
  switch (kind) {
    case kSum:
      return reducer.sum();
    case kMoment:
      return reducer.moment(x, r);
    default:
      return reducer.deviation();
  }
}

}  // namespace

Expression sum_dim(const Expression& x, const std::vector<unsigned>& dims, bool b, Where where) {
  return reduce(kSum, "sum_dim", x, {dims, b}, 1, where);
}
Expression moment_dim(const Expression& x, const std::vector<unsigned>& dims, unsigned r, bool b,
                      unsigned n, Where where) {
  return reduce(kMoment, "moment_dim", x, {dims, b, n}, r, where);
}
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dims, bool b, unsigned n,
                    Where where) {
  return reduce(kMoment, "mean_dim", x, {dims, b, n}, 1, where);
}
Expression std_dim(const Expression& x, const std::vector<unsigned>& dims, bool b, unsigned n,
                   Where where) {
  return reduce(kDeviation, "std_dim", x, {dims, b, n}, 1, where);
}
Expression moment_elems(const Expression& x, unsigned r, Where where) {
  return reduce(kMoment, "moment_elems", x, {.all = true}, r, where);
}
Expression mean_elems(const Expression& x, Where where) {
  return reduce(kMoment, "mean_elems", x, {.all = true}, 1, where);
}
Expression std_elems(const Expression& x, Where where) {
  return reduce(kDeviation, "std_elems", x, {.all = true}, 1, where);
}
Expression moment_batches(const Expression& x, unsigned r, Where where) {
  return reduce(kMoment, "moment_batches", x, {.batch = true}, r, where);
}
Expression mean_batches(const Expression& x, Where where) {
  return reduce(kMoment, "mean_batches", x, {.batch = true}, 1, where);
}
Expression std_batches(const Expression& x, Where where) {
  return reduce(kDeviation, "std_batches", x, {.batch = true}, 1, where);
}

}  // namespace dynet
