// Functions for looking into the library.

#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

#include "dynet/debug.h"

#include "binding.h"
#include "graph.h"

namespace dynet::python {
namespace {

/// `with dynet.trace("plan"):`. Invariant: `scope` lives between enter and exit.
struct Trace {
  std::string words;
  std::optional<TraceScope> scope;
};

void bind_trace(nb::module_& m) {
  using nb::arg;
  nb::class_<Trace>(
      m, "trace",
      "Within `with trace(\"plan,time\"):` the words' reports go to the standard error "
      "stream, in all threads: graph, plan, memory, execute, time, repeats, or all. "
      "DYNET_TRACE in the environment does it for a whole program.")
      .def(
          "__init__",
          [](Trace* self, const std::string& words) {
            {
              const TraceScope checked(words);
            }  // ValueError here rather than in `with`
            new (self) Trace{words, std::nullopt};
          },
          arg("words"))
      .def(
          "__enter__",
          [](nb::handle self) {
            auto& trace = nb::cast<Trace&>(self);
            if (trace.scope) {
              throw errors::UsageError("trace: one object is entered once at a time; make another");
            }
            trace.scope.emplace(trace.words);
            return nb::borrow(self);
          })
      .def("__exit__", [](Trace& self, const nb::args&) { self.scope.reset(); });
}

/// `with dynet.timeline("run.json"):`. Invariant: `scope` lives between enter and exit.
struct Timeline {
  std::string file;
  std::optional<TimelineScope> scope;
};

void bind_timeline(nb::module_& m) {
  nb::class_<Timeline>(
      m, "timeline",
      "Within `with timeline(\"run.json\"):` the library records its work, in all threads: forward "
      "and backward passes, in them planning and each kernel call with its nodes, its group and "
      "the line of its first node, and updates of trainers. The file opens in Perfetto "
      "(ui.perfetto.dev) and in chrome://tracing.")
      .def(
          "__init__",
          [](Timeline* self, std::string file) {
            new (self) Timeline{std::move(file), std::nullopt};
          },
          nb::arg("file"))
      .def("__enter__",
           [](nb::handle self) {
             auto& timeline = nb::cast<Timeline&>(self);
             if (timeline.scope) {
               throw errors::UsageError(
                   "timeline: one object is entered once at a time; make another");
             }
             timeline.scope.emplace(timeline.file);
             return nb::borrow(self);
           })
      .def("__exit__", [](Timeline& self, const nb::args&) {
        if (self.scope) {
          try {
            self.scope->close();
          } catch (...) {  // it records no more, and another one may begin
            self.scope.reset();
            throw;
          }
          self.scope.reset();
        }
      });
}

}  // namespace

void bind_debug(nb::module_& m) {
  bind_trace(m);
  bind_timeline(m);
  m.def(
      "find_nan", [] { return find_nan(current_graph().cg); },
      "The first node with bad numbers, and its line; empty if all numbers are finite. Looks for "
      "NaN in the computed values; then, after a backward pass, for NaN and infinities in the "
      "gradients, from the loss down; then for infinite values. The error of `trainer.update()` "
      "about a bad gradient has this text already.");
  m.def("profile_text", &profile_text,
        "Times of kernel calls since `--dynet-profiling` was on; empty if it is off.");
  m.def("reset_profile", &reset_profile, "Forgets what was measured.");
}

}  // namespace dynet::python
