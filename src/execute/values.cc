#include "execute/values.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "graph/seen.h"
#include "memory/layout.h"
#include "params/gradient.h"

namespace dynet::execute {

Values::Saved::Saved(const Values& values, const graph::Node& first, std::uint32_t index)
    : places_(values.places_.data()),
      first_saved_(values.first_saved_.data()),
      saved_(values.saved_.data()),
      index_(index),
      examples_(first.record().has_whole ? first.examples : 1),
      bytes_(first.signature->saved[index].elements() *
             ext::saved_bytes(first.record().saved_as[index], first.signature->number)) {}

void Values::place_parameter(NodeId n) {
  const auto& storage = params::storage_base(context_.graph[n].payload->storage);
  void* data = nullptr;
  if (params::is_as_stored(storage)) {
    // Values are written between passes only; Changes finds that they were.
    data = const_cast<void*>(params::values(storage));
  } else {
    data = pools_.of(context_.memory(n)).allocate(context_.graph.bytes(n));
    params::read(storage, data);
  }
  loose_.push_back(n);
  places_[n].data = data;
}

void Values::move_aliases(NodeId n, const void* before) {
  for (NodeId m = n + 1; m < size(); ++m) {
    if (context_.graph[m].record().aliases && places_[m].data == before) {
      places_[m].data = places_[n].data;
    }
  }
}

void Values::place(const History& history, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t g = begin; g < end; ++g) {
    first_saved_.push_back(static_cast<std::uint32_t>(saved_.size()));
    if (history.group(g).part == schedule::Part::kRest) {
      note_rest(history, g);
    } else {
      place_group(history, g);
    }
  }
}

/// The members lie where their first terms were put.
void Values::note_rest(const History& history, std::uint32_t g) {
  rest_.resize(std::max<std::size_t>(rest_.size(), context_.graph.size()), kNoGroup);
  for (const NodeId m : history.members(g)) {
    rest_[m] = g;
  }
}

/// Writes where the results of a group's members lie: `at(k)(i, examples)` is the address of output
/// k of member i, asked for in order.
template <class At>
void Values::write_places(std::span<const NodeId> members, std::uint32_t g, At at) {
  const graph::Node* const nodes = &context_.graph[0];
  const auto write = [&](std::uint32_t k, auto examples_of) {
    Place* const places = places_.data();
    auto next = at(k);
    std::uint32_t offset = 0;
    for (const NodeId m : members) {
      if (places[m + k].data != nullptr) [[unlikely]] {
        take_from_loose(m + k);
      }
      const std::int64_t examples = examples_of(m);
      places[m + k] = {next(examples), g, offset};
      offset += static_cast<std::uint32_t>(examples);
    }
  };
  const graph::Signature& signature = *nodes[members[0]].signature;
  for (std::uint32_t k = 0; k < signature.record->outputs; ++k) {
    if (signature.cut == 0) {
      write(k, [nodes](NodeId n) { return nodes[n].examples; });
    } else {
      const graph::Seen seen(context_.graph, members[0]);
      write(k, [&seen, k](NodeId n) { return seen.examples(n + k); });
    }
  }
}

/// Aliases lie in their argument's place.
void Values::place_aliases(std::span<const NodeId> members, std::uint32_t g) {
  for (const NodeId m : members) {
    places_[m] = {places_[context_.graph.args(m)[0]].data, g, 0};
  }
}

/// In the order of the groups, one result behind the other.
void Values::place_group(const History& history, std::uint32_t g) {
  const std::span<const NodeId> members = history.members(g);
  const ext::Record& record = context_.graph[members[0]].record();
  if (record.aliases) {
    place_aliases(members, g);
    return;
  }
  const memory::Placement place =
      memory::place_group(context_.graph, members, pools_.of(context_.memory(members[0])));
  for (std::uint32_t k = 0; k < record.saved; ++k) {
    saved_.push_back(static_cast<std::byte*>(place.saved[k]));
  }
  const graph::Seen seen(context_.graph, members[0]);
  write_places(members, g, [&](std::uint32_t k) {
    return [at = static_cast<std::byte*>(place.outputs[k]), stride = seen.bytes(members[0] + k)](
               std::int64_t examples) mutable { return std::exchange(at, at + stride * examples); };
  });
}

/// A group computes what an inference scope kept, with another result of its node that was dropped.
/// Positions in the list stay: marks hold some.
void Values::take_from_loose(NodeId n) { std::replace(loose_.begin(), loose_.end(), n, kNoNode); }

void Values::place_by_lifetime(const History& history, const schedule::Plan& plan,
                               std::uint32_t first_group, util::Stamped<std::uint8_t>& stays) {
  layout_maker_.lay_out(context_.graph, plan, stays, layout_);
  allocate(plan);
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    first_saved_.push_back(static_cast<std::uint32_t>(saved_.size()));
    if (plan.groups[g].part == schedule::Part::kRest) {
      note_rest(history, first_group + g);
    } else {
      place_in_layout(plan, g, first_group);
    }
  }
}

/// Memory for the layout, or out_of_memory that says what takes most of it.
void Values::allocate(const schedule::Plan& plan) {
  blocks_.clear();
  try {
    for (const memory::Layout::Block& block : layout_.blocks) {
      blocks_.push_back(static_cast<std::byte*>(pools_.of(*block.memory).allocate(block.bytes)));
    }
  } catch (const out_of_memory& e) {
    NodeId largest = plan.members[0];
    for (const NodeId n : plan.members) {
      largest = context_.graph.elements(n) > context_.graph.elements(largest) ? n : largest;
    }
    throw out_of_memory(std::string(e.what()) + "\n  for " + std::to_string(layout_.bytes()) +
                        " bytes of values of " + std::to_string(plan.members.size()) +
                        " nodes, the largest " + to_string(context_.graph.dim(largest)) + " of " +
                        context_.graph.describe(largest));
  }
}

/// By lifetime: each result has an offset of its own.
void Values::place_in_layout(const schedule::Plan& plan, std::uint32_t g,
                             std::uint32_t first_group) {
  const schedule::Group& group = plan.groups[g];
  const std::span<const NodeId> members{plan.members.data() + group.first, group.members};
  const ext::Record& record = context_.graph[members[0]].record();
  if (record.aliases) {
    place_aliases(members, first_group + g);
    return;
  }
  std::byte* const block = blocks_[layout_.block[g]];
  for (std::uint32_t k = 0; k < record.saved; ++k) {
    saved_.push_back(block + layout_.saved[g * ext::kMaxSaved + k]);
  }
  const std::int64_t* next = layout_.outputs.data() + layout_.first[g];
  write_places(members, first_group + g,
               [&](std::uint32_t) { return [&](std::int64_t) { return block + *next++; }; });
}

void Values::keep(const schedule::Plan& plan, std::uint32_t first_group,
                  const util::Stamped<std::uint8_t>& stays) {
  for (const schedule::Group& group : plan.groups) {
    for (std::uint32_t i = 0; i < group.members; ++i) {
      const NodeId m = plan.members[group.first + i];
      if (group.part == schedule::Part::kRest) {
        rest_[m] = kNoGroup;
        continue;
      }
      for (std::uint32_t k = 0; k < context_.graph[m].record().outputs; ++k) {
        if (stays[m + k] == 0) {
          places_[m + k] = {};
        } else {
          loose_.push_back(m + k);
          places_[m + k] = {places_[m + k].data, kNoGroup, 0};
        }
      }
    }
  }
  saved_.resize(first_saved_[first_group]);
  first_saved_.resize(first_group);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const memory::Layout::Block& block = layout_.blocks[b];
    pools_.of(*block.memory).shrink(blocks_[b], block.kept_bytes);
  }
}

void Values::roll_back(const Mark& mark, const History& history, std::uint32_t first_group) {
  for (std::uint32_t g = first_group; g < history.size(); ++g) {
    for (const NodeId m : history.members(g)) {
      for (std::uint32_t k = 0; k < context_.graph[m].record().outputs; ++k) {
        places_[m + k] = {};
      }
      if (m < rest_.size()) {
        rest_[m] = kNoGroup;
      }
      complete_below_ = std::min(complete_below_, m);
    }
  }
  if (first_group < first_saved_.size()) {
    saved_.resize(first_saved_[first_group]);
    first_saved_.resize(first_group);
  }
  while (loose_.size() > mark.loose) {
    if (loose_.back() != kNoNode) {
      places_[loose_.back()] = {};
      complete_below_ = std::min(complete_below_, loose_.back());
    }
    loose_.pop_back();
  }
  pools_.release(mark.pools);
}

void Values::truncate(NodeId first_removed) {
  places_.resize(std::min<std::size_t>(places_.size(), first_removed));
  rest_.resize(std::min<std::size_t>(rest_.size(), first_removed));
  complete_below_ = std::min(complete_below_, first_removed);
}

void Values::forget() {
  std::fill(places_.begin(), places_.end(), Place());
  rest_.clear();
  saved_.clear();
  first_saved_.clear();
  loose_.clear();
  complete_below_ = 0;
  pools_.reset();
}

}  // namespace dynet::execute
