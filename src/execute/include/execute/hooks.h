#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "schedule/plan.h"

namespace dynet::execute {

using graph::NodeId;

/// Acts before and after the calls of a graph's requests: looks at them, takes their times, stops
/// them. Every function does nothing unless it is overridden. A hook is called inside a request, so
/// it may not ask the graph for values. Thread rule: the rule of its graph.
class Hook {
 public:
  /// One call that computes `members`, or, backward, the gradients of their arguments.
  struct Call {
    std::span<const NodeId> members;
    std::uint64_t shared;  ///< bit a: argument a is one storage for all members
    std::uint64_t args;    ///< bit a: the call reads argument a (all, unless it is a part of a sum)
    schedule::Part part;
    bool backward;
    bool has_kernel;  ///< the operation computes; else numbers are only copied to their place
  };

  Hook() = default;
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  virtual ~Hook() = default;

  /// A request, a forward or a backward pass, begins.
  virtual void begin_request(bool /*backward*/) noexcept {}
  /// The request is over, or has failed.
  virtual void end_request() noexcept {}
  /// A request is over and has not failed; `event` names it.
  virtual void after_request(const char* /*event*/) {}
  /// Some microseconds of work outside of calls follow, such as scheduling.
  virtual void before_work(std::int64_t /*microseconds*/) {}
  /// The nodes will be computed by this plan.
  virtual void after_plan(const std::vector<NodeId>& /*nodes*/, const schedule::Plan& /*plan*/) {}
  /// The results of a plan of so many nodes took `bytes`, and keep `kept` of them.
  virtual void after_placing(std::size_t /*nodes*/, std::size_t /*bytes*/, std::size_t /*kept*/) {}
  /// The calls that follow are calls of group `g` of the history.
  virtual void before_group(std::uint32_t /*g*/) {}
  virtual void before_call(const graph::Graph& /*graph*/, const Call& /*call*/) {}
  virtual void after_call(const graph::Graph& /*graph*/, const Call& /*call*/) {}
  /// Backward has computed the gradients, and will add them to the parameters.
  virtual void before_delivery() {}

  /// Whether each backward runs twice, first as a rehearsal: one member in each call, and nothing
  /// is added to the parameters.
  [[nodiscard]] virtual bool wants_rehearsal() const { return false; }
  virtual void after_rehearsal() {}
  /// Whether the hook is told of the groups and calls of rehearsals.
  [[nodiscard]] virtual bool sees_rehearsals() const { return false; }
};

class Executor;
struct CallTools;

/// Where the hooks of the library look.
struct HookParts {
  const Executor& executor;
  CallTools& tools;
};

/// The hooks of one graph, in the order in which they are called. The list is empty unless a test,
/// an option or a check of this thread asks for a hook: then a call costs one comparison more. Not
/// thread-safe.
class Hooks {
 public:
  Hooks(const Executor& executor, CallTools& tools) : parts_{executor, tools} {}
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  ~Hooks() = default;

  /// Adds a hook of the caller to all requests that follow, until `remove_added`.
  void add(Hook& hook) { added_.push_back(&hook); }
  void remove_added() { added_.clear(); }

  /// A request: finds the hooks that are wanted now, and tells them of its begin and end.
  class Request {
   public:
    Request(Hooks& hooks, bool backward) : hooks_(hooks) { hooks_.begin(backward); }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    ~Request() { hooks_.end(); }

   private:
    Hooks& hooks_;
  };

  [[nodiscard]] bool empty() const { return active_.empty(); }
  /// Calls `f` for each hook.
  template <class F>
  void each(F f) {
    for (Hook* hook : active_) {
      f(*hook);
    }
  }
  /// Runs `pass` as a rehearsal if a hook wants one.
  template <class F>
  void rehearse(F pass) {
    if (begin_rehearsal()) {
      try {
        pass();
      } catch (...) {
        active_.swap(rested_);
        throw;
      }
      active_.swap(rested_);
      each([](Hook& hook) { hook.after_rehearsal(); });
    }
  }

 private:
  static constexpr std::size_t kKinds = 4;  ///< of hooks that the library has

  void begin(bool backward);
  void end() noexcept;
  bool begin_rehearsal();

  HookParts parts_;
  std::vector<Hook*> added_;
  std::array<std::unique_ptr<Hook>, kKinds> made_;  ///< hooks of the library that were wanted once
  std::vector<Hook*> active_;                       ///< during a request
  std::vector<Hook*> rested_;                       ///< during a rehearsal: all hooks
};

// The hooks of the library. Each is made for one graph when it is wanted first.

/// interrupts.cc: the check of this thread (dynet/interrupt.h), and the pulse of a worker.
[[nodiscard]] bool wants_interrupts();
std::unique_ptr<Hook> make_interrupts(const HookParts& parts);
/// profile.cc: times of calls, for DYNET_TRACE, `--dynet-profiling` and a TimelineScope.
[[nodiscard]] bool wants_profile();
std::unique_ptr<Hook> make_profile(const HookParts& parts);
/// trace.cc: plans and memory, for DYNET_TRACE.
[[nodiscard]] bool wants_trace();
std::unique_ptr<Hook> make_trace(const HookParts& parts);
/// paranoia.cc: each member of a call by itself, and `verify`, with DYNET_PARANOID.
[[nodiscard]] bool wants_paranoia();
std::unique_ptr<Hook> make_paranoia(const HookParts& parts);

}  // namespace dynet::execute
