#pragma once

// Where numbers enter a graph: inputs, constants, parameters, rows of lookup tables, random
// numbers.
//
// A `device` of null means the graph's own. Parameters are on the device of their storage. Numbers
// given by pointer are read again at every run, so they must outlive the graph. The reference page
// (docs/operations) is printed from the comments.

#include <vector>

#include "dynet/devices.h"
#include "dynet/expr/arguments.h"
#include "dynet/model.h"

namespace dynet {

/// One number; by pointer it is read again at every run.
/// `y = s`
/// Shapes: -> {1}.
Expression input(const detail::LocatedGraph& g, real s, Device* device = nullptr);
Expression input(const detail::LocatedGraph& g, detail::Pointer<real> ps, Device* device = nullptr);
/// The first d.size() numbers of `data`, column by column, the examples of a batch one after the
/// other; by pointer they are read again at every run.
/// `y = data, in memory order`
/// Shapes: -> d.
/// Errors: ValueError if there are fewer numbers.
Expression input(const detail::LocatedGraph& g, const Dim& d, const std::vector<float>& data,
                 Device* device = nullptr);
Expression input(const detail::LocatedGraph& g, const Dim& d,
                 detail::Pointer<std::vector<float>> pdata, Device* device = nullptr);
/// A sparse input: the elements at the flat positions `ids` (over dimensions and batch) are `data`,
/// all others `defdata`. If a position stands twice, the last one counts.
/// `y[ids[k]] = data[k], else defdata`
/// Shapes: -> d.
/// Errors: ValueError if the lengths differ, IndexError for a position outside d.
Expression input(const detail::LocatedGraph& g, const Dim& d, const std::vector<unsigned>& ids,
                 const std::vector<float>& data, float defdata = 0.0F, Device* device = nullptr);
/// A vector with a 1 at one position; for a list of positions, a batch of such vectors.
/// `y_i = 1 if i = idx, else 0`
/// Shapes: -> {d}, or {d}xb for b positions.
/// Errors: IndexError if a position is not below d.
Expression one_hot(const detail::LocatedGraph& g, unsigned d, unsigned idx,
                   Device* device = nullptr);
Expression one_hot(const detail::LocatedGraph& g, unsigned d, const std::vector<unsigned>& ids,
                   Device* device = nullptr);

/// The values of a parameter; gradients are added to it. A lookup parameter gives its whole table,
/// rows last.
/// `y = the values of p`
/// Shapes: -> the shape of p; {..,rows} for a lookup parameter.
/// Errors: StateError for a Parameter that no collection made.
/// Python: the parameter itself, or a tuple; with `update=False` as const_parameter.
Expression parameter(const detail::LocatedGraph& g, const Parameter& p);
Expression parameter(const detail::LocatedGraph& g, const LookupParameter& lp);
/// The values of a parameter as a constant: it gets no gradient.
/// `y = the values of p; dp = 0`
/// Shapes: -> the shape of p; {..,rows} for a lookup parameter.
/// Errors: StateError for a Parameter that no collection made.
Expression const_parameter(const detail::LocatedGraph& g, const Parameter& p);
Expression const_parameter(const detail::LocatedGraph& g, const LookupParameter& lp);

/// One row of a lookup parameter, or for several indices a batch of rows. Gradients are added to
/// these rows.
/// `y = row index of p`
/// Shapes: -> the shape of a row, xb for b indices.
/// Errors: IndexError if an index is not below the number of rows.
/// C++: by pointer the indices are read again, and looked at, at every run.
/// Python: with `update=False` the rows get no gradient, as const_lookup in C++. `set` gives the
/// node another index or list.
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p, unsigned index);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<unsigned> pindex);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  const std::vector<unsigned>& indices);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<std::vector<unsigned>> pindices);
/// Rows of a lookup parameter as constants: they get no gradient.
/// `y = row index of p; dp = 0`
/// Shapes: -> the shape of a row, xb for b indices.
/// Errors: IndexError if an index is not below the number of rows.
/// C++: by pointer the indices are read again, and looked at, at every run.
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p, unsigned index);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<unsigned> pindex);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        const std::vector<unsigned>& indices);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<std::vector<unsigned>> pindices);

/// Every element 0.
/// `y_i = 0`
/// Shapes: -> d.
/// Python: `batch_size` is the number of examples of the result.
Expression zeros(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
Expression zeroes(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
/// Every element 1.
/// `y_i = 1`
/// Shapes: -> d.
/// Python: `batch_size` is the number of examples of the result.
Expression ones(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
/// Every element the number `val`.
/// `y_i = val`
/// Shapes: -> d.
/// Python: `batch_size` is the number of examples of the result.
Expression constant(const detail::LocatedGraph& g, const Dim& d, float val,
                    Device* device = nullptr);

/// Random numbers from a normal distribution.
/// `y_i normal with this mean and standard deviation`
/// Shapes: -> d.
/// Errors: ValueError if stddev is negative.
/// Python: `batch_size` is the number of examples of the result.
Expression random_normal(const detail::LocatedGraph& g, const Dim& d, float mean = 0.0F,
                         float stddev = 1.0F, Device* device = nullptr);
/// Random numbers, each `scale` or 0.
/// `y_i = scale with probability p, else 0`
/// Shapes: -> d.
/// Errors: ValueError unless 0 <= p <= 1.
/// Python: `batch_size` is the number of examples of the result.
Expression random_bernoulli(const detail::LocatedGraph& g, const Dim& d, real p, real scale = 1.0F,
                            Device* device = nullptr);
/// Random numbers from a uniform distribution.
/// `y_i uniform in [left, right)`
/// Shapes: -> d.
/// Errors: ValueError unless left <= right.
/// Python: `batch_size` is the number of examples of the result.
Expression random_uniform(const detail::LocatedGraph& g, const Dim& d, real left, real right,
                          Device* device = nullptr);
/// Random numbers from a Gumbel distribution.
/// `y_i = mu - beta ln(-ln(u_i)), u_i uniform in (0, 1)`
/// Shapes: -> d.
/// Errors: ValueError if beta is negative.
/// Python: `batch_size` is the number of examples of the result.
/// Source: Gumbel, 1954.
Expression random_gumbel(const detail::LocatedGraph& g, const Dim& d, real mu = 0.0F,
                         real beta = 1.0F, Device* device = nullptr);

}  // namespace dynet
