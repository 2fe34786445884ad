// New files that take the place of old ones. (Files of killed processes: text_file_test.cc.)
#include "io/replace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "dynet/except.h"

#include "testing/temporary_folder.h"

namespace {
int error_of_fallocate = 0;  ///< of file systems that cannot do it; 0: the test's
}  // namespace

#ifdef __linux__
/// Takes the place of the C library's in this program.
extern "C" int fallocate(int file, int mode, off_t offset, off_t length) {
  if (error_of_fallocate != 0) {
    errno = error_of_fallocate;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, length));
}
#endif

namespace dynet {
namespace {

namespace fs = std::filesystem;

class ReplaceFileTest : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  [[nodiscard]] std::string content() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  testing::TemporaryFolder folder_;
  std::string file = folder_.file("model.txt");
};

TEST_F(ReplaceFileTest, BothKindsOfNewFilesCommitOrVanish) {
  for (const auto name : {io::ReplaceFile::Name::kAtTheEnd, io::ReplaceFile::Name::kFromTheStart}) {
    fs::remove(file);
    for (const char* text : {"new", "newer"}) {  // without and with an old file
      {
        io::ReplaceFile(file, false, name).write("x", 1);
      }
      io::ReplaceFile replacement(file, false, name);
      replacement.write(text, std::strlen(text));
      EXPECT_NE(content(), text);
      replacement.commit();
      EXPECT_EQ(content(), text);
      EXPECT_EQ(files_in_folder(), 1U);
    }
    io::ReplaceFile late(file, false, name);
    fs::remove(file);
    late.write("late", 4);
    late.commit();
    EXPECT_EQ(content(), "late");
  }
  // A file that appears during the writing of a new file is replaced, as an older file.
  fs::remove(file);
  io::ReplaceFile first(file, false);
  write("other");
  first.write("first", 5);
  first.commit();
  EXPECT_EQ(content(), "first");
  EXPECT_EQ(files_in_folder(), 1U);
}

/// More than is handed to the disk at once, in parts of any size, with room for it and without.
TEST_F(ReplaceFileTest, LargeFilesAreWrittenAsTheyAre) {
  constexpr std::size_t kBytes = 40'000'000;
  std::string text(kBytes, ' ');
  std::mt19937 random(4);
  for (std::size_t i = 0; i < kBytes; i += 1'009) {
    text[i] = static_cast<char>(random());
  }
  for (const std::uint64_t reserved :
       {std::uint64_t{0}, std::uint64_t{kBytes / 2}, std::uint64_t{2 * kBytes}}) {
    io::ReplaceFile replacement(file, false);
    replacement.reserve(reserved);
    std::size_t done = 0;
    for (std::size_t part = 1; done < kBytes; part = part * 3 % 7'000'001) {
      const std::size_t n = std::min(part, kBytes - done);
      if (reserved == 0) {
        replacement.write(text.data() + done, n);
      } else {
        replacement.write_at(64 + done, text.data() + done, n);
      }
      done += n;
    }
    if (reserved != 0) {
      replacement.write_at(0, text.data(), 64);
    }
    replacement.commit();
    EXPECT_TRUE(content() == (reserved == 0 ? text : text.substr(0, 64) + text)) << reserved;
  }
}

#ifdef __linux__

std::uint64_t bytes_on_disk(const std::string& name) {
  struct stat s{};
  EXPECT_EQ(::stat(name.c_str(), &s), 0);
  return 512 * static_cast<std::uint64_t>(s.st_blocks);
}

TEST_F(ReplaceFileTest, RoomThatIsNotNeededIsGivenBack) {
  constexpr std::uint64_t kReserved = std::uint64_t{4} << 20;
  io::ReplaceFile replacement(file, false, io::ReplaceFile::Name::kFromTheStart);
  replacement.reserve(kReserved);
  const std::string temporary = fs::directory_iterator(folder_.path())->path().string();
  if (bytes_on_disk(temporary) < kReserved) {
    GTEST_SKIP() << "this file system reserves nothing";
  }
  replacement.write("short", 5);
  replacement.commit();
  EXPECT_EQ(content(), "short");
  EXPECT_LT(bytes_on_disk(file), kReserved / 16);
}

TEST_F(ReplaceFileTest, FileSystemsThatReserveNothingAreWrittenAllTheSame) {
  for (const int error : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    error_of_fallocate = error;
    io::ReplaceFile replacement(file, false);
    EXPECT_NO_THROW(replacement.reserve(1'000'000));
    replacement.write("short", 5);
    replacement.commit();
    EXPECT_EQ(content(), "short");
  }
  for (const int error : {ENOSPC, EDQUOT}) {
    error_of_fallocate = error;
    io::ReplaceFile replacement(file, false);
    EXPECT_THROW(replacement.reserve(1'000'000), errors::IoError);
  }
  error_of_fallocate = 0;
  EXPECT_EQ(content(), "short");
  EXPECT_EQ(files_in_folder(), 1U);
}

#endif

}  // namespace
}  // namespace dynet
