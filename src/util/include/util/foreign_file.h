#pragma once

// Files of other programs, known by their first bytes.
//
// Without this check, a reader would complain about the first line of a compressed archive. So each
// reader looks here first, and its error names the kind of the file. Example: 1f 8b is gzip.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace dynet::util {

/// The number of bytes at the begin of a file that identify its kind; a file may have fewer.
inline constexpr std::size_t kForeignBytes = 512;

/// The library's own kinds, which their readers except.
enum class OwnFile : unsigned char { kNone, kTextModel, kSafetensors };

/// The kind of a file that begins with these bytes, and advice: "it is compressed with gzip; unpack
/// it first". Empty for unknown kinds, such as text, and for files of the kind `own`.
[[nodiscard]] std::string foreign_file(std::string_view begin, OwnFile own = OwnFile::kNone);
/// Reads a stream at its begin, and leaves the stream there with its flags.
[[nodiscard]] std::string foreign_file(std::istream& in, OwnFile own = OwnFile::kNone);

}  // namespace dynet::util
