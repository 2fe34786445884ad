// Ends of life: objects of static lifetime, objects of threads that end in any order, a process
// that ends while threads compute. The first argument chooses the end; the exit status is 0 if all
// is well, and the test looks at it.

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/workers.h"

#include "ends/objects.h"

namespace dynet::ends {
namespace {

// Made before main(), filled in it: objects that the library makes at first use are younger.
std::unique_ptr<Objects> first;
std::unique_ptr<ComputesAtEnd> computes;
std::unique_ptr<ComputationGraph> graph;
std::unique_ptr<WorkerPool> pool;
std::vector<Expression> expressions;

void say(bool is_right, const char* what) {
  if (!is_right) {
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(3);
  }
}

// ---- static lifetime
// ------------------------------------------------------------------------------

void keep_objects() {
  first = std::make_unique<Objects>();
  first->step();
  expressions = {first->kept, first->loss};
}

/// A graph made and used in main() is older than the table of graphs that lists it.
void keep_graph() {
  graph = std::make_unique<ComputationGraph>();
  for (int k = 0; k < 1000; ++k) {
    input(*graph, {4}, {1, 2, 3, 4});
  }
}

void keep_locals() {
  static Objects objects;
  static ComputationGraph another;
  static Expression e = input(another, 1.0F);
  objects.step();
  static ComputesAtEnd late;
  say(as_scalar(e.value()) == 1.0F, "another value");
}

/// Thread-local memory of the main thread is gone by then.
void compute_in_destructor() {
  computes = std::make_unique<ComputesAtEnd>();
  computes->objects.step();
}

/// Nothing was computed before.
void compute_in_destructor_alone() { computes = std::make_unique<ComputesAtEnd>(); }

void compute_with_profile() {
  profiling_flag = 1;
  compute_in_destructor();
}

void keep_timeline() {
  static const TimelineScope scope("/dev/null");
  compute_in_destructor();
}

void keep_pool() {
  DynetParams params;
  params.shared_parameters = true;
  initialize(params);
  first = std::make_unique<Objects>();
  pool = std::make_unique<WorkerPool>(
      *first->model, [](ComputationGraph& cg, const std::vector<unsigned>& /*examples*/) {
        return squared_norm(parameter(cg, first->w));
      });
  pool->learn({0, 1, 2});
}

void keep_sink() {
  static std::string last;
  set_log_sink([](const std::string& text) { last = text; });
  compute_in_destructor();
}

// ---- threads
// --------------------------------------------------------------------------------------

/// Before any object of this thread in the library, so that it ends later.
thread_local std::unique_ptr<ComputesAtEnd> of_thread;

void end_with_thread() {
  for (int k = 0; k < 4; ++k) {
    std::thread([] {
      of_thread.reset();
      of_thread = std::make_unique<ComputesAtEnd>();
      of_thread->objects.step();
    }).join();
    std::thread([] {
      thread_local ComputationGraph own;
      thread_local Objects objects;
      input(own, 2.0F).value();
      objects.step();
    }).join();
  }
  of_thread = std::make_unique<ComputesAtEnd>();  // of the main thread
}

/// Made in one thread, which ends, used in a second one, ended in a third.
void outlive_its_thread() {
  std::unique_ptr<Objects> objects;
  double loss = 0.0;
  std::thread([&] { objects = std::make_unique<Objects>(); }).join();
  std::thread([&] { loss = objects->step(); }).join();
  say(std::isfinite(loss), "the loss is not finite");
  say(get_number_of_active_graphs() == 1, "graphs before");
  const Expression kept = objects->kept;
  std::thread([&] { objects.reset(); }).join();
  say(get_number_of_active_graphs() == 0, "graphs after");
  say(kept.is_stale(), "an expression outlives its graph");
  std::thread([&] { keep_objects(); }).join();
}

// ---- a process that ends while threads compute
// -----------------------------------------------------

[[noreturn]] void compute_for_ever(std::atomic<int>& steps) {
  auto* const objects = new Objects;
  while (true) {
    objects->step();
    ++steps;
  }
}

void start_threads() {
  static std::atomic<int> steps{0};
  for (int k = 0; k < 3; ++k) {
    std::thread([] { compute_for_ever(steps); }).detach();
  }
  std::thread([] {  // as programs do that make a graph for each example
    while (true) {
      ComputationGraph cg;
      say(as_scalar((input(cg, 1.0F) + 2.0F).value()) == 3.0F, "a wrong value");
      ++steps;
    }
  })
      .detach();
  while (steps < 8) {
    std::this_thread::yield();
  }
}

/// Ends that take a while, while others compute.
struct EndsSlowly {
  ~EndsSlowly() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
};
EndsSlowly slow;

void return_while_threads_compute() { start_threads(); }

[[noreturn]] void exit_while_threads_compute() {
  start_threads();
  std::exit(0);
}

[[noreturn]] void exit_from_a_thread() {
  start_threads();
  keep_objects();
  std::thread([] { std::exit(0); }).detach();
  static std::atomic<int> steps{0};
  compute_for_ever(steps);
}

const std::map<std::string, std::function<void()>> kCases = {
    {"keep_objects", keep_objects},
    {"keep_graph", keep_graph},
    {"keep_locals", keep_locals},
    {"compute_in_destructor", compute_in_destructor},
    {"compute_in_destructor_alone", compute_in_destructor_alone},
    {"compute_with_profile", compute_with_profile},
    {"keep_timeline", keep_timeline},
    {"keep_pool", keep_pool},
    {"keep_sink", keep_sink},
    {"end_with_thread", end_with_thread},
    {"outlive_its_thread", outlive_its_thread},
    {"return_while_threads_compute", return_while_threads_compute},
    {"exit_while_threads_compute", exit_while_threads_compute},
    {"exit_from_a_thread", exit_from_a_thread},
};

}  // namespace
}  // namespace dynet::ends

int main(int argc, char** argv) {
  if (argc != 2 || dynet::ends::kCases.count(argv[1]) == 0) {
    for (const auto& one : dynet::ends::kCases) {
      std::printf("%s\n", one.first.c_str());
    }
    return 2;
  }
  dynet::ends::kCases.at(argv[1])();
  return 0;
}
