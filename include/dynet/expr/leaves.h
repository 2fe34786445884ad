#pragma once

// Where numbers enter a graph: inputs, constants, parameters, rows of lookup tables, random
// numbers.
//
// Where there is a `device`, null means the graph's own. Parameters are on the device of their
// storage. What is given by pointer is read again at every run, so it must outlive the graph.

#include <vector>

#include "dynet/devices.h"
#include "dynet/expr/arguments.h"
#include "dynet/model.h"

namespace dynet {

/// One number, {1}.
Expression input(const detail::LocatedGraph& g, real s, Device* device = nullptr);
Expression input(const detail::LocatedGraph& g, detail::Pointer<real> ps, Device* device = nullptr);
/// The first d.size() numbers of `data`, column by column, the examples of a batch one after the
/// other. ValueError where there are fewer.
Expression input(const detail::LocatedGraph& g, const Dim& d, const std::vector<float>& data,
                 Device* device = nullptr);
Expression input(const detail::LocatedGraph& g, const Dim& d,
                 detail::Pointer<std::vector<float>> pdata, Device* device = nullptr);
/// All elements `defdata` but those at the flat positions `ids` (over dimensions and batch), which
/// are `data`; of equal positions the last counts. ValueError where the lengths differ, IndexError
/// for a position outside d.
Expression input(const detail::LocatedGraph& g, const Dim& d, const std::vector<unsigned>& ids,
                 const std::vector<float>& data, float defdata = 0.0F, Device* device = nullptr);
/// {d}, or {d}xb for b positions: 1 at `idx`, else 0. IndexError unless idx < d.
Expression one_hot(const detail::LocatedGraph& g, unsigned d, unsigned idx,
                   Device* device = nullptr);
Expression one_hot(const detail::LocatedGraph& g, unsigned d, const std::vector<unsigned>& ids,
                   Device* device = nullptr);

/// The values of a parameter; gradients are added to it. Of a lookup parameter: the whole table,
/// rows last. StateError for a Parameter that no collection made.
Expression parameter(const detail::LocatedGraph& g, const Parameter& p);
Expression parameter(const detail::LocatedGraph& g, const LookupParameter& lp);
/// The values of a parameter as a constant: it gets no gradient.
Expression const_parameter(const detail::LocatedGraph& g, const Parameter& p);
Expression const_parameter(const detail::LocatedGraph& g, const LookupParameter& lp);

/// One row of a lookup parameter, or for several indices a batch of rows. IndexError where an index
/// is not below the number of rows: at once for indices by value, when run for those by pointer.
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p, unsigned index);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<unsigned> pindex);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  const std::vector<unsigned>& indices);
Expression lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<std::vector<unsigned>> pindices);
/// Rows of a lookup table as constants: they get no gradient.
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p, unsigned index);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<unsigned> pindex);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        const std::vector<unsigned>& indices);
Expression const_lookup(const detail::LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<std::vector<unsigned>> pindices);

/// Every element 0, 1, or `val`.
Expression zeros(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
Expression zeroes(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
Expression ones(const detail::LocatedGraph& g, const Dim& d, Device* device = nullptr);
Expression constant(const detail::LocatedGraph& g, const Dim& d, float val,
                    Device* device = nullptr);

/// Normal numbers of this mean and deviation. ValueError where stddev is negative.
Expression random_normal(const detail::LocatedGraph& g, const Dim& d, float mean = 0.0F,
                         float stddev = 1.0F, Device* device = nullptr);
/// `scale` with probability p, else 0. ValueError unless 0 <= p <= 1.
Expression random_bernoulli(const detail::LocatedGraph& g, const Dim& d, real p, real scale = 1.0F,
                            Device* device = nullptr);
/// Uniform in [left, right). ValueError unless left <= right.
Expression random_uniform(const detail::LocatedGraph& g, const Dim& d, real left, real right,
                          Device* device = nullptr);
/// Gumbel numbers, `mu - beta ln(-ln(u))` with u uniform in (0, 1). ValueError where beta is
/// negative.
Expression random_gumbel(const detail::LocatedGraph& g, const Dim& d, real mu = 0.0F,
                         real beta = 1.0F, Device* device = nullptr);

}  // namespace dynet
