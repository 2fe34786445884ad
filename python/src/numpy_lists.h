#pragma once

// Whether NumPy asks for an element of a list.
//
// `np.asarray(e)` and `np.array([e, f])` call `e.__array__()` in the same words, and want different
// answers (docs/decisions/0019-arrays-of-expressions.md). The difference is in NumPy's own stack: a
// function that calls itself goes down a list. The address of that call is found once, by two calls
// with an object made for it, and is then looked for on the stack.

namespace dynet::python {

enum class Asked : unsigned char {
  kForItself,
  kInList,
  kUnknown,  ///< this NumPy's stack does not tell
};
/// Why NumPy calls `__array__`, which runs now. NumPy is imported. GIL held.
[[nodiscard]] Asked why_numpy_asks();

}  // namespace dynet::python
