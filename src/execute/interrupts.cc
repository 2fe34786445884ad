// The hook that lets a thread stop its requests, and shows a worker's parent that groups run.
#include <cstdint>
#include <memory>
#include <span>

#include "execute/executor.h"
#include "util/interrupt.h"
#include "util/pulse.h"

namespace dynet::execute {
namespace {

class Interrupts final : public Hook {
 public:
  explicit Interrupts(const HookParts& parts)
      : graph_(parts.executor.context().graph), history_(parts.executor.history()) {}

  void begin_request(bool /*backward*/) noexcept override { interrupt_ = util::Interrupt(); }
  void before_work(std::int64_t microseconds) override { interrupt_.pass(microseconds); }
  void before_group(std::uint32_t g) override {
    util::beat();
    const std::span<const NodeId> members = history_.members(g);
    const std::int64_t numbers = graph_[members[0]].signature->numbers;
    interrupt_.pass(1 + (numbers * static_cast<std::int64_t>(members.size()) / 256));
  }
  [[nodiscard]] bool sees_rehearsals() const override { return true; }

 private:
  const graph::Graph& graph_;
  const History& history_;
  util::Interrupt interrupt_;  ///< of the request
};

}  // namespace

bool wants_interrupts() { return util::Interrupt().is_on() || util::pulse_word != nullptr; }

std::unique_ptr<Hook> make_interrupts(const HookParts& parts) {
  return std::make_unique<Interrupts>(parts);
}

}  // namespace dynet::execute
