#pragma once

// Files: parameters to disk and back.
//
// text_saver.cc writes, text_parser.cc turns a file's bytes into checked objects, text_loader.cc
// gives these to parameters. The format is that of DyNet 2.1 (docs in dynet/io.h). Whatever is
// written goes through ReplaceFile below, so the old file stays until the new one is complete and
// on the disk.
//
// Start reading at text_parser.h. Surprising: the header's byte count is checked although lines
// would be enough to read by, because a damaged file must not load as another well-formed one.

#include <cstddef>
#include <string>

namespace dynet::io {

/// A new file that takes the place of `target` at once, when it is committed; until then, and when
/// this is destroyed without, the old one stays as it was. What is not a regular file (a device, a
/// pipe) is written directly. Not thread-safe.
class ReplaceFile {
 public:
  /// `append`: starts with a copy of the old file. IoError.
  ReplaceFile(const std::string& target, bool append);
  ReplaceFile(const ReplaceFile&) = delete;
  ReplaceFile& operator=(const ReplaceFile&) = delete;
  ~ReplaceFile();

  void write(const char* data, std::size_t bytes);
  /// Writes everything to the disk, then renames. IoError; then the old file is still there.
  void commit();

 private:
  void copy_old();
  [[noreturn]] void fail(const char* step) const;

  std::string target_;     ///< symbolic links resolved
  std::string temporary_;  ///< empty where written directly
  int file_ = -1;
};

}  // namespace dynet::io
