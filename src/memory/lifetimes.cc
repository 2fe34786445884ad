// Layouts of whole plans.
#include <algorithm>
#include <numeric>
#include <string>

#include "dynet/except.h"

#include "graph/seen.h"
#include "memory/layout.h"
#include "util/interrupt.h"

namespace dynet::memory {
namespace {

using graph::NodeId;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
constexpr auto kMaxOutputs = static_cast<std::uint32_t>(ext::kMaxOutputs);

const ext::Record& record_of(const graph::Graph& graph, const schedule::Plan& plan,
                             const schedule::Group& group) {
  return graph[plan.members[group.first]].record();
}

std::span<const NodeId> members_of(const schedule::Plan& plan, const schedule::Group& group) {
  return {plan.members.data() + group.first, group.members};
}

/// Has the group results of its own?
bool has_places(const graph::Graph& graph, const schedule::Plan& plan,
                const schedule::Group& group) {
  return group.part != schedule::Part::kRest && !record_of(graph, plan, group).aliases;
}

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + Layout::kAlignment - 1) & ~(Layout::kAlignment - 1);
}

[[noreturn]] void fail(const graph::Graph& graph, NodeId node) {
  throw out_of_memory(
      "out of memory: the results of the plan with this node are more than can be "
      "addressed\n  " +
      graph.describe(node));
}

/// Adds the bytes of `elements` to a sum. out_of_memory if the sum cannot be addressed.
void add_result(std::int64_t& sum, std::int64_t elements, std::int64_t number_bytes,
                const graph::Graph& graph, NodeId node) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, number_bytes, &bytes) ||
      bytes > kMaxBytes - sum - Layout::kAlignment) {
    fail(graph, node);
  }
  sum += bytes;
}

/// Adds the bytes that `n` saves for the backward pass: per node for an operation of whole batches,
/// per example, as calls see them, for others.
void add_saved(std::int64_t& sum, const graph::Graph& graph, NodeId n, std::uint32_t k) {
  const graph::Signature& signature = *graph[n].signature;
  const Dim& dim = signature.saved[k];
  const std::int64_t elements = signature.record->has_whole
                                    ? dim.elements()
                                    : dim.example_elements() * graph::Seen(graph, n).examples(n);
  add_result(sum, elements, ext::saved_bytes(signature.record->saved_as[k], signature.number),
             graph, n);
}

void add_output(std::int64_t& sum, const graph::Graph& graph, NodeId n) {
  add_result(sum, graph.elements(n), ext::bytes_of(graph[n].signature->number), graph,
             graph.owner(n));
}

/// The node whose memory `n` shows: through aliases to the aliased node.
NodeId memory_of(const graph::Graph& graph, NodeId n) {
  while (graph[n].output == 0 && graph[n].record().aliases) {
    n = graph.args(n)[0];
  }
  return n;
}

}  // namespace

std::int64_t Layout::kept_bytes() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0},
                         [](std::int64_t sum, const Block& b) { return sum + b.kept_bytes; });
}

std::int64_t Layout::bytes() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0},
                         [](std::int64_t sum, const Block& b) { return sum + b.bytes; });
}

void LayoutMaker::number_places(const graph::Graph& graph, const schedule::Plan& plan,
                                Layout& layout) {
  layout.clear();
  std::uint32_t count = 0;
  for (const schedule::Group& group : plan.groups) {
    layout.first.push_back(count);
    ext::Memory* const memory = graph[plan.members[group.first]].device().memory;
    const auto found =
        std::find_if(layout.blocks.begin(), layout.blocks.end(),
                     [memory](const Layout::Block& block) { return block.memory == memory; });
    layout.block.push_back(static_cast<std::uint32_t>(found - layout.blocks.begin()));
    if (found == layout.blocks.end()) {
      layout.blocks.push_back({.memory = memory});
    }
    count +=
        has_places(graph, plan, group) ? group.members * record_of(graph, plan, group).outputs : 0;
  }
  layout.outputs.resize(count);
  layout.saved.assign(plan.groups.size() * ext::kMaxSaved, Layout::kNowhere);
}

/// Which group has places for which node.
void LayoutMaker::find_groups(const graph::Graph& graph, const schedule::Plan& plan,
                              util::Stamped<std::uint8_t>& stays) {
  group_.begin(graph.size());
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    for (const NodeId m : members_of(plan, plan.groups[g])) {
      const NodeId owner = memory_of(graph, m);
      if (owner != m && stays[m] != 0) {
        stays.set(owner, 1);
      }
      if (has_places(graph, plan, plan.groups[g])) {
        group_.set(m, g + 1);
      }
    }
  }
}

void LayoutMaker::find_runs(const graph::Graph& graph, const schedule::Plan& plan,
                            const util::Stamped<std::uint8_t>& stays) {
  runs_.assign(plan.groups.size() * kRunsPerGroup, {});
  const auto use = [&](NodeId n, std::uint32_t by) {
    const NodeId shown = memory_of(graph, n);
    const std::uint32_t placed = group_[graph.owner(shown)];
    if (placed != 0) {
      Run& run = runs_of(placed - 1)[graph[shown].output];
      run.last_use = std::max(run.last_use, by);
    }
  };
  util::Interrupt interrupt;
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    const schedule::Group& group = plan.groups[g];
    interrupt.pass(1 + (group.members / 16));
    for (const NodeId m : members_of(plan, group)) {
      graph[m].visit_own_arguments([&](std::uint32_t a, NodeId n) {
        if (group.reads(a)) {
          use(n, g);
        }
      });
      if (group_[m] != 0) {
        add_results(graph, m, g, group.part, stays);
      }
    }
  }
}

void LayoutMaker::add_results(const graph::Graph& graph, NodeId m, std::uint32_t g,
                              schedule::Part part, const util::Stamped<std::uint8_t>& stays) {
  const ext::Record& record = graph[m].record();
  Run* const runs = runs_of(group_[m] - 1);
  for (std::uint32_t k = 0; k < record.outputs; ++k) {  // second terms are added to it
    runs[k].last_use = std::max(runs[k].last_use, g);
    if (part != schedule::Part::kRest && stays[m + k] == 0) {
      add_output(runs[k].bytes, graph, m + k);
    }
  }
  for (std::uint32_t k = 0; k < record.saved; ++k) {
    Run& run = runs[kMaxOutputs + k];
    run.last_use = std::max(run.last_use, g);
    if (part != schedule::Part::kRest) {
      add_saved(run.bytes, graph, m, k);
    }
  }
}

void LayoutMaker::check_sum(const graph::Graph& graph, const schedule::Plan& plan) const {
  std::int64_t all = 0;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const schedule::Group& group = plan.groups[r / kRunsPerGroup];
    add_result(all, runs_[r].bytes, 1, graph, plan.members[group.first]);
    all = round_up(all);
  }
}

/// Takes memory for the runs of each group before the group, and gives back runs after their last
/// use.
void LayoutMaker::place_runs(const schedule::Plan& plan, const Layout& layout) {
  rooms_.resize(std::max(rooms_.size(), layout.blocks.size()));
  for (Room& room : rooms_) {
    room.clear();
  }
  for (auto& runs : ends_) {
    runs.clear();
  }
  ends_.resize(std::max(ends_.size(), plan.groups.size()));
  util::Interrupt interrupt;
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    interrupt.pass(1);
    for (std::size_t r = g * kRunsPerGroup; r < (g + 1) * kRunsPerGroup; ++r) {
      if (runs_[r].bytes != 0) {
        runs_[r].offset = rooms_[layout.block[g]].take(round_up(runs_[r].bytes));
        ends_[runs_[r].last_use].push_back(r);
      }
    }
    for (const std::size_t r : ends_[g]) {
      rooms_[layout.block[r / kRunsPerGroup]].give(runs_[r].offset, round_up(runs_[r].bytes));
    }
  }
}

void LayoutMaker::lay_out(const graph::Graph& graph, const schedule::Plan& plan,
                          util::Stamped<std::uint8_t>& stays, Layout& layout) {
  number_places(graph, plan, layout);
  find_groups(graph, plan, stays);
  find_runs(graph, plan, stays);
  check_sum(graph, plan);
  place_runs(plan, layout);
  // First the kept runs, then the others behind them.
  for (const bool kept : {true, false}) {
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      if (has_places(graph, plan, plan.groups[g])) {
        place_results(graph, plan, g, kept, stays, layout);
      }
    }
  }
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    layout.blocks[b].bytes = layout.blocks[b].kept_bytes + rooms_[b].end();
  }
}

void LayoutMaker::place_results(const graph::Graph& graph, const schedule::Plan& plan,
                                std::size_t g, bool kept, const util::Stamped<std::uint8_t>& stays,
                                Layout& layout) {
  const schedule::Group& group = plan.groups[g];
  const ext::Record& record = record_of(graph, plan, group);
  std::int64_t& kept_bytes = layout.blocks[layout.block[g]].kept_bytes;
  std::int64_t* to = layout.outputs.data() + layout.first[g];
  const Run* const runs = runs_of(g);
  for (std::uint32_t k = 0; k < record.outputs; ++k) {
    std::int64_t at = kept ? kept_bytes : kept_bytes + runs[k].offset;
    for (const NodeId m : members_of(plan, group)) {
      if ((stays[m + k] != 0) == kept) {
        *to = at;
        add_output(at, graph, m + k);
      }
      ++to;
    }
    kept_bytes = kept ? round_up(at) : kept_bytes;
  }
  for (std::uint32_t k = 0; !kept && k < record.saved; ++k) {
    layout.saved[g * ext::kMaxSaved + k] = kept_bytes + runs[kMaxOutputs + k].offset;
  }
}

void LayoutMaker::Room::clear() {
  by_place_.clear();
  by_size_.clear();
  end_ = 0;
}

void LayoutMaker::Room::add(std::int64_t offset, std::int64_t bytes) {
  by_place_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void LayoutMaker::Room::remove(std::map<std::int64_t, std::int64_t>::iterator piece) {
  by_size_.erase({piece->second, piece->first});
  by_place_.erase(piece);
}

/// The smallest piece that is large enough; else the end grows.
std::int64_t LayoutMaker::Room::take(std::int64_t bytes) {
  const auto fitting = by_size_.lower_bound({bytes, 0});
  if (fitting != by_size_.end()) {
    const auto [free, offset] = *fitting;
    remove(by_place_.find(offset));
    if (free > bytes) {
      add(offset + bytes, free - bytes);
    }
    return offset;
  }
  std::int64_t offset = end_;
  if (!by_place_.empty()) {
    const auto last = std::prev(by_place_.end());
    if (last->first + last->second == end_) {
      offset = last->first;
      remove(last);
    }
  }
  end_ = offset + bytes;
  return offset;
}

void LayoutMaker::Room::give(std::int64_t offset, std::int64_t bytes) {
  const auto after = by_place_.lower_bound(offset);
  if (after != by_place_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove(before);
    }
  }
  if (after != by_place_.end() && after->first == offset + bytes) {
    bytes += after->second;
    remove(after);
  }
  add(offset, bytes);
}

}  // namespace dynet::memory
