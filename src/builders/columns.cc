#include "builders/columns.h"

#include "dynet/except.h"

namespace dynet::builders {

Expression as_batch(const Expression& x, Where where) {
  const Dim& d = x.dim();
  if (d.nd == 1) {
    return x;
  }
  const unsigned examples = to_extent(ext::Count(d.cols()) * d.bd, "the positions of a batch");
  return reshape(x, Dim({d.rows()}, examples), where);
}

Expression as_columns(const Expression& x, const Dim& like, Where where) {
  if (like.nd == 1) {
    return x;
  }
  return reshape(x, Dim({x.dim().rows(), like.cols()}, like.bd), where);
}

void check_columns(const std::string& at, const char* what, const Expression& x, unsigned rows) {
  const Dim& d = x.dim();
  if (d.nd > 2 || d.nd == 0 || d.cols() == 0 || d.rows() == 0 || (rows != 0 && d.rows() != rows)) {
    const std::string wanted = rows == 0 ? std::string("n") : std::to_string(rows);
    throw errors::ShapeError(at + what + " " + to_string(d) + "; want {" + wanted + "} or {" +
                             wanted + ",positions} with a position at least");
  }
}

}  // namespace dynet::builders
