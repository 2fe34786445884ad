// Written by tools/generate-api from the operations in dynet/ops/sliding.h. Not to be edited.

#include "dynet/ops/sliding.h"

#include "dynet/expr/sliding.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression filter1d_narrow(const Expression& x, const Expression& f, Where where) {
  return ext::add_node(ops::Filter1dNarrow{}, {x, where}, f);
}

Expression kmh_ngram(const Expression& x, unsigned n, Where where) {
  return ext::add_node(ops::KmhNgram{n}, {x, where});
}

Expression fold_rows(const Expression& x, unsigned nrows, Where where) {
  return ext::add_node(ops::FoldRows{nrows}, {x, where});
}

Expression circ_conv(const Expression& u, const Expression& v, Where where) {
  return ext::add_node(ops::CircConv{}, {u, where}, v);
}

Expression circ_corr(const Expression& u, const Expression& v, Where where) {
  return ext::add_node(ops::CircCorr{}, {u, where}, v);
}

}  // namespace dynet
