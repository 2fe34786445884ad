// Written by tools/generate-api from the operations in dynet/ops/select.h. Not to be edited.

#include "dynet/ops/select.h"

#include "dynet/expr/select.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression select_rows(const Expression& x, unsigned rows, Where where) {
  return ext::add_node(ops::Select<0>{}, {x, where}, ext::NodePayload::of(rows));
}
Expression select_rows(const Expression& x, detail::Pointer<unsigned> rows, Where where) {
  return ext::add_node(ops::Select<0>{}, {x, where},
                       ext::NodePayload::of(api::pointee(rows, "select_rows", "rows")));
}
Expression select_rows(const Expression& x, const std::vector<unsigned>& rows, Where where) {
  return ext::add_node(ops::Select<0>{}, {x, where}, ext::NodePayload::of(rows));
}
Expression select_rows(const Expression& x, detail::Pointer<std::vector<unsigned>> rows,
                       Where where) {
  return ext::add_node(ops::Select<0>{}, {x, where},
                       ext::NodePayload::of(api::pointee(rows, "select_rows", "rows")));
}

Expression select_cols(const Expression& x, unsigned cols, Where where) {
  return ext::add_node(ops::Select<1>{}, {x, where}, ext::NodePayload::of(cols));
}
Expression select_cols(const Expression& x, detail::Pointer<unsigned> cols, Where where) {
  return ext::add_node(ops::Select<1>{}, {x, where},
                       ext::NodePayload::of(api::pointee(cols, "select_cols", "cols")));
}
Expression select_cols(const Expression& x, const std::vector<unsigned>& cols, Where where) {
  return ext::add_node(ops::Select<1>{}, {x, where}, ext::NodePayload::of(cols));
}
Expression select_cols(const Expression& x, detail::Pointer<std::vector<unsigned>> cols,
                       Where where) {
  return ext::add_node(ops::Select<1>{}, {x, where},
                       ext::NodePayload::of(api::pointee(cols, "select_cols", "cols")));
}

template <int>
Expression gather(const Expression& x, unsigned index, unsigned n, unsigned d, Where where) {
  return ext::add_node(ops::Gather{n, d}, {x, where}, ext::NodePayload::of(index));
}
template Expression gather<>(const Expression& x, unsigned index, unsigned n, unsigned d,
                             Where where);
template <int>
Expression gather(const Expression& x, detail::Pointer<unsigned> index, unsigned n, unsigned d,
                  Where where) {
  return ext::add_node(ops::Gather{n, d}, {x, where},
                       ext::NodePayload::of(api::pointee(index, "gather", "index")));
}
template Expression gather<>(const Expression& x, detail::Pointer<unsigned> index, unsigned n,
                             unsigned d, Where where);
template <int>
Expression gather(const Expression& x, const std::vector<unsigned>& index, unsigned n, unsigned d,
                  Where where) {
  return ext::add_node(ops::Gather{n, d}, {x, where}, ext::NodePayload::of(index));
}
template Expression gather<>(const Expression& x, const std::vector<unsigned>& index, unsigned n,
                             unsigned d, Where where);
template <int>
Expression gather(const Expression& x, detail::Pointer<std::vector<unsigned>> index, unsigned n,
                  unsigned d, Where where) {
  return ext::add_node(ops::Gather{n, d}, {x, where},
                       ext::NodePayload::of(api::pointee(index, "gather", "index")));
}
template Expression gather<>(const Expression& x, detail::Pointer<std::vector<unsigned>> index,
                             unsigned n, unsigned d, Where where);

Expression pick_batch_elems(const Expression& x, unsigned v, Where where) {
  return ext::add_node(ops::PickBatchElems{}, {x, where}, ext::NodePayload::of(v));
}
Expression pick_batch_elems(const Expression& x, detail::Pointer<unsigned> v, Where where) {
  return ext::add_node(ops::PickBatchElems{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elems", "v")));
}
Expression pick_batch_elems(const Expression& x, const std::vector<unsigned>& v, Where where) {
  return ext::add_node(ops::PickBatchElems{}, {x, where}, ext::NodePayload::of(v));
}
Expression pick_batch_elems(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                            Where where) {
  return ext::add_node(ops::PickBatchElems{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elems", "v")));
}

}  // namespace dynet
