#pragma once

// Files: parameters to disk and back.
//
// Text, in the format of DyNet 2.1 (docs in dynet/io.h): text_saver.cc writes, text_parser.cc turns
// a file's bytes into checked objects, text_loader.cc assigns the objects to parameters.
// Safetensors (docs in dynet/safetensors.h): safetensors_writer.cc writes, safetensors_file.cc maps
// a file and checks it by its header (safetensors_header.cc), safetensors_loader.cc gives tensors
// to parameters; checkpoint.cc has whole sessions. All formats write through ReplaceFile below, so
// the old file stays until the new file is complete and on the disk. Example: a save of 1 GB that
// fails at 900 MB leaves the old file and no other.
//
// Start reading at text_parser.h and safetensors_file.h. Surprising: the byte count in a text
// header is checked although lines would be enough for reading, because a damaged file must not
// load as another well-formed file.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dynet::io {

/// A new file that takes the place of `target` at once, when it is committed; until then, and
/// without a commit, the old file stays as it was. A target that is no regular file (a device, a
/// pipe) is written directly.
///
/// If the system can, the new file has no name until it is complete, so that a killed process
/// leaves nothing behind. Else, and just before it replaces the old file, its name is `target` with
/// ".tmp." and 16 hexadecimal digits. The writer holds a lock on the file (flock); a file of such a
/// name without a lock was left by a dead process, and the next saver to the same target removes
/// it. Not thread-safe.
class ReplaceFile {
 public:
  enum class Name : std::uint8_t { kAtTheEnd, kFromTheStart };
  /// `append`: starts with a copy of the old file. IoError. `name` is for tests.
  ReplaceFile(const std::string& target, bool append, Name name = Name::kAtTheEnd);
  ReplaceFile(const ReplaceFile&) = delete;
  ReplaceFile& operator=(const ReplaceFile&) = delete;
  ~ReplaceFile();

  /// Room for a file of so many bytes, if the file system can promise it: IoError if it is full.
  /// Blocks reserved at once are written faster than blocks that come one after the other. commit()
  /// gives unneeded room back.
  void reserve(std::uint64_t bytes);
  void write(const char* data, std::size_t bytes);
  /// Writes at a byte of the file, which may lie behind its end; IoError if the target is no
  /// regular file. Not to be mixed with write().
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  /// Moves the bytes at `from` to `to`, towards the end of the file.
  void move_up(std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
  /// Writes everything to the disk, so that commit() has little left that can fail. IoError.
  void sync();
  /// Writes everything to the disk, then renames. IoError; then the old file is still there.
  void commit();

 private:
  void open_new(Name name);
  bool create_named();
  void link_anonymous();
  void copy_old();
  void give_back_rest();
  void wrote(std::uint64_t offset, std::uint64_t bytes);
  void close_checked();
  void discard();
  [[noreturn]] void fail(const char* step) const;

  std::string target_;  ///< symbolic links resolved
  std::string folder_;
  std::string temporary_;     ///< the name it has now; empty: none
  bool is_direct_ = false;    ///< writes go to the target itself
  bool takes_place_ = false;  ///< there is an old file
  int file_ = -1;
  std::uint64_t reserved_ = 0;
  // Bytes written in order, and bytes that the disk was asked to take.
  std::uint64_t written_ = 0;
  std::uint64_t asked_ = 0;
};

/// Removes files that savers of dead processes left in a folder, for the targets (names in the
/// folder) that `is_wanted` accepts. A failure is ignored.
void remove_abandoned(const std::string& folder,
                      const std::function<bool(const std::string& target)>& is_wanted);

}  // namespace dynet::io
