#include "dynet/expr/selections.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/contract.h"
#include "dynet/expr/elementary.h"
#include "dynet/expr/leaves.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/shape.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/convolve.h"
#include "dynet/ops/segment.h"
#include "dynet/ops/select.h"

#include "api/functions.h"
#include "graph/graph.h"

namespace dynet {
namespace {

/// ShapeError with the shapes of the arguments and the user's line, as operations throw it.
template <std::size_t kCount>
[[noreturn]] void fail(const ext::Info& info, const std::array<Dim, kCount>& args,
                       std::string_view wanted, const Where& where) {
  try {
    ext::Shapes(info, args, 1, 0).fail(wanted);
  } catch (const errors::ShapeError& e) {
    throw errors::ShapeError(e.what() + graph::built_at(where));
  }
}

// ---- strided_select
// ---------------------------------------------------------------------------------------

/// The selected part of one axis.
struct Range {
  std::int64_t stride, from, to;
  [[nodiscard]] bool is_all(std::int64_t extent) const {
    return stride == 1 && from == 0 && to == extent;
  }
};

/// The arguments of strided_select, with missing entries filled in.
class Strided {
 public:
  Strided(const Expression& x, const std::vector<int>& strides, const std::vector<int>& from,
          const std::vector<int>& to, const Where& where)
      : shape_(x.dim()) {
    for (const std::vector<int>* list : {&strides, &from, &to}) {
      if (list->size() > shape_.nd + 1U) {
        fail(ops::StridedSelect::kInfo, std::array{shape_},
             "lists of at most " + std::to_string(shape_.nd + 1) +
                 " entries, one per dimension and one for the batch, not " +
                 std::to_string(list->size()),
             where);
      }
    }
    for (unsigned k = 0; k <= shape_.nd; ++k) {
      const auto entry = [k](const std::vector<int>& list, std::int64_t otherwise) {
        return k < list.size() ? std::int64_t{list[k]} : otherwise;
      };
      ranges_[k] = {entry(strides, 1), entry(from, 0), entry(to, extent(k))};
      check(k, where);
    }
  }
  [[nodiscard]] const Range& batch() const { return ranges_[shape_.nd]; }
  [[nodiscard]] bool takes_all_of_batch() const { return batch().is_all(shape_.bd); }
  [[nodiscard]] bool takes_all_of_examples() const {
    bool all = true;
    for (unsigned k = 0; k < shape_.nd; ++k) {
      all = all && ranges_[k].is_all(extent(k));
    }
    return all;
  }
  [[nodiscard]] ops::StridedSelect op() const {
    ops::StridedSelect op;
    for (unsigned k = 0; k < shape_.nd; ++k) {
      op.strides.items[k] = static_cast<unsigned>(ranges_[k].stride);
      op.from.items[k] = static_cast<unsigned>(ranges_[k].from);
      op.to.items[k] = static_cast<unsigned>(ranges_[k].to);
    }
    op.strides.count = op.from.count = op.to.count = shape_.nd;
    return op;
  }

 private:
  [[nodiscard]] std::int64_t extent(unsigned k) const {
    return k < shape_.nd ? shape_.d[k] : shape_.bd;
  }
  void check(unsigned k, const Where& where) const {
    const Range& r = ranges_[k];
    if (r.stride < 1 || !((0 <= r.from && r.from < r.to && r.to <= extent(k)) ||
                          (extent(k) == 0 && r.from == 0 && r.to == 0))) {
      fail(ops::StridedSelect::kInfo, std::array{shape_},
           "a stride above 0 and 0 <= from < to <= " + std::to_string(extent(k)) + " in " +
               (k < shape_.nd ? "dimension " + std::to_string(k) : std::string("the batch")) +
               ", not stride " + std::to_string(r.stride) + ", from " + std::to_string(r.from) +
               " and to " + std::to_string(r.to),
           where);
    }
  }

  Dim shape_;
  std::array<Range, DYNET_MAX_TENSOR_DIM + 1> ranges_{};
};

Expression scatter(const Expression& x, const ext::NodePayload& index, unsigned rows, unsigned d,
                   Where where) {
  return ext::add_node(ops::ScatterAdd{rows, x.dim()[d], d}, {x, where}, index);
}

/// The number of entries of each segment is the sum of as many ones.
Expression segment_mean_of(const Expression& x, const ext::NodePayload& index, unsigned segments,
                           unsigned d, Where where) {
  const Expression total = scatter(x, index, segments, d, where);
  Dim entries;
  entries.nd = d + 1;
  std::fill_n(entries.d, d, 1U);
  entries.d[d] = x.dim()[d];
  const Expression ones = constant({*x.pg, where}, entries, 1.0F, api::device_of(x));
  const Expression counts = scatter(ones, index, segments, d, where);
  return cdiv(total, clip(counts, 1.0F, std::numeric_limits<float>::infinity(), where), where);
}

/// A node of one of the operations on segments.
template <class Op>
Expression by_segments(const Expression& x, const ext::NodePayload& index, unsigned segments,
                       unsigned d, Where where) {
  return ext::add_node(Op{segments, x.dim()[d], d}, {x, where}, index);
}

/// `b`: null if there is none.
Expression contract_twice(const Expression& x, const Expression& y, const Expression& z,
                          const Expression* b, Where where) {
  static constexpr ext::Info kInfo{.name = "contract3d_1d_1d", .args = {"x", "y", "z"}};
  static constexpr ext::Info kBiased{.name = "contract3d_1d_1d", .args = {"x", "y", "z", "b"}};
  const std::array shapes{x.dim(), y.dim(), z.dim(), b == nullptr ? Dim() : b->dim()};
  const Dim rows = Dim({shapes[0][0]});
  if (shapes[0].nd != 3 || shapes[1].example_elements() != shapes[0][2] ||
      !ops::is_vector_like(shapes[1]) || shapes[2].rows() != shapes[0][1] ||
      !ops::is_vector_like(shapes[2]) || (b != nullptr && shapes[3].single_batch() != rows)) {
    if (b != nullptr) {
      fail(kBiased, shapes, "x {i,j,k}, y {k}, z {j} and b {i}", where);
    }
    fail(kInfo, std::array{shapes[0], shapes[1], shapes[2]}, "x {i,j,k}, y {k} and z {j}", where);
  }
  const Expression matrix = contract3d_1d(x, y, {}, where);
  if (b != nullptr) {
    return affine_transform({*b, matrix, z}, where);
  }
  const Expression out = detail::Located(matrix, where) * z;
  return shapes[2].nd == 1 ? out : reshape(out, rows, where);
}

}  // namespace

Expression strided_select(const Expression& x, const std::vector<int>& strides,
                          const std::vector<int>& from, const std::vector<int>& to, Where where) {
  const Strided strided(x, strides, from, to, where);
  const Expression y =
      strided.takes_all_of_examples() ? x : ext::add_node(strided.op(), detail::Located{x, where});
  if (strided.takes_all_of_batch()) {
    return y;
  }
  const Range& batch = strided.batch();
  std::vector<unsigned> examples;
  for (std::int64_t e = batch.from; e < batch.to; e += batch.stride) {
    examples.push_back(static_cast<unsigned>(e));
  }
  return ext::add_node(ops::PickBatchElems{}, {y, where}, ext::NodePayload::of(examples));
}

template <int>
Expression scatter_add(const Expression& x, const std::vector<unsigned>& index, unsigned rows,
                       unsigned d, Where where) {
  return scatter(x, ext::NodePayload::of(index), rows, d, where);
}
template Expression scatter_add<>(const Expression& x, const std::vector<unsigned>& index,
                                  unsigned rows, unsigned d, Where where);
template <int>
Expression scatter_add(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned rows, unsigned d, Where where) {
  return scatter(x, ext::NodePayload::of(api::pointee(index, "scatter_add", "index")), rows, d,
                 where);
}
template Expression scatter_add<>(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                                  unsigned rows, unsigned d, Where where);

template <int>
Expression segment_sum(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                       unsigned d, Where where) {
  return scatter(x, ext::NodePayload::of(index), segments, d, where);
}
template Expression segment_sum<>(const Expression& x, const std::vector<unsigned>& index,
                                  unsigned segments, unsigned d, Where where);
template <int>
Expression segment_sum(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned segments, unsigned d, Where where) {
  return scatter(x, ext::NodePayload::of(api::pointee(index, "segment_sum", "index")), segments, d,
                 where);
}
template Expression segment_sum<>(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                                  unsigned segments, unsigned d, Where where);
template <int>
Expression segment_mean(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                        unsigned d, Where where) {
  return segment_mean_of(x, ext::NodePayload::of(index), segments, d, where);
}
template Expression segment_mean<>(const Expression& x, const std::vector<unsigned>& index,
                                   unsigned segments, unsigned d, Where where);
template <int>
Expression segment_mean(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                        unsigned segments, unsigned d, Where where) {
  return segment_mean_of(x, ext::NodePayload::of(api::pointee(index, "segment_mean", "index")),
                         segments, d, where);
}
template Expression segment_mean<>(const Expression& x,
                                   detail::Pointer<std::vector<unsigned>> index, unsigned segments,
                                   unsigned d, Where where);
template <int>
Expression segment_max(const Expression& x, const std::vector<unsigned>& index, unsigned segments,
                       unsigned d, Where where) {
  return by_segments<ops::SegmentMax>(x, ext::NodePayload::of(index), segments, d, where);
}
template Expression segment_max<>(const Expression& x, const std::vector<unsigned>& index,
                                  unsigned segments, unsigned d, Where where);
template <int>
Expression segment_max(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                       unsigned segments, unsigned d, Where where) {
  return by_segments<ops::SegmentMax>(
      x, ext::NodePayload::of(api::pointee(index, "segment_max", "index")), segments, d, where);
}
template Expression segment_max<>(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                                  unsigned segments, unsigned d, Where where);
template <int>
Expression segment_softmax(const Expression& x, const std::vector<unsigned>& index,
                           unsigned segments, unsigned d, Where where) {
  return by_segments<ops::SegmentSoftmax>(x, ext::NodePayload::of(index), segments, d, where);
}
template Expression segment_softmax<>(const Expression& x, const std::vector<unsigned>& index,
                                      unsigned segments, unsigned d, Where where);
template <int>
Expression segment_softmax(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                           unsigned segments, unsigned d, Where where) {
  return by_segments<ops::SegmentSoftmax>(
      x, ext::NodePayload::of(api::pointee(index, "segment_softmax", "index")), segments, d, where);
}
template Expression segment_softmax<>(const Expression& x,
                                      detail::Pointer<std::vector<unsigned>> index,
                                      unsigned segments, unsigned d, Where where);

Expression sum_rows(const Expression& x, Where where) { return sum_dim(x, {0}, false, where); }
Expression sum_cols(const Expression& x, Where where) { return sum_dim(x, {1}, false, where); }
Expression average_cols(const Expression& x, Where where) {
  return mean_dim(x, {1}, false, 0, where);
}

Expression colwise_add(const Expression& x, const Expression& b, Where where) {
  static constexpr ext::Info kInfo{.name = "colwise_add", .args = {"x", "b"}};
  const Dim matrix = x.dim();
  const Dim column = b.dim();
  if (matrix.nd != 2 || column.nd > 2 || column.rows() != matrix.rows() || column.cols() != 1) {
    fail(kInfo, std::array{matrix, column}, "x {r,c} and b {r} or {r,1}", where);
  }
  return detail::Located(x, where) + b;
}

Expression trace_of_product(const Expression& x, const Expression& y, Where where) {
  return dot_product(x, y, where);
}

Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            Where where) {
  return contract_twice(x, y, z, nullptr, where);
}
Expression contract3d_1d_1d(const Expression& x, const Expression& y, const Expression& z,
                            const Expression& b, Where where) {
  return contract_twice(x, y, z, &b, where);
}

Expression conv2d(const Expression& x, const Expression& f, const std::vector<unsigned>& stride,
                  bool is_valid, Where where) {
  return conv2d(x, f, Expression(), stride, is_valid, where);
}
Expression conv2d(const Expression& x, const Expression& f, const Expression& b,
                  const std::vector<unsigned>& stride, bool is_valid, Where where) {
  const ops::Conv2d op{api::to_list<ext::List<unsigned, 2>>(stride, "conv2d", "stride"), is_valid};
  return ext::add_node(op, {x, where}, f, b);
}

}  // namespace dynet
