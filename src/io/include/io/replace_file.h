#pragma once

// Files: parameters to disk and back.
//
// Text, in the format of DyNet 2.1 (docs in dynet/io.h): text_saver.cc writes, text_parser.cc turns
// a file's bytes into checked objects, text_loader.cc gives these to parameters. Safetensors (docs
// in dynet/safetensors.h): safetensors_writer.cc writes, safetensors_file.cc maps a file and checks
// it by its header (safetensors_header.cc), safetensors_loader.cc gives tensors to parameters;
// checkpoint.cc has whole sessions. Whatever is written goes through ReplaceFile below, so the old
// file stays until the new one is complete and on the disk.
//
// Start reading at text_parser.h and safetensors_file.h. Surprising: the text header's byte count
// is checked although lines would be enough to read by, because a damaged file must not load as
// another well-formed one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dynet::io {

/// A new file that takes the place of `target` at once, when it is committed; until then, and when
/// this is destroyed without, the old one stays as it was. What is not a regular file (a device, a
/// pipe) is written directly.
///
/// The new file has no name until it is complete, if the system can do that, so that a process
/// that is killed leaves nothing behind. Elsewhere, and between getting its name and taking the
/// place of the old one, it is `target` with ".tmp." and 16 hexadecimal digits. Its writer holds a
/// lock on it (flock); a file of such a name without a lock was left by a process that is gone, and
/// the next saver to the same target removes it. Not thread-safe.
class ReplaceFile {
 public:
  enum class Name : std::uint8_t { kAtTheEnd, kFromTheStart };
  /// `append`: starts with a copy of the old file. IoError. `name` is for tests.
  ReplaceFile(const std::string& target, bool append, Name name = Name::kAtTheEnd);
  ReplaceFile(const ReplaceFile&) = delete;
  ReplaceFile& operator=(const ReplaceFile&) = delete;
  ~ReplaceFile();

  /// Room for a file of so many bytes, if the file system can promise it: IoError if it is full.
  /// Blocks that are given out at once are written faster than those that come one after the other.
  /// What the file does not need in the end is given back by commit().
  void reserve(std::uint64_t bytes);
  void write(const char* data, std::size_t bytes);
  /// Writes at a byte of the file, which may lie behind its end; IoError if the target is no
  /// regular file. Not to be mixed with write().
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  /// Moves bytes towards the end of the file: what was written at `from` stands at `to` then.
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
  bool is_direct_ = false;    ///< what is written goes to the target itself
  bool takes_place_ = false;  ///< there is an old file
  int file_ = -1;
  std::uint64_t reserved_ = 0;
  // What was written one after the other, and how far the disk was asked to take it.
  std::uint64_t written_ = 0;
  std::uint64_t asked_ = 0;
};

/// Removes the files of a folder that savers of processes that are gone left there, for the targets
/// (names in the folder) that `is_wanted` accepts. Failing to is no error: it is tidying.
void remove_abandoned(const std::string& folder,
                      const std::function<bool(const std::string& target)>& is_wanted);

}  // namespace dynet::io
