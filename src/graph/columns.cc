#include "columns.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <vector>

namespace dynet::graph {
namespace {

/// So many columns fill a call of their own.
constexpr std::int64_t kMostColumns = 1 << 16;

unsigned first_length(Lengths lengths) { return static_cast<unsigned>(std::countr_zero(lengths)); }

/// The shapes that the rule gives for other arguments. False: it has none for them. The rule may be
/// a program's own, which throws anything.
bool ask_shapes(const Content& content, std::span<const Dim> dims, Dim* results) {
  try {
    content.record.shapes(
        content.op, ext::Shapes(*content.record.info, dims, content.batch, content.payload_count),
        results);
    return true;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return false;
  }
}

/// Adds the dimensions, from `first` on, in which results for other arguments are larger.
void note_larger(const Content& content, std::span<const Dim> dims, std::span<const Dim> results,
                 unsigned first, std::span<Lengths> found) {
  Dim larger[ext::kMaxOutputs];
  if (!ask_shapes(content, dims, larger)) {
    return;
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (unsigned d = first; d < larger[k].nd; ++d) {  // a last extent of 1 may be left out
      if (larger[k][d] > results[k][d]) {
        found[k] = static_cast<Lengths>(found[k] | 1U << d);
      }
    }
  }
}

/// Has the operation one number for each element, of all arguments?
bool is_elementwise(const ext::Record& record) {
  const auto is_one = [](std::uint8_t parts) { return parts == 1; };
  return record.rule != nullptr && !record.rule->summed &&
         std::all_of(record.rule->parts, record.rule->parts + record.arg_count, is_one);
}

/// Has every result `columns` columns, each a result of columns?
bool give_columns(const Content& content, std::span<const Dim> columns,
                  std::span<const Dim> results, std::span<const Lengths> of_results) {
  Dim given[ext::kMaxOutputs];
  if (!ask_shapes(content, columns, given)) {
    return false;
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (given[k].truncate() != column_of(results[k], of_results[k]) ||
        count_columns(results[k], of_results[k]) != count_columns(results[0], of_results[0])) {
      return false;
    }
  }
  return true;
}

/// Whether the operation computes each column of the results from the same columns of argument `a`.
bool reads_by_columns(const Content& content, std::size_t a, const Dim& result, Lengths lengths) {
  const ext::Record& record = content.record;
  const Dim& x = content.dims[a];
  const unsigned first = first_length(lengths);
  if (record.by_columns != nullptr) {
    return record.by_columns(content.op, a, x);
  }
  if (is_elementwise(record)) {
    bool is_like_result = first_length(content.lengths[a]) == first;
    for (unsigned k = first; k < DYNET_MAX_TENSOR_DIM; ++k) {
      is_like_result = is_like_result && x[k] == result[k];
    }
    return is_like_result;
  }
  return record.row_rule != nullptr && record.row_rule->along[a] == rule::Along::kElements &&
         (record.row_rule->row_axes(content.op) >> first_length(content.lengths[a])) == 0;
}

bool may_be_cut(const ext::Record& record, std::size_t arguments) {
  const bool has_columns =
      record.by_columns != nullptr || record.row_rule != nullptr || is_elementwise(record);
  const bool has_scalar = record.rule != nullptr && record.rule->has_scalar;
  return has_columns && !record.has_whole && !record.has_optional && !record.random &&
         (record.payload == ext::Payload::kNone || has_scalar) && !record.aliases &&
         arguments <= kMaxCutArgs;
}

}  // namespace

std::int64_t count_columns(const Dim& d, Lengths lengths) {
  const std::int64_t size = d.example_elements();
  return size == 0 ? 1 : size / column_of(d, lengths).example_elements();
}

Dim column_of(const Dim& d, Lengths lengths) {
  Dim column = d.single_batch();
  for (unsigned k = first_length(lengths); k < d.nd; ++k) {
    column.d[k] = 1;
  }
  return lengths == 0 ? column : column.truncate();
}

void find_lengths(const Content& content, std::span<const Dim> results, std::span<Lengths> found) {
  std::fill(found.begin(), found.end(), Lengths{0});
  const ext::Record& record = content.record;
  const bool has_lengths =
      std::any_of(content.lengths.begin(), content.lengths.end(), [](Lengths l) { return l != 0; });
  const bool is_list = record.variadic && record.by_columns != nullptr && record.term_args == 0;
  if (!has_lengths && !is_list) {
    return;
  }
  std::vector<Dim> dims(content.dims.begin(), content.dims.end());
  if (is_list) {  // a longer list; its first dimension is no length, as lists of parts have it too
    dims.push_back(dims.back());
    note_larger(content, dims, results, 1, found);
    dims.pop_back();
  }
  if (has_lengths) {
    for (std::size_t a = 0; a < dims.size(); ++a) {
      for (unsigned d = 0; d < dims[a].nd; ++d) {
        dims[a].d[d] += content.lengths[a] >> d & 1U;
      }
    }
    note_larger(content, dims, results, 0, found);
  }
}

std::uint64_t find_cut(const Content& content, std::span<const CutArgument> arguments,
                       std::span<const Dim> results, std::span<const Lengths> of_results) {
  const bool all_grow =
      std::all_of(of_results.begin(), of_results.end(), [](Lengths l) { return l != 0; });
  const auto is_empty = [](const Dim& d) { return d.example_elements() == 0; };
  if (!all_grow || !may_be_cut(content.record, arguments.size()) ||
      std::any_of(results.begin(), results.end(), is_empty) ||
      std::any_of(content.dims.begin(), content.dims.end(), is_empty)) {
    return 0;
  }
  const std::int64_t columns = count_columns(results[0], of_results[0]);
  if (columns > kMostColumns) {
    return 0;
  }
  std::vector<Dim> dims(content.dims.begin(), content.dims.end());
  std::uint64_t cut = 0;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    if (arguments[a].has_batch && content.lengths[a] != 0 &&
        count_columns(dims[a], content.lengths[a]) == columns &&
        reads_by_columns(content, a, results[0], of_results[0])) {
      cut |= std::uint64_t{1} << a;
      dims[a] = column_of(dims[a], content.lengths[a]);
    } else if (!arguments[a].may_be_whole) {
      return 0;
    }
  }
  return give_columns(content, dims, results, of_results) ? cut : 0;
}

}  // namespace dynet::graph
