#pragma once

// Files of other programs, known by their first bytes.
//
// Who opens a file that is none of its format would otherwise say what is wrong with the first line
// of a compressed archive. So each reader asks this first, and says what the file is.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace dynet::util {

/// So many bytes of a file say what it is, if it has as many.
inline constexpr std::size_t kForeignBytes = 512;

/// The library's own kinds, which a reader of them excepts.
enum class OwnFile : unsigned char { kNone, kTextModel, kSafetensors };

/// "it is compressed with gzip; unpack it first": what a file is that begins so, and what can be
/// done with it. Empty if that is not known, as for all text, and for files of the kind `own`.
[[nodiscard]] std::string foreign_file(std::string_view begin, OwnFile own = OwnFile::kNone);
/// Reads a stream at its begin, and leaves it there with its flags.
[[nodiscard]] std::string foreign_file(std::istream& in, OwnFile own = OwnFile::kNone);

}  // namespace dynet::util
