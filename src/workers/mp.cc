// What mp.h needs that is no template.
#include "dynet/mp.h"

#include <cerrno>
#include <cstdio>

#include "params/shared_memory.h"

namespace dynet::mp {
namespace {

std::string unique_name(const char* kind) {
  static std::atomic<unsigned> count{0};
  return std::string("dynet_") + kind + "_" + std::to_string(getpid()) + "_" +
         std::to_string(count++);
}

SharedObject* make_shared_object() {
  static auto* const object = get_shared_memory<SharedObject>();
  return object;
}

}  // namespace

std::string queue_name = "dynet_mp_work_queue";
std::string shared_memory_name = "dynet_mp_shared_memory";
timespec start_time{};
bool stop_requested = false;
bool average_gradients = true;
double patience = WorkerOptions().patience;
SharedObject* shared_object = nullptr;

std::string generate_queue_name() { return unique_name("queue"); }
std::string generate_shared_memory_name() { return unique_name("memory"); }

std::string elapsed_time_string(const timespec& start, const timespec& end) {
  const double seconds = static_cast<double>(end.tv_sec - start.tv_sec) +
                         1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
  char text[48];
  std::snprintf(text, sizeof text, "%.2fs", seconds);
  return text;
}

namespace detail {

void* shared_bytes(std::size_t bytes) {
  void* const data = params::shared_memory().allocate(bytes, ext::Contents::kZeros);
  if (data == nullptr) {
    throw out_of_memory("get_shared_memory: the system refused " + std::to_string(bytes) +
                        " bytes");
  }
  return data;
}

void read_bytes(int pipe, void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t got = read(pipe, at, bytes);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      throw IoError("read_data: " + std::to_string(bytes) + " bytes are missing: " +
                    (got == 0 ? "the pipe has ended" : std::strerror(errno)));
    }
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}
void write_bytes(int pipe, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const ssize_t put = write(pipe, at, bytes);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      throw IoError(std::string("write_data: ") + std::strerror(errno));
    }
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

WorkerOptions worker_options(unsigned num_children) {
  WorkerOptions options;
  options.workers = num_children;
  options.patience = patience;
  return options;
}

void start_run() {
  shared_object = make_shared_object();
  shared_object->counter = 0;
  clock_gettime(CLOCK_MONOTONIC, &start_time);
}

}  // namespace detail
}  // namespace dynet::mp
