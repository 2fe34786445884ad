#pragma once

// A file that takes the place of an old one when it is complete, as those of savers do: for
// bindings that write one beside a saver's, such as Python's dynet.save.

#include <memory>
#include <string>

namespace dynet::io {
class ReplaceFile;
}  // namespace dynet::io

namespace dynet::ext {

/// The new file `target`; without commit() the old one stays. Thread rule: one thread at a time,
/// but others may write new files of the same target.
class NewFile {
 public:
  /// IoError if it cannot be made beside the old one.
  explicit NewFile(const std::string& target);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();
  /// Adds to it, to the disk. IoError.
  void write(const std::string& content);
  /// Puts it in the place of the old one, once. IoError; then that is still there.
  void commit();

 private:
  std::unique_ptr<io::ReplaceFile> file_;
};

}  // namespace dynet::ext
