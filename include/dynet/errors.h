#pragma once

// Exceptions of the library. Every exception is a `dynet::errors::Error` and also the standard type
// that DyNet programs already catch (`std::invalid_argument`, `std::runtime_error`, ...). They have
// a namespace of their own because programs that say `using namespace dynet` may have an `Error` or
// a `ValueError` (docs/decisions/0027). The exceptions with names of DyNet 2.1 are in except.h.

// Headers of 2.1 that need more than C++11 here include this one; old build files say -std=c++11.
#if __cplusplus < 201703L
#error "DyNet is C++17 now: compile this program with -std=c++17"
#endif

#include <stdexcept>
#include <string>

namespace dynet::errors {

/// Common base of all exceptions of the library.
///
/// C++: Each is a `std::exception` too.
class Error {
 public:
  Error() = default;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  virtual ~Error();
  [[nodiscard]] virtual const char* message() const noexcept = 0;
};

}  // namespace dynet::errors

namespace dynet::detail {

template <class Standard>
class ErrorOf : public Standard, public errors::Error {
 public:
  explicit ErrorOf(const std::string& text) : Standard(text) {}
  [[nodiscard]] const char* message() const noexcept override { return this->what(); }
};

}  // namespace dynet::detail

namespace dynet::errors {

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
/// More elements than can be counted, or another number of elements.
struct SizeError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// A call out of order, such as the use of a builder before its parameters are in the graph.
struct StateError : detail::ErrorOf<std::invalid_argument> {
  using ErrorOf::ErrorOf;
};
/// A negative rate or another bad parameter of a distribution or schedule.
struct DomainError : detail::ErrorOf<std::domain_error> {
  using ErrorOf::ErrorOf;
};
/// Misuse of a computation graph: two threads in one graph, nodes of different graphs.
struct GraphError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// An expression whose graph was cleared, reverted past it, or destroyed.
struct StaleExpression : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// Another call that cannot be done.
///
/// C++: Programs expect `std::runtime_error` for it.
struct UsageError : detail::ErrorOf<std::runtime_error> {
  using ErrorOf::ErrorOf;
};
/// A device that does not exist, fit or work.
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
}  // namespace dynet::errors
