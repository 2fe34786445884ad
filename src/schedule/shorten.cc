#include "schedule/shorten.h"

#include <algorithm>
#include <span>

#include "graph/seen.h"
#include "util/interrupt.h"

namespace dynet::schedule {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};
constexpr int kMaxChain = 4;  // product, bias, activation, loss

std::int64_t result_elements(const graph::Graph& graph, NodeId n) {
  const graph::Signature& signature = *graph[n].signature;
  std::int64_t elements = 0;
  if (!signature.record->aliases) {
    for (std::uint32_t k = 0; k < signature.record->outputs; ++k) {
      elements += graph.elements(n + k);
    }
  }
  return elements;
}

std::int64_t saved_elements(const graph::Graph& graph, NodeId n) {
  const graph::Signature& signature = *graph[n].signature;
  std::int64_t elements = 0;
  for (std::uint32_t k = 0; k < signature.record->saved; ++k) {
    elements += signature.record->has_whole
                    ? signature.saved[k].elements()
                    : signature.saved[k].example_elements() * graph::Seen(graph, n).examples(n);
  }
  return elements;
}

/// The numbers that stay after a member has run, until its users have run. If a member is computed
/// in two parts, its saved numbers belong to the user.
std::int64_t kept_elements(const graph::Graph& graph, const Group& group, NodeId n) {
  switch (group.part) {
    case Part::kFirst:
      return result_elements(graph, n) + saved_elements(graph, n);
    case Part::kRest:
      return 0;
    default:
      return result_elements(graph, n);
  }
}

bool is_shared(const Segment& segment, std::uint32_t arg) {
  return arg < kMaxMaskedArgs && ((segment.shared >> arg) & 1) != 0;
}

}  // namespace

void Shortener::shorten(const graph::Graph& graph, const Plan& plan, Plan& to) {
  const std::int64_t all = count_elements(graph, plan);
  if (all <= limits_.whole) {
    to = plan;
    return;
  }
  cut(graph, plan, std::max(all / kShare, limits_.piece));
  pieces_.connect(graph, plan);
  count_steps();
  order_late();
  run_in_order();
  pieces_.write(plan, order_, to);
}

/// Elements of all results and of saved numbers; notes the nodes of the plan.
std::int64_t Shortener::count_elements(const graph::Graph& graph, const Plan& plan) {
  is_planned_.begin(graph.size());
  std::int64_t all = 0;
  for (const Group& group : plan.groups) {
    for (std::uint32_t i = group.first; i < group.first + group.members; ++i) {
      const NodeId n = plan.members[i];
      is_planned_.set(n, 1);
      all += group.part == Part::kRest ? 0 : result_elements(graph, n) + saved_elements(graph, n);
    }
  }
  return all;
}

/// Elements of what a member writes, and of what it alone reads of the plan.
std::int64_t Shortener::touched_elements(const graph::Graph& graph, const Group& group,
                                         const Segment& segment, NodeId n) const {
  std::int64_t elements = result_elements(graph, n) + saved_elements(graph, n);
  for (std::uint32_t a = 0; a < graph[n].arity; ++a) {
    const NodeId arg = graph.args(n)[a];
    if (group.reads(a) && !is_shared(segment, a) && is_planned_[graph.owner(arg)] != 0) {
      elements += graph.elements(arg);
    }
  }
  return elements;
}

/// Makes the pieces: of a group, as few as touch `most` elements each, and alike.
void Shortener::cut(const graph::Graph& graph, const Plan& plan, std::int64_t most) {
  pieces_.clear();
  state_.clear();
  util::Interrupt interrupt;
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    interrupt.pass(1 + (group.members / 16));
    std::int64_t touched = 0;
    before_.clear();
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const Segment& segment = plan.segments[s];
      for (std::uint32_t i = segment.begin; i < segment.begin + segment.count; ++i) {
        before_.push_back(touched);
        touched += touched_elements(graph, group, segment, plan.members[i]);
      }
    }
    const bool is_leaf = graph[plan.members[group.first]].arity == 0;
    const std::int64_t of_piece = std::max<std::int64_t>(1, is_leaf ? most / kLeafShare : most);
    const std::int64_t pieces = std::max<std::int64_t>(1, (touched + of_piece - 1) / of_piece);
    std::int64_t piece = -1;
    for (std::uint32_t i = 0; i < group.members; ++i) {
      const std::int64_t mine = touched == 0 ? 0 : before_[i] * pieces / touched;
      if (mine != piece) {
        pieces_.add(g, group.first + i, 0);
        state_.emplace_back();
        piece = mine;
      }
      pieces_.extend();
      state_.back().elements += kept_elements(graph, group, plan.members[group.first + i]);
    }
  }
}

/// Nothing has run so far.
void Shortener::count_steps() {
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    State& state = state_[p];
    state.needs_left = static_cast<std::uint32_t>(pieces_.needs(p).size());
    state.users_left = static_cast<std::uint32_t>(pieces_.users(p).size());
    for (const std::uint32_t needed : pieces_.needs(p)) {
      state.depth = std::max(state.depth, state_[needed].depth + 1);
    }
  }
}

/// Fills `late_` from its end. Next goes the piece whose users were placed last; of equals, the
/// piece of the least depth, so that the long chain to a piece runs before the short ones.
void Shortener::order_late() {
  late_.resize(pieces_.size());
  ready_.clear();
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    if (state_[p].users_left == 0) {
      ready_.push_back(p);
    }
  }
  std::size_t at = late_.size();
  util::Interrupt interrupt;
  while (!ready_.empty()) {
    interrupt.pass(1);
    const std::uint32_t p = ready_.back();
    ready_.pop_back();
    late_[--at] = p;
    const std::size_t before = ready_.size();
    for (const std::uint32_t needed : pieces_.needs(p)) {
      if (--state_[needed].users_left == 0) {
        ready_.push_back(needed);
      }
    }
    std::sort(ready_.begin() + static_cast<std::ptrdiff_t>(before), ready_.end(),
              [&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t x = state_[a].depth;
                const std::uint32_t y = state_[b].depth;
                return x != y ? x > y : a < b;
              });
  }
}

/// Fills `order_`: late, but for pieces that make room.
void Shortener::run_in_order() {
  order_.clear();
  to_check_.clear();
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    state_[p].users_left = static_cast<std::uint32_t>(pieces_.users(p).size());
  }
  util::Interrupt interrupt;
  for (const std::uint32_t p : late_) {
    interrupt.pass(1);
    if (!state_[p].is_done) {
      run(p);
    }
    while (!to_check_.empty()) {
      const std::uint32_t q = to_check_.back();
      to_check_.pop_back();
      if (list_reducing(q)) {
        for (std::size_t i = 0; i < chain_.size(); ++i) {
          run(chain_[i]);
        }
      }
    }
  }
}

void Shortener::run(std::uint32_t p) {
  state_[p].is_done = true;
  order_.push_back(p);
  for (const std::uint32_t user : pieces_.users(p)) {
    if (--state_[user].needs_left == 0) {
      to_check_.push_back(user);
    }
  }
  for (const std::uint32_t needed : pieces_.needs(p)) {
    if (--state_[needed].users_left == 1) {
      to_check_.push_back(only_user(needed));
    }
  }
}

/// The user that has not run, of a piece that has one such.
std::uint32_t Shortener::only_user(std::uint32_t p) const {
  const std::span<const std::uint32_t> users = pieces_.users(p);
  const auto found = std::find_if(users.begin(), users.end(),
                                  [this](std::uint32_t user) { return !state_[user].is_done; });
  return found == users.end() ? kNobody : *found;
}

/// Whether a piece that may run, or a short chain that begins with it, leaves less memory in use
/// than before; `chain_` is then what to run.
bool Shortener::list_reducing(std::uint32_t p) {
  chain_.clear();
  std::int64_t more = 0;
  for (int length = 0; length < kMaxChain; ++length) {
    const State& state = state_[p];
    const std::uint32_t waits_for_chain = length == 0 ? 0 : 1;
    if (state.is_done || state.needs_left != waits_for_chain) {
      return false;
    }
    chain_.push_back(p);
    more += state.elements;
    for (const std::uint32_t needed : pieces_.needs(p)) {
      more -= state_[needed].users_left == 1 ? state_[needed].elements : 0;
    }
    if (more <= 0 && !pieces_.users(p).empty()) {
      return true;
    }
    if (state.users_left != 1) {
      return false;
    }
    p = only_user(p);
  }
  return false;
}

}  // namespace dynet::schedule
