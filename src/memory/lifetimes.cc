// Layouts of whole plans.
#include <algorithm>
#include <string>

#include "dynet/except.h"

#include "memory/layout.h"

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

bool reads(const schedule::Group& group, std::uint32_t arg) {
  return arg >= schedule::kMaxMaskedArgs || ((group.args >> arg) & 1) != 0;
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

/// Adds the bytes of `elements` to a sum. out_of_memory where that is more than can be addressed.
void add_result(std::int64_t& sum, std::int64_t elements, std::int64_t number_bytes,
                const graph::Graph& graph, NodeId node) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, number_bytes, &bytes) ||
      bytes > kMaxBytes - sum - Layout::kAlignment) {
    fail(graph, node);
  }
  sum += bytes;
}

/// Of what `n` saves for the backward pass. An operation of whole batches saves for each node,
/// others for each example.
std::int64_t saved_elements(const graph::Graph& graph, NodeId n, std::uint32_t k) {
  const graph::Signature& signature = *graph[n].signature;
  const Dim& dim = signature.saved[k];
  return signature.record->has_whole ? dim.elements() : dim.example_elements() * graph.examples(n);
}

std::int64_t sum_of_examples(const graph::Graph& graph, std::span<const NodeId> members) {
  std::int64_t examples = 0;
  for (const NodeId m : members) {
    examples += graph.examples(m);
  }
  return examples;
}

/// The node whose memory `n` shows: through aliases to what they stand for.
NodeId memory_of(const graph::Graph& graph, NodeId n) {
  while (graph[n].output == 0 && graph[n].record().aliases) {
    n = graph.args(n)[0];
  }
  return n;
}

}  // namespace

void LayoutMaker::number_places(const graph::Graph& graph, const schedule::Plan& plan,
                                Layout& layout) {
  layout.clear();
  std::uint32_t count = 0;
  for (const schedule::Group& group : plan.groups) {
    layout.first.push_back(count);
    count +=
        has_places(graph, plan, group) ? group.members * record_of(graph, plan, group).outputs : 0;
  }
  layout.outputs.resize(count);
  layout.saved.assign(plan.groups.size() * kMaxOutputs, Layout::kNowhere);
}

void LayoutMaker::lay_out(const graph::Graph& graph, const schedule::Plan& plan, ext::Number number,
                          Layout& layout) {
  const std::int64_t number_bytes = ext::bytes_of(number);
  number_places(graph, plan, layout);
  std::int64_t end = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const schedule::Group& group = plan.groups[g];
    if (!has_places(graph, plan, group)) {
      continue;
    }
    const ext::Record& record = record_of(graph, plan, group);
    const std::span<const NodeId> members = members_of(plan, group);
    const std::int64_t group_bytes = sum_of_examples(graph, members) * number_bytes;
    std::int64_t* to = layout.outputs.data() + layout.first[g];
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      std::int64_t at = end;
      const std::int64_t size = graph.example_size(members[0] + k);
      add_result(end, size, group_bytes, graph, members[0]);
      end = round_up(end);
      for (const NodeId m : members) {
        *to++ = at;
        at += size * number_bytes * graph.examples(m);
      }
    }
    for (std::uint32_t k = 0; k < record.saved; ++k) {
      layout.saved[g * kMaxOutputs + k] = end;
      for (const NodeId m : members) {
        add_result(end, saved_elements(graph, m, k), ext::saved_bytes(record.saved_as[k], number),
                   graph, m);
      }
      end = round_up(end);
    }
  }
  layout.bytes = layout.kept_bytes = end;
}

void LayoutMaker::find_runs(const graph::Graph& graph, const schedule::Plan& plan,
                            ext::Number number, util::Stamped<std::uint8_t>& stays) {
  const std::int64_t number_bytes = ext::bytes_of(number);
  group_.begin(graph.size());
  runs_.assign(plan.groups.size() * 2 * kMaxOutputs, {});
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
  const auto use = [&](NodeId n, std::uint32_t by) {
    const NodeId shown = memory_of(graph, n);
    const std::uint32_t placed = group_[graph.owner(shown)];
    if (placed != 0) {
      Run& run = runs_[(placed - 1) * 2 * kMaxOutputs + graph[shown].output];
      run.last_use = std::max(run.last_use, by);
    }
  };
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    const schedule::Group& group = plan.groups[g];
    for (const NodeId m : members_of(plan, group)) {
      for (std::uint32_t a = 0; a < graph[m].arity; ++a) {
        if (reads(group, a)) {
          use(graph.args(m)[a], g);
        }
      }
      if (group_[m] == 0) {
        continue;
      }
      const ext::Record& record = graph[m].record();
      Run* runs = runs_.data() + (group_[m] - 1) * 2 * kMaxOutputs;
      for (std::uint32_t k = 0; k < record.outputs; ++k) {  // second terms are added to it
        runs[k].last_use = std::max(runs[k].last_use, g);
        if (group.part != schedule::Part::kRest && stays[m + k] == 0) {
          add_result(runs[k].bytes, graph.elements(m + k), number_bytes, graph, m);
        }
      }
      for (std::uint32_t k = 0; k < record.saved; ++k) {
        Run& run = runs[kMaxOutputs + k];
        run.last_use = std::max(run.last_use, g);
        if (group.part != schedule::Part::kRest) {
          run.bytes +=
              graph[m].signature->saved[k].example_elements() * graph.examples(m) * number_bytes;
        }
      }
    }
  }
}

void LayoutMaker::check_sum(const graph::Graph& graph, const schedule::Plan& plan) const {
  std::int64_t all = 0;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const schedule::Group& group = plan.groups[r / (2 * kMaxOutputs)];
    add_result(all, runs_[r].bytes, 1, graph, plan.members[group.first]);
    all = round_up(all);
  }
}

/// Takes memory for the runs of each group before it and gives back after it what was used last.
void LayoutMaker::place_runs(const schedule::Plan& plan) {
  room_.clear();
  for (auto& runs : ends_) {
    runs.clear();
  }
  ends_.resize(std::max(ends_.size(), plan.groups.size()));
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    for (std::uint32_t r = g * 2 * kMaxOutputs; r < (g + 1) * 2 * kMaxOutputs; ++r) {
      if (runs_[r].bytes != 0) {
        runs_[r].offset = room_.take(round_up(runs_[r].bytes));
        ends_[runs_[r].last_use].push_back(r);
      }
    }
    for (const std::uint32_t r : ends_[g]) {
      room_.give(runs_[r].offset, round_up(runs_[r].bytes));
    }
  }
}

void LayoutMaker::lay_out_by_lifetime(const graph::Graph& graph, const schedule::Plan& plan,
                                      ext::Number number, util::Stamped<std::uint8_t>& stays,
                                      Layout& layout) {
  const std::int64_t number_bytes = ext::bytes_of(number);
  number_places(graph, plan, layout);
  find_runs(graph, plan, number, stays);
  check_sum(graph, plan);
  place_runs(plan);
  // First what stays, then the rest behind it.
  for (const bool kept : {true, false}) {
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const schedule::Group& group = plan.groups[g];
      if (!has_places(graph, plan, group)) {
        continue;
      }
      const ext::Record& record = record_of(graph, plan, group);
      std::int64_t* to = layout.outputs.data() + layout.first[g];
      const Run* runs = runs_.data() + g * 2 * kMaxOutputs;
      for (std::uint32_t k = 0; k < record.outputs; ++k) {
        std::int64_t at = kept ? layout.kept_bytes : layout.kept_bytes + runs[k].offset;
        for (const NodeId m : members_of(plan, group)) {
          if ((stays[m + k] != 0) == kept) {
            *to = at;
            at += graph.elements(m + k) * number_bytes;
          }
          ++to;
        }
        layout.kept_bytes = kept ? round_up(at) : layout.kept_bytes;
      }
      for (std::uint32_t k = 0; !kept && k < record.saved; ++k) {
        layout.saved[g * kMaxOutputs + k] = layout.kept_bytes + runs[kMaxOutputs + k].offset;
      }
    }
  }
  layout.bytes = layout.kept_bytes + room_.end();
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
