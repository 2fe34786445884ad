// A folder for the files of a test: tests run at the same time, the same program on several devices
// too.

#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace dynet::testing {

/// A new folder among the system's temporary files; the destructor removes it with all contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> made{0};
    path_ = std::filesystem::temp_directory_path() /
            ("dynet_test_" + std::to_string(::getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it, which need not exist.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace dynet::testing
