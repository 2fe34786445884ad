#include "io/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dynet/except.h"

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

}  // namespace

void ReplaceFile::fail(const char* step) const {
  const int error = errno;
  throw IoError("cannot " + std::string(step) + " '" + target_ + "': " + std::strerror(error));
}

ReplaceFile::ReplaceFile(const std::string& target, bool append) : target_(resolved(target)) {
  struct stat old{};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (exists && !S_ISREG(old.st_mode)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) {
      fail("open");
    }
    return;
  }
  static std::atomic<unsigned> counter{0};
  const std::string name =
      target_ + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter.fetch_add(1));
  file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 exists ? old.st_mode & 0777U : 0666U);
  if (file_ < 0) {
    fail("create a file beside");
  }
  temporary_ = name;
  if (exists && append) {
    try {
      copy_old();
    } catch (...) {
      ::close(file_);
      ::unlink(temporary_.c_str());
      throw;
    }
  }
}

void ReplaceFile::copy_old() {
  const int old = ::open(target_.c_str(), O_RDONLY | O_CLOEXEC);
  if (old < 0) {
    fail("read");
  }
  std::vector<char> piece(std::size_t{1} << 16);
  try {
    while (true) {
      const ssize_t n = ::read(old, piece.data(), piece.size());
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
  } catch (...) {
    ::close(old);
    throw;
  }
  ::close(old);
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
    data += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void ReplaceFile::commit() {
  if (!temporary_.empty() && ::fsync(file_) != 0) {
    fail("write");
  }
  const int file = file_;
  file_ = -1;  // close() releases the descriptor even when it reports an error
  if (::close(file) != 0) {
    fail("close");
  }
  if (temporary_.empty()) {
    return;
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("replace");
  }
  temporary_.clear();
  // The rename itself reaches the disk with the folder. Some file systems cannot do that: not an
  // error, the new file is complete.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

ReplaceFile::~ReplaceFile() {
  if (file_ >= 0) {
    ::close(file_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

}  // namespace dynet::io
