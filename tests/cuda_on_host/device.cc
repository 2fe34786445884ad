#include "device.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "fail.h"

namespace cuda_on_host {

void fail(const char* format, ...) {
  std::fflush(stdout);
  std::fputs("CUDA on the host: ", stderr);
  va_list all;
  va_start(all, format);
  std::vfprintf(stderr, format, all);
  va_end(all);
  if (runner != nullptr && runner->running() != nullptr) {
    std::fprintf(stderr, "\n  in block %u,%u,%u, thread %u,%u,%u of the kernel of %s", blockIdx.x,
                 blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, runner->name());
  }
  std::fputs("\n", stderr);
  std::abort();
}

long setting(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

static thread_local int chosen = 0;

int Device::count() {
  static const int count = static_cast<int>(setting("DYNET_CUDA_DEVICES", 1));
  return count;
}

Device& Device::at(int id) {
  // Never destroyed: streams may be drained after other objects are gone.
  static const std::vector<Device*>& all = *[] {
    Host& host = *new Host;
    auto* const made = new std::vector<Device*>;
    for (int k = 0; k < count(); ++k) {
      made->push_back(new Device(k, host));
    }
    return made;
  }();
  return *all[static_cast<std::size_t>(id)];
}

Device& Device::get() { return at(chosen); }
void Device::choose(int id) { chosen = id; }

Device* Device::owner(const void* p) {
  for (int k = 0; k < count(); ++k) {
    if (at(k).memory.contains(p)) {
      return &at(k);
    }
  }
  return nullptr;
}

void Device::drain_each() {
  for (int k = 0; k < count(); ++k) {
    at(k).drain_all();
  }
}

Device::Device(int id, Host& host)
    : mutex(host.mutex),
      managed(host.managed),
      pinned(host.pinned),
      last(host.last),
      id_(id),
      process_(getpid()) {
  if (pipe2(pipe_, O_NONBLOCK | O_CLOEXEC) != 0) {
    fail("no pipe");
  }
}

cudaError_t Device::error() const {
  return getpid() != process_ ? cudaErrorInitializationError
         : is_stopped_        ? cudaErrorIllegalAddress
                              : cudaSuccess;
}

bool Device::is_past(const char* setting_name, long& number) {
  const long n = setting(setting_name, 0);
  number = n == 0 ? 0 : number + 1;
  return n != 0 && number >= n;
}

cudaStream_t Device::make_stream(bool is_blocking) {
  auto* const s = new Stream{.device = this};
  s->is_blocking = is_blocking;
  streams_.insert(s);
  return reinterpret_cast<cudaStream_t>(s);
}
void Device::end_stream(Stream* s) {
  drain(s);
  streams_.erase(s);
  delete s;
}

void Device::enqueue(Stream* s, Work work) {
  if (s->device != this) {
    s->device->enqueue(s, std::move(work));
    return;
  }
  if (s == &default_stream_) {
    for (Stream* other : streams_) {
      if (other->is_blocking) {
        drain(other);
      }
    }
  } else if (s->is_blocking) {
    drain(&default_stream_);
  }
  s->queue.push_back(std::move(work));
  if (s->longest == 0) {
    s->longest = runner.order.up_to(static_cast<unsigned>(setting("DYNET_CUDA_LATE", 200)));
  }
  if (s->queue.size() >= s->longest) {
    run(s, (s->queue.size() + 1) / 2);
    s->longest = 0;
  }
}

void Device::run(Stream* s, std::size_t count) {
  if (s->device != this) {
    s->device->run(s, count);
    return;
  }
  if (s->runs) {
    return;
  }
  s->runs = true;
  for (; count > 0 && !s->queue.empty(); --count) {
    const Work work = std::move(s->queue.front());
    s->queue.pop_front();
    if (work.after != nullptr && !work.after->is_done) {
      while (!work.after->is_done && !work.of_after->queue.empty() && !work.of_after->runs) {
        run(work.of_after, 1);  // later work there may wait for this stream
      }
      if (!work.after->is_done) {
        fail("a stream waits for an event that waits for the stream");
      }
    }
    if (work.is_kernel && !memory.has_access()) {
      memory.give_access();
    }
    if (work.run && !is_stopped_) {
      work.run();
    }
  }
  // The change of access is slow if there is much memory, so that later most runs leave it: a touch
  // by the host, which is in each run of a program, is found in one of them.
  constexpr unsigned kAllOfFirst = 100;
  constexpr unsigned kThenOneOf = 16;
  if (++runs_ < kAllOfFirst || runner.order.up_to(kThenOneOf) == 1) {
    memory.take_access();
  }
  s->runs = false;
}

void Device::drain_all() {
  std::vector<Stream*> all(streams_.begin(), streams_.end());
  all.push_back(&default_stream_);
  std::vector<unsigned> order;
  runner.order.arrange(order, static_cast<unsigned>(all.size()));
  for (const unsigned i : order) {
    drain(all[i]);
  }
}

bool Device::is_pinned(const void* p) const {
  const auto next = pinned.upper_bound(p);
  return next != pinned.begin() &&
         p < static_cast<const char*>(std::prev(next)->first) + std::prev(next)->second;
}

/// Whether the process has memory at an address; the system refuses to read from any other.
bool Device::is_readable(const void* p) {
  char byte = 0;
  return write(pipe_[1], p, 1) == 1 && read(pipe_[0], &byte, 1) == 1;
}

/// An argument should hold addresses of this device or of managed memory. Sizes and packed numbers
/// are no addresses that a process has.
void Device::check_arguments(const Launch& launch) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  for (std::size_t at = 0; at + sizeof(void*) <= launch.kernel.bytes; at += sizeof(void*)) {
    const void* word = nullptr;
    std::memcpy(static_cast<void*>(&word), static_cast<const char*>(launch.kernel.arguments) + at,
                sizeof word);
    if (const Device* const other = owner(word); other != nullptr && other != this) {
      fail(
          "%s: byte %zu of its %zu bytes of arguments begins an address of GPU %d, %p; the kernel "
          "runs on GPU %d",
          launch.kernel.name, at, launch.kernel.bytes, other->id(), word, id_);
    }
    const auto number = reinterpret_cast<std::uint64_t>(word);
    if (number >= kLeast && number >> 47 == 0 && !memory.contains(word) &&
        !managed.contains(word) && is_readable(word)) {
      fail("%s: byte %zu of its %zu bytes of arguments begins an address of the host, %p",
           launch.kernel.name, at, launch.kernel.bytes, word);
    }
  }
}

}  // namespace cuda_on_host
