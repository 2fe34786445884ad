// Memory shared by processes: the parent reads numbers written by a child, and chunks come and go.
#include "params/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace dynet::params {
namespace {

using ext::Contents;

/// How many mappings of this process are shared and without a name.
int shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int count = 0;
  while (std::getline(maps, line)) {
    count += line.find("/dev/zero (deleted)") != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Runs `f` in a child; true if the child ended with 0.
template <class F>
bool in_child(F f) {
  const pid_t child = fork();
  if (child == 0) {
    f();
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SharedMemory, BlocksAreAlignedAndZero) {
  std::vector<std::byte*> blocks;
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 4096U, 2'000'000U}) {
    auto* block = static_cast<std::byte*>(shared_memory().allocate(bytes, Contents::kAny));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(block[i], std::byte{0});
    }
    std::memset(block, 1, bytes);
    blocks.push_back(block);
  }
  for (std::byte* block : blocks) {
    shared_memory().free(block, 0);
  }
  shared_memory().free(nullptr, 0);
}

TEST(SharedMemory, TooMuchIsRefused) {
  EXPECT_EQ(shared_memory().allocate(SIZE_MAX, Contents::kZeros), nullptr);
  EXPECT_EQ(shared_memory().allocate(SIZE_MAX / 4, Contents::kZeros), nullptr);
}

TEST(SharedMemory, TheParentSeesWhatAChildWrites) {
  auto* number = static_cast<int*>(shared_memory().allocate(sizeof(int), Contents::kZeros));
  ASSERT_TRUE(in_child([&] { *number = 17; }));
  EXPECT_EQ(*number, 17);
  shared_memory().free(number, sizeof(int));
}

TEST(SharedMemory, AChunkIsGivenBackWithItsLastBlock) {
  const int before = shared_mappings();
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) {
    block = shared_memory().allocate(5000, Contents::kZeros);
  }
  const int mappings = shared_mappings() - before;
  EXPECT_GE(mappings, 4);  // of 1 MiB
  EXPECT_LE(mappings, 6);
  for (void* block : blocks) {
    shared_memory().free(block, 5000);
  }
  EXPECT_EQ(shared_mappings(), before);
}

TEST(SharedMemory, AChildLeavesItsParentsChunksAlone) {
  void* const first = shared_memory().allocate(100, Contents::kZeros);
  auto* const second = static_cast<char*>(shared_memory().allocate(100, Contents::kZeros));
  ASSERT_TRUE(in_child([&] {
    auto* own = static_cast<char*>(shared_memory().allocate(100, Contents::kZeros));
    std::memset(own, 1, 100);
    shared_memory().free(first, 100);
    shared_memory().free(second, 100);
    second[0] = 5;  // still there
    shared_memory().free(own, 100);
  }));
  EXPECT_EQ(second[0], 5);
  EXPECT_EQ(second[1], 0);
  auto* const third = static_cast<char*>(shared_memory().allocate(100, Contents::kZeros));
  EXPECT_EQ(third[0], 0);  // not the child's number
  for (void* block : {first, static_cast<void*>(second), static_cast<void*>(third)}) {
    shared_memory().free(block, 100);
  }
}

}  // namespace
}  // namespace dynet::params
