#pragma once

// Exceptions and macros of DyNet 2.1. The other exceptions of the library are in errors.h.

#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

#include "dynet/errors.h"

namespace dynet {

/// Memory is exhausted, or the cap of `--dynet-mem-cap` is reached. The library stays usable.
struct out_of_memory : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
struct cuda_not_implemented : detail::ErrorOf<std::logic_error> {
  using ErrorOf::ErrorOf;
};
struct cuda_exception : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};

namespace detail {

/// Throws out_of_memory; takes nothing from the heap.
[[noreturn]] void fail_small_allocation();

/// Runs `f`. A failed allocation inside it, however small, is out_of_memory to the caller.
template <class F>
decltype(auto) with_typed_allocation(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_small_allocation();
  }
}

}  // namespace detail
}  // namespace dynet

// Macros of DyNet 2.1 that client code uses in its own checks. DYNET_SKIP_ARG_CHECK switches off
// DYNET_INVALID_ARG and DYNET_ARG_CHECK; DYNET_DO_ASSERT switches on DYNET_ASSERT. A macro that is
// off does not evaluate its arguments. NOLINTBEGIN(bugprone-macro-parentheses): `msg` is a chain,
// as in `"got " << n`
#define DYNET_DETAIL_THROW(Type, msg)             \
  do {                                            \
    std::ostringstream dynet_oss;                 \
    dynet_oss << msg;                             \
    throw ::dynet::errors::Type(dynet_oss.str()); \
  } while (0);
#ifdef DYNET_SKIP_ARG_CHECK
#define DYNET_INVALID_ARG(msg) \
  do {                         \
  } while (0);
#define DYNET_ARG_CHECK(cond, msg) \
  do {                             \
  } while (0);
#else
#define DYNET_INVALID_ARG(msg) DYNET_DETAIL_THROW(ValueError, msg)
#define DYNET_ARG_CHECK(cond, msg) \
  do {                             \
    if (!(cond)) {                 \
      DYNET_INVALID_ARG(msg)       \
    }                              \
  } while (0);
#endif
#define DYNET_RUNTIME_ERR(msg) DYNET_DETAIL_THROW(GraphError, msg)
#ifdef DYNET_DO_ASSERT
#define DYNET_ASSERT(expr, msg) \
  do {                          \
    if (!(expr)) {              \
      DYNET_RUNTIME_ERR(msg)    \
    }                           \
  } while (0);
#else
#define DYNET_ASSERT(expr, msg) \
  do {                          \
  } while (0);
#endif
#define DYNET_NO_CUDA_IMPL_ERROR(op)                                                  \
  DYNET_RUNTIME_ERR(op << " has no CUDA implementation; its CPU one can be used: see" \
                          " to_device")
// NOLINTEND(bugprone-macro-parentheses)
