// The functions of mp.h that are not templates.
#include "dynet/mp.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>

#include "params/access.h"
#include "params/shared_memory.h"
#include "workers/processes.h"
#include "workers/watch.h"

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

void close_end(int& end) {
  if (end >= 0) {
    close(end);
    end = -1;
  }
}
void close_all(Workload& w) {
  for (int* const end : {&w.c2p[0], &w.c2p[1], &w.p2c[0], &w.p2c[1]}) {
    close_end(*end);
  }
}

void begin_child(std::vector<Workload>& workloads, std::size_t number, pid_t parent) {
  workers::end_with(parent);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (i != number) {
      close_all(workloads[i]);
    }
  }
  close_end(workloads[number].c2p[0]);
  close_end(workloads[number].p2c[1]);
}

/// How a child ended: a status of waitpid, or that somebody else waited for it.
workers::End wait_for(std::size_t number, pid_t pid) {
  workers::End end{number, pid, 0, true};
  while (waitpid(pid, &end.status, 0) < 0) {
    if (errno != EINTR) {
      end.is_known = false;
      break;
    }
  }
  return end;
}

/// While it lives, a pipe that nobody reads is an error of write() and does not kill the process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() {
    const timespec now{};
    if (!was_pending_) {
      sigtimedwait(&pipe_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

std::string queue_name = "dynet_mp_work_queue";
std::string shared_memory_name = "dynet_mp_shared_memory";
timespec start_time{};
bool stop_requested = false;
bool average_gradients = true;
double patience = workers::WorkerOptions().patience;
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

std::vector<Workload> create_workloads(unsigned num_children) {
  std::vector<Workload> workloads(num_children, Workload{0, {-1, -1}, {-1, -1}});
  for (Workload& w : workloads) {
    if (pipe2(w.c2p, O_CLOEXEC) != 0 || pipe2(w.p2c, O_CLOEXEC) != 0) {
      const int error = errno;
      for (Workload& made : workloads) {
        close_all(made);
      }
      throw errors::IoError("create_workloads: pipes for " + std::to_string(num_children) +
                            " children: " + std::strerror(error));
    }
  }
  return workloads;
}

unsigned spawn_children(std::vector<Workload>& workloads) {
  const pid_t parent = getpid();
  workers::flush_streams();
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    workloads[i].pid = fork();
    if (workloads[i].pid == 0) {
      begin_child(workloads, i, parent);
      return static_cast<unsigned>(i);
    }
    if (workloads[i].pid < 0) {
      const int error = errno;
      for (std::size_t made = 0; made < i; ++made) {
        kill(workloads[made].pid, SIGKILL);
        wait_for(made, workloads[made].pid);
      }
      for (Workload& w : workloads) {
        w.pid = 0;
        close_all(w);
      }
      throw errors::UsageError("spawn_children: the system gives no process for child " +
                               std::to_string(i) + ": " + std::strerror(error));
    }
  }
  for (Workload& w : workloads) {
    close_end(w.c2p[1]);
    close_end(w.p2c[0]);
  }
  return static_cast<unsigned>(workloads.size());
}

void cleanup(std::vector<Workload>& workloads) {
  const std::vector<Workload> all = std::exchange(workloads, {});
  for (Workload w : all) {
    close_all(w);
  }
  workers::End failed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const workers::End end = all[i].pid > 0 ? wait_for(i, all[i].pid) : workers::End();
    if (end.is_known && end.status != 0 && !failed.is_known) {
      failed = end;
    }
  }
  if (failed.is_known) {
    throw errors::WorkerError(
        "child " + std::to_string(failed.worker) + " of " + std::to_string(all.size()) +
            " (process " + std::to_string(failed.pid) + ") " + workers::describe_end(failed.status),
        static_cast<unsigned>(failed.worker), failed.pid,
        WIFSIGNALED(failed.status) ? WTERMSIG(failed.status) : 0);
  }
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
      throw errors::IoError("read_data: " + std::to_string(bytes) + " bytes are missing: " +
                            (got == 0 ? "the pipe has ended" : std::strerror(errno)));
    }
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}
void write_bytes(int pipe, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  const NoBrokenPipe no_signal;
  while (bytes != 0) {
    const ssize_t put = write(pipe, at, bytes);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      throw errors::IoError(std::string("write_data: ") + std::strerror(errno));
    }
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

workers::WorkerOptions worker_options(unsigned num_children) {
  workers::WorkerOptions options;
  options.workers = num_children;
  options.patience = patience;
  return options;
}

ParameterCollection shared_parameters() { return dynet::detail::ModelAccess::all_models(true); }

UnsharedGradients::UnsharedGradients() : unshared_(dynet::detail::ModelAccess::all_models(false)) {
  unshared_.reset_gradient();  // the parent's, of which this process has a copy
}
void UnsharedGradients::check() const {
  for (const auto& storage : dynet::detail::ModelAccess::all(unshared_)) {
    if (storage->has_grad()) {
      throw errors::UsageError(
          "workers: the gradient of " + storage->name +
          " would be lost with the worker: the parameter is not in memory that "
          "processes share; want initialize(argc, argv, true) before it is made");
    }
  }
}

void start_run() {
  shared_object = make_shared_object();
  shared_object->counter = 0;
  clock_gettime(CLOCK_MONOTONIC, &start_time);
}

}  // namespace detail
}  // namespace dynet::mp
