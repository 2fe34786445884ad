#include "io/replace_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dynet/except.h"

#include "io/descriptor.h"

namespace dynet::io {
namespace {

std::string resolved(const std::string& name) {
  char* real = ::realpath(name.c_str(), nullptr);
  if (real == nullptr) {
    return name;
  }  // not there yet
  std::string result = real;
  std::free(real);
  return result;
}

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : name.substr(0, slash);
}

constexpr const char* kTemporary = ".tmp.";
constexpr std::size_t kDigits = 16;

/// `target`.tmp.0123456789abcdef: a name that nobody else is likely to try at the same time.
std::string new_name(const std::string& target) {
  static std::atomic<std::uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  // splitmix64 of numbers that differ between processes, times and calls
  std::uint64_t x = static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(::getpid()) << 40;
  x += (counter.fetch_add(1) + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  x ^= x >> 31;
  std::string digits(kDigits, '0');
  for (char& digit : digits) {
    digit = "0123456789abcdef"[x & 15U];
    x >>= 4;
  }
  return target + kTemporary + digits;
}

/// The target that a name of new_name()'s is for; empty for another name.
std::string target_of(const std::string& name) {
  const std::size_t suffix = std::strlen(kTemporary) + kDigits;
  if (name.size() <= suffix) {
    return "";
  }
  const std::size_t end = name.size() - suffix;
  if (name.compare(end, suffix - kDigits, kTemporary) != 0 ||
      name.find_first_not_of("0123456789abcdef", name.size() - kDigits) != std::string::npos) {
    return "";
  }
  return name.substr(0, end);
}

/// Is the open file the file of this name now?
bool is_file_at(const std::string& name, int file) {
  struct stat named{};
  struct stat opened{};
  return ::lstat(name.c_str(), &named) == 0 && ::fstat(file, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino && S_ISREG(opened.st_mode);
}

}  // namespace

void remove_abandoned(const std::string& folder,
                      const std::function<bool(const std::string& target)>& is_wanted) {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) {
    return;
  }
  while (const dirent* const entry = ::readdir(open)) {
    const std::string target = target_of(entry->d_name);
    if (target.empty() || !is_wanted(target)) {
      continue;
    }
    const std::string path = folder + '/' + entry->d_name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.is_open() && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
        is_file_at(path, file.number())) {
      ::unlink(path.c_str());
    }
  }
  ::closedir(open);
}

void ReplaceFile::fail(const char* step) const {
  const int error = errno;
  throw errors::IoError("cannot " + std::string(step) + " '" + target_ +
                        "': " + std::strerror(error));
}

ReplaceFile::ReplaceFile(const std::string& target, bool append, Name name)
    : target_(resolved(target)), folder_(folder_of(target_)) {
  struct stat old{};
  takes_place_ = ::stat(target_.c_str(), &old) == 0;
  if (takes_place_ && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (takes_place_ && !S_ISREG(old.st_mode)) {
    is_direct_ = true;
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) {
      fail("open");
    }
    return;
  }
  const std::size_t slash = target_.rfind('/');
  const std::string own = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  remove_abandoned(folder_, [&](const std::string& other) { return other == own; });
  open_new(name);
  try {
    if (takes_place_) {
      static_cast<void>(::fchmod(file_, old.st_mode & 0777U));  // a file system without rights
    }
    if (takes_place_ && append) {
      copy_old();
    }
  } catch (...) {
    discard();
    throw;
  }
}

void ReplaceFile::open_new(Name name) {
#ifdef O_TMPFILE
  // Its name comes through /proc, which need not be there.
  if (name == Name::kAtTheEnd && ::access("/proc/self/fd", X_OK) == 0) {
    file_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file_ >= 0) {
      ::flock(file_, LOCK_EX | LOCK_NB);  // nobody else can have it
      return;
    }
  }
#endif
  static_cast<void>(name);
  while (!create_named()) {
  }
}

/// False if another name has to be tried.
bool ReplaceFile::create_named() {
  const std::string name = new_name(target_);
  file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0 && errno == EEXIST) {
    return false;
  }
  if (file_ < 0) {
    fail("create a file beside");
  }
  temporary_ = name;
  // Before the lock, another saver may have taken the file for abandoned.
  const bool is_locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  if ((is_locked && is_file_at(name, file_)) || (!is_locked && errno != EWOULDBLOCK)) {
    return true;  // or there are no locks here: then nobody removes it either
  }
  discard();
  return false;
}

/// Gives the complete file its name: the target, or a name beside it if there is an old file.
void ReplaceFile::link_anonymous() {
  const std::string from = "/proc/self/fd/" + std::to_string(file_);
  std::string to = takes_place_ ? new_name(target_) : target_;
  while (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno != EEXIST) {
      fail("create a file beside");
    }
    takes_place_ = true;  // or has become one meanwhile
    to = new_name(target_);
  }
  temporary_ = takes_place_ ? to : std::string();
}

void ReplaceFile::discard() {
  if (file_ >= 0) {
    ::close(file_);
    file_ = -1;
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    temporary_.clear();
  }
}

void ReplaceFile::copy_old() {
  const Descriptor old(::open(target_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!old.is_open()) {
    fail("read");
  }
  std::vector<char> piece(std::size_t{1} << 16);
  while (true) {
    const ssize_t n = ::read(old.number(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail("read");
    }
    if (n == 0) {
      break;
    }
    write(piece.data(), static_cast<std::size_t>(n));
  }
}

void ReplaceFile::reserve(std::uint64_t bytes) {
#ifdef FALLOC_FL_KEEP_SIZE
  const auto length = static_cast<off_t>(bytes);
  if (is_direct_) {
    return;
  }
  if (::fallocate(file_, FALLOC_FL_KEEP_SIZE, 0, length) == 0) {
    reserved_ = std::max(reserved_, bytes);
  } else if (errno == ENOSPC || errno == EDQUOT) {
    fail("write");
  }  // else it makes no promises
#else
  static_cast<void>(bytes);
#endif
}

/// The disk works while more is computed, and commit() waits for the rest only: by itself the
/// system begins when a tenth of the memory is full, or after half a minute.
void ReplaceFile::wrote(std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kEnough = std::uint64_t{8} << 20;
  if (offset != written_) {
    written_ = asked_ = offset;
  }
  written_ += bytes;
#ifdef SYNC_FILE_RANGE_WRITE
  if (!is_direct_ && written_ - asked_ >= kEnough) {
    ::sync_file_range(file_, static_cast<off_t>(asked_), static_cast<off_t>(written_ - asked_),
                      SYNC_FILE_RANGE_WRITE);  // a hint: commit() finds every error
    asked_ = written_;
  }
#endif
}

void ReplaceFile::write(const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(file_, data, bytes);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail("write");
    }
    wrote(written_, static_cast<std::uint64_t>(n));
    data += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void ReplaceFile::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  if (is_direct_) {
    throw errors::IoError("'" + target_ + "' is not a regular file; this format wants one");
  }
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(file_, from, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail("write");
    }
    wrote(offset, static_cast<std::uint64_t>(n));
    from += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void ReplaceFile::move_up(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  std::vector<char> piece(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 20));
  while (bytes > 0) {  // from the end, as the two places may overlap
    const std::size_t n = std::min<std::uint64_t>(bytes, piece.size());
    bytes -= n;
    for (std::size_t done = 0; done < n;) {
      const ssize_t got =
          ::pread(file_, piece.data() + done, n - done, static_cast<off_t>(from + bytes + done));
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        fail("read back");
      }
      done += static_cast<std::size_t>(got);
    }
    write_at(to + bytes, piece.data(), n);
  }
}

/// Blocks behind the end stay the file's until its size is set.
void ReplaceFile::give_back_rest() {
  struct stat written{};
  if (::fstat(file_, &written) == 0 && static_cast<std::uint64_t>(written.st_size) < reserved_ &&
      ::ftruncate(file_, written.st_size) != 0) {
    fail("write");
  }
}

void ReplaceFile::sync() {
  if (!is_direct_ && ::fsync(file_) != 0) {
    fail("write");
  }
}

void ReplaceFile::commit() {
  if (is_direct_) {
    close_checked();
    return;
  }
  give_back_rest();
  sync();
  if (temporary_.empty()) {
    link_anonymous();
  }
  {
    // The lock lives as long as any descriptor of the file: until its last name stands.
    const Descriptor locked(::dup(file_));
    close_checked();
    if (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) {
      fail("replace");
    }
    temporary_.clear();
  }
  // The name itself reaches the disk with the folder. Some file systems cannot do that: not an
  // error, the new file is complete.
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) {
    ::fsync(folder.number());
  }
}

void ReplaceFile::close_checked() {
  const int file = file_;
  file_ = -1;  // close() releases the descriptor even when it reports an error
  if (::close(file) != 0) {
    fail("close");
  }
}

ReplaceFile::~ReplaceFile() { discard(); }

}  // namespace dynet::io
