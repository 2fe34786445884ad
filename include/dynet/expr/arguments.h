#pragma once

// How the functions of expr.h take their arguments.

#include "dynet/expression.h"

namespace dynet::detail {

/// A pointer to indices or numbers, read again at every run: the target must outlive the graph. A
/// class of its own so that a literal 0 is taken as an index or a number.
template <class T>
struct Pointer {
  const T* to;
  Pointer(const T* p) : to(p) {}  // NOLINT(google-explicit-constructor): callers pass the pointer
};

}  // namespace dynet::detail
