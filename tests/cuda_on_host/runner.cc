#include "runner.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fail.h"
#include "fibers.h"
#include "kernels/float_mode.h"
#include "races.h"
#include "region.h"

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};

// Of the C library: where a module has its thread-local memory.
extern "C" void* __tls_get_addr(void* place);  // NOLINT(bugprone-reserved-identifier)

namespace cuda_on_host {

constinit thread_local Runner* runner = nullptr;
constinit thread_local const std::byte* own_stack = nullptr;

Runner::Runner(Region& memory, Region& managed)
    : memory_(memory),
      managed_(managed),
      memory_words_(memory.size()),
      managed_words_(managed.size()),
      shared_words_(kMostShared) {
  stacks_.bytes = kMostThreads * kStackBytes;
  void* const p = mmap(nullptr, stacks_.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    fail("no addresses for the stacks of threads");
  }
  stacks_.begin = static_cast<std::byte*>(p);
}

void Runner::set_thread() const {
  const dim3& size = launch_->config.blockDim;
  const unsigned t = current_->thread;
  threadIdx = {t % size.x, t / size.x % size.y, t / size.x / size.y};
}

void Runner::run(const Launch& launch) {
  launch_ = &launch;
  ++launches_;
  const dim3& blocks = launch.config.gridDim;
  const dim3& threads = launch.config.blockDim;
  threads_ = threads.x * threads.y * threads.z;
  find_shared_memory();
  std::vector<unsigned> numbers;
  order.arrange(numbers, blocks.x * blocks.y * blocks.z);
  runner = this;
  blockDim = threads;
  gridDim = blocks;
  const dynet::kernels::FlushDenormals mode;  // as nvcc's --ftz=true
  for (const unsigned b : numbers) {
    run_block(b);
  }
  runner = nullptr;
}

void Runner::run_block(unsigned number) {
  const dim3& grid = launch_->config.gridDim;
  block_number_ = number;
  blockIdx = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
  // Shared memory holds NaN when a block begins.
  std::memset(const_cast<std::byte*>(shared_.begin), 0xFF, shared_.bytes);
  order.arrange(in_order_, threads_);
  next_ = returned_ = barriers_ = 0;
  ++blocks_run_;
  warps_.resize((threads_ + kWarp - 1) / kWarp);
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const unsigned rest = threads_ - static_cast<unsigned>(w) * kWarp;
    warps_[w].warp.start(rest >= kWarp ? ~0U : (1U << rest) - 1);
    warps_[w].meetings.clear();
  }
  while (Fiber* const next = next_fiber()) {
    resume(next);
  }
  if (returned_ != threads_) {
    complain_of_deadlock();
  }
}

/// A thread that can go on, or an idle fiber for a thread that has not begun; null: neither.
Fiber* Runner::next_fiber() {
  const bool can_begin = next_ < threads_;
  if (!ready_.empty() && (!can_begin || order.pick(2) == 0)) {
    const std::size_t k = order.pick(ready_.size());
    Fiber* const f = ready_[k];
    ready_[k] = ready_.back();
    ready_.pop_back();
    return f;
  }
  return can_begin ? idle_fiber() : nullptr;
}

Fiber* Runner::idle_fiber() {
  if (!idle_.empty()) {
    Fiber* const f = idle_.back();
    idle_.pop_back();
    return f;
  }
  auto& f = *fibers_.emplace_back(std::make_unique<Fiber>());
  f.base = const_cast<std::byte*>(stacks_.begin) + (fibers_.size() - 1) * kStackBytes;
  f.stack_pointer = prepare_stack(f.base, enter);
  return &f;
}

void Runner::enter() {
  Runner& r = *runner;  // of which the fiber is one for good
  for (;;) {
    r.work();
    r.idle_.push_back(r.current_);
    r.wait(nullptr);
  }
}

/// Runs threads until one of them waits and another fiber has taken the last.
void Runner::work() {
  Fiber* const self = current_;
  while (next_ < threads_) {
    self->thread = in_order_[next_++];
    set_thread();
    launch_->kernel.call(launch_->kernel.function, launch_->arguments.data());
    ++returned_;
    warps_[self->thread / kWarp].warp.exited |= 1U << lane();
    if (!at_barrier_.empty()) {
      fail("a thread returned while %zu others wait in __syncthreads()", at_barrier_.size());
    }
  }
}

void Runner::wait(const char* what) {
  Fiber* const self = current_;
  self->waits = what;
  cuda_on_host_switch(&self->stack_pointer, outside_);
}

void Runner::resume(Fiber* fiber) {
  current_ = fiber;
  own_stack = fiber->base;
  set_thread();
  cuda_on_host_switch(&outside_, fiber->stack_pointer);
  own_stack = nullptr;
  current_ = nullptr;
}

void Runner::complain_of_deadlock() const {
  std::string text;
  for (const auto& f : fibers_) {
    if (std::find(idle_.begin(), idle_.end(), f.get()) == idle_.end()) {
      text += " " + std::to_string(f->thread) + ":" + f->waits;
    }
  }
  fail("%s, block %u: no thread can go on; these wait:%s", name(), blockIdx.x, text.c_str());
}

// ---- barriers and exchanges ---------------------------------------------------------------------

void Runner::barrier() {
  if (returned_ != 0) {
    fail("__syncthreads(): %u threads of the block have returned", returned_);
  }
  at_barrier_.push_back(current_);
  if (at_barrier_.size() == threads_) {
    ++barriers_;
    ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
    at_barrier_.clear();
  }
  wait("__syncthreads");
}

void Runner::check_mask(const WarpState& w, unsigned mask, const char* what) const {
  if ((mask >> lane() & 1U) == 0) {
    fail("%s: the mask %08x does not name its caller, lane %u", what, mask, lane());
  }
  if ((mask & w.warp.exited) != 0) {
    fail("%s: lanes %08x of the mask have returned", what, mask & w.warp.exited);
  }
  if ((mask & ~w.warp.lanes) != 0) {
    fail("%s: the mask %08x names lanes that the block does not have", what, mask);
  }
}

Runner::Meeting& Runner::meeting(WarpState& w, unsigned mask, const char* what) {
  auto m = std::find_if(w.meetings.begin(), w.meetings.end(),
                        [&](const Meeting& x) { return x.mask == mask; });
  if (m == w.meetings.end()) {
    m = w.meetings.insert(m, Meeting{.mask = mask});
  }
  if (m->arrived == 0) {
    m->what = what;
  } else if (std::strcmp(m->what, what) != 0) {
    fail("lanes of a warp meet in different calls: %s and %s", m->what, what);
  }
  return *m;
}

std::uint64_t Runner::exchange(unsigned mask, std::uint64_t given, int from, const char* what) {
  WarpState& w = warps_[current_->thread / kWarp];
  check_mask(w, mask, what);
  if ((mask >> from & 1U) == 0) {
    fail("%s: reads lane %d, which the mask %08x does not name", what, from, mask);
  }
  Meeting& m = meeting(w, mask, what);
  const unsigned turn = m.turn & 1U;
  m.given[turn][lane()] = given;
  m.arrived |= 1U << lane();
  m.waiting[m.count++] = current_;
  if (m.arrived == mask) {
    m.arrived = 0;
    ++m.turn;
    w.warp.meet(mask);
    ready_.insert(ready_.end(), m.waiting, m.waiting + m.count);
    m.count = 0;
  }
  wait(what);
  return m.given[turn][from];
}

// ---- accesses -----------------------------------------------------------------------------------

/// Shared memory is the thread-local memory of the library that has the kernel.
void Runner::find_shared_memory() {
  struct Search {
    std::uint64_t kernel;
    Range found;
  } search{reinterpret_cast<std::uint64_t>(launch_->kernel.function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* to) {
        auto& s = *static_cast<Search*>(to);
        bool has_kernel = false;
        std::size_t bytes = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + part.p_vaddr;
          has_kernel = has_kernel || (part.p_type == PT_LOAD && s.kernel >= begin &&
                                      s.kernel < begin + part.p_memsz);
          bytes = part.p_type == PT_TLS ? part.p_memsz : bytes;
        }
        if (has_kernel && bytes != 0) {
          // A library that was opened later gets its thread-local memory when it is asked for.
          struct {
            unsigned long module, offset;
          } place{info->dlpi_tls_modid, 0};
          s.found = {static_cast<const std::byte*>(__tls_get_addr(&place)), bytes};
        }
        return has_kernel ? 1 : 0;
      },
      &search);
  if (search.found.bytes > kMostShared) {
    fail("%s: %zu bytes of shared memory", name(), search.found.bytes);
  }
  shared_ = search.found;
}

/// Whether an address belongs to threadIdx or one of its relatives.
static bool is_place(const void* at) {
  const auto is_in = [at](const auto& object) { return at >= &object && at < &object + 1; };
  return is_in(threadIdx) || is_in(blockIdx) || is_in(blockDim) || is_in(gridDim);
}
/// Whether an address is in memory that no program can write: constants of libraries.
static bool is_constant(const void* at) {
  auto address = reinterpret_cast<std::uint64_t>(at);
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t /*size*/, void* p) {
               const std::uint64_t a = *static_cast<std::uint64_t*>(p);
               const std::span parts(info->dlpi_phdr, info->dlpi_phnum);
               const bool holds = std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
                 const std::uint64_t begin = info->dlpi_addr + part.p_vaddr;
                 return part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0 && a >= begin &&
                        a < begin + part.p_memsz;
               });
               return holds ? 1 : 0;
             },
             &address) != 0;
}

void Runner::touch(const void* at, std::size_t bytes, Access how) {
  if (current_ == nullptr || is_own(at, bytes)) {
    return;
  }
  if (stacks_.holds(at, bytes)) {
    fail("an access to a local variable of another thread");
  } else if (memory_.contains(at)) {
    if (!memory_.is_allocated(at, bytes)) {
      fail("an access to %zu bytes at %p of the device, which are not in one allocation", bytes,
           at);
    }
    enter_access(memory_words_, memory_.offset(at), at, bytes, how);
  } else if (managed_.contains(at)) {
    if (!managed_.is_allocated(at, bytes)) {
      fail("an access to %zu managed bytes at %p, which are not in one allocation", bytes, at);
    }
    enter_access(managed_words_, managed_.offset(at), at, bytes, how);
  } else if (shared_.holds(at, bytes)) {
    const auto offset = static_cast<const std::byte*>(at) - shared_.begin;
    enter_access(shared_words_, static_cast<std::size_t>(offset), at, bytes, how);
  } else {
    const Range arguments{reinterpret_cast<const std::byte*>(launch_->arguments.data()),
                          launch_->arguments.size() * sizeof(std::max_align_t)};
    const bool may_read = arguments.holds(at, bytes) || is_place(at) || is_constant(at);
    if (how != Access::kRead || !may_read) {
      fail("an access to %zu bytes of the host at %p", bytes, at);
    }
  }
}

void Runner::enter_access(Words& words, std::size_t offset, const void* at, std::size_t bytes,
                          Access how) {
  const unsigned thread = current_->thread;
  // Each block has shared memory of its own, at the same addresses.
  const Accessor a{&words == &shared_words_ ? blocks_run_ : launches_,
                   block_number_,
                   barriers_,
                   static_cast<std::uint16_t>(thread / kWarp),
                   static_cast<std::uint16_t>(lane()),
                   &warps_[thread / kWarp].warp};
  if (const char* const other = words.enter(a, how, offset, bytes)) {
    fail("a race: a thread %s %zu bytes at %p, and %s them, with nothing to order the two",
         how == Access::kRead    ? "reads"
         : how == Access::kWrite ? "writes"
                                 : "adds atomically to",
         bytes, at, other);
  }
}

}  // namespace cuda_on_host
