#include "execute/values.h"

#include <algorithm>

#include "memory/layout.h"
#include "params/gradient.h"

namespace dynet::execute {

void Values::place_parameter(NodeId n) {
  const auto& storage = params::storage_base(context_.graph[n].payload->storage);
  void* data = nullptr;
  if (params::is_as_stored(storage)) {
    // Values are written by trainers only, between passes.
    data = const_cast<void*>(params::values(storage));
  } else {
    data = pool_.allocate(context_.bytes(context_.graph.elements(n)));
    params::read(storage, data);
  }
  parameters_.push_back(n);
  places_[n].data = data;
}

void Values::place(const History& history, std::uint32_t first_group) {
  for (std::uint32_t g = first_group; g < history.size(); ++g) {
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

void Values::place_group(const History& history, std::uint32_t g) {
  const std::span<const NodeId> members = history.members(g);
  const ext::Record& record = context_.graph[members[0]].record();
  if (record.aliases) {
    for (const NodeId m : members) {
      places_[m] = {places_[context_.graph.args(m)[0]].data, g, 0};
    }
    return;
  }
  const memory::Placement place =
      memory::place_group(context_.graph, members, context_.number(), pool_);
  std::byte* at[ext::kMaxOutputs];
  std::int64_t stride[ext::kMaxOutputs];
  for (std::uint32_t k = 0; k < record.outputs; ++k) {
    at[k] = static_cast<std::byte*>(place.outputs[k]);
    stride[k] = context_.example_bytes(members[0] + k);
  }
  for (std::uint32_t k = 0; k < record.saved; ++k) {
    saved_.push_back(static_cast<std::byte*>(place.saved[k]));
  }
  std::uint32_t offset = 0;
  for (const NodeId m : members) {
    const auto examples = static_cast<std::uint32_t>(context_.graph.examples(m));
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      places_[m + k] = {at[k], g, offset};
      at[k] += stride[k] * examples;
    }
    offset += examples;
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
  while (parameters_.size() > mark.parameters) {
    places_[parameters_.back()] = {};
    complete_below_ = std::min(complete_below_, parameters_.back());
    parameters_.pop_back();
  }
  pool_.release(mark.pool);
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
  parameters_.clear();
  complete_below_ = 0;
  pool_.reset();
}

}  // namespace dynet::execute
