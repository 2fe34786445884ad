#pragma once

// Exceptions of the library. Every exception is a `dynet::Error` and also the standard type that
// DyNet programs already catch (`std::invalid_argument`, `std::runtime_error`, ...).

#include <iostream>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dynet {

/// Common base of all exceptions of the library; each is a `std::exception` too.
class Error {
 public:
  Error() = default;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  virtual ~Error();
  [[nodiscard]] virtual const char* message() const noexcept = 0;
};

namespace detail {
template <class Standard>
class ErrorOf : public Standard, public Error {
 public:
  explicit ErrorOf(const std::string& text) : Standard(text) {}
  [[nodiscard]] const char* message() const noexcept override { return this->what(); }
};
}  // namespace detail

/// Arguments whose shapes do not fit the operation. Thrown when the node is built.
struct ShapeError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// An index or label out of range.
struct IndexError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// Any other argument with a value that is not allowed.
struct ValueError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// More elements than the library or the caller's type can count.
struct SizeError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// A call out of order, such as a builder used before `new_graph`.
struct StateError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// A negative rate or another bad parameter of a distribution or schedule.
struct DomainError : detail::ErrorOf<std::domain_error> {
  using ErrorOf::ErrorOf;
};
/// Misuse of a computation graph: two threads in one graph, nodes of different graphs, ...
struct GraphError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// An expression whose graph was cleared, reverted past it, or destroyed.
struct StaleExpression : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// Another call that cannot be done, for which programs expect `std::runtime_error`.
struct UsageError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// A device that does not exist or does not fit.
struct DeviceError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// A file that cannot be read, written or understood.
struct IoError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// NaN or infinity with which training cannot go on.
struct NumericError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
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
#define DYNET_DETAIL_THROW(Type, msg)     \
  do {                                    \
    std::ostringstream dynet_oss;         \
    dynet_oss << msg;                     \
    throw ::dynet::Type(dynet_oss.str()); \
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
