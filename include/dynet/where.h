#pragma once

// A place in a program. Every error and every trace that names a node has the place of its node.

namespace dynet {

/// A place in a user's program. A function that builds nodes takes a Where as its last parameter
/// and hands it on, so that nodes carry the line of the program and not of the library:
///
///   Expression twice(const Expression& x, Where where = Where::here()) {
///     return sum({x, x}, where);
///   }
///
/// 16 bytes, passed by value in two registers.
class Where {
 public:
  /// An unknown place.
  constexpr Where() = default;
  /// The calling line; as the default of a parameter, the line that calls the function.
  static constexpr Where here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
    return {file, line, false};
  }
  /// A place in a language with code objects of its own: the object, and the offset in it. The text
  /// is made only if an error is printed (ext::set_location_resolver).
  static constexpr Where in_code(const void* code, unsigned offset) { return {code, offset, true}; }

  /// Name of the file; null for a place in a code object and for an unknown one.
  [[nodiscard]] const char* file() const {
    return is_code_ != 0 ? nullptr : static_cast<const char*>(at_);
  }
  /// The code object, or null.
  [[nodiscard]] const void* code() const { return is_code_ != 0 ? at_ : nullptr; }
  /// Line of the file, or offset in the code object.
  [[nodiscard]] unsigned line() const { return line_; }

 private:
  constexpr Where(const void* at, unsigned line, bool is_code)
      : at_(at), line_(line), is_code_(is_code ? 1 : 0) {}

  const void* at_ = nullptr;
  unsigned line_ = 0;
  unsigned is_code_ = 0;  // no byte of padding, so that compilers copy it as two words
};

}  // namespace dynet
