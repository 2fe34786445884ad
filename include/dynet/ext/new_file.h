#pragma once

// A file that replaces an old file when it is complete, as in savers; for bindings that write a
// file beside a saver's, such as Python's dynet.save.

#include <memory>
#include <string>

namespace dynet::io {
class ReplaceFile;
}  // namespace dynet::io

namespace dynet::ext {

/// The new file `target`; without commit() the old file stays. Thread rule: one thread at a time,
/// but others may write new files of the same target.
class NewFile {
 public:
  /// IoError if it cannot be made beside the old one.
  explicit NewFile(const std::string& target);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();
  /// Appends bytes, to the disk. IoError.
  void write(const std::string& content);
  /// Replaces the old file, once. IoError; then the old file is still there.
  void commit();

 private:
  std::unique_ptr<io::ReplaceFile> file_;
};

}  // namespace dynet::ext
