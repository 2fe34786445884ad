#include "execute/changes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "params/gradient.h"

namespace dynet::execute {
namespace {

/// So many values of one storage are kept in a graph that is never cleared, however many updates
/// there are.
constexpr std::ptrdiff_t kMostKept = 4;

constexpr std::uint64_t kNever = ~std::uint64_t{0};

std::int64_t bytes_of(const detail::StorageState& s) { return s.elements * s.number_bytes; }

}  // namespace

void Changes::note(NodeId n) {
  const State& s = params::storage_base(context_.graph[n].payload->storage).state();
  const bool is_in_place = values_.at(n) == s.values.data();
  shown_.push_back({n, is_in_place, &s, s.version, is_open_ && is_in_place ? hold(s) : nullptr});
  shown_below_ = std::max(shown_below_, n + 1);
}

std::shared_ptr<detail::HeldValues> Changes::hold(const State& storage) const {
  const auto is_kept = [&](const Past& p) { return p.storage == &storage && p.held != nullptr; };
  return std::count_if(past_.begin(), past_.end(), is_kept) < kMostKept ? storage.held : nullptr;
}

void Changes::hold_all() {
  for (Shown& shown : shown_) {
    if (shown.is_in_place) {
      shown.held = hold(*shown.storage);
    }
  }
  is_open_ = true;
}

void Changes::follow() {
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    Shown& shown = shown_[i];
    const State& s = *shown.storage;
    const bool has_changed = shown.version != s.version;
    if (has_changed) {
      note_past(shown);
    }
    const bool stays = shown.is_in_place && params::is_as_stored(*s.storage);
    if (!values_.has(shown.node) || (has_changed && !stays)) {
      place_again(shown.node);
      shown.is_in_place = values_.at(shown.node) == s.values.data();
    }
    if (has_changed) {
      shown.version = s.version;
      shown.held = is_open_ && shown.is_in_place ? hold(s) : nullptr;
    }
  }
  seen_ = count();
}

/// The groups so far were computed with the values that the node had. Nodes of one parameter that
/// read it in place have them in common.
void Changes::note_past(const Shown& shown) {
  const State& s = *shown.storage;
  Past past{shown.node, history_.size(), &s, nullptr, nullptr, s.changed_by};
  if (!shown.is_in_place) {
    past.old = static_cast<const std::byte*>(values_.at(shown.node));
    past_.push_back(past);
    return;
  }
  if (shown.held != nullptr && shown.held->copy.data() != nullptr) {
    past.held = shown.held;
    past.old = past.held->copy.data();
  }
  const auto last =
      std::find_if(past_.rbegin(), past_.rend(), [&](const Past& p) { return p.storage == &s; });
  const bool is_known = last != past_.rend() && last->groups == past.groups;
  const bool are_both_gone = last != past_.rend() && last->old == nullptr && past.old == nullptr;
  if (are_both_gone) {
    last->groups = past.groups;
  } else if (!is_known) {
    past_.push_back(past);
  }
}

/// Nodes that show the memory of a parameter follow it.
void Changes::place_again(NodeId n) {
  const void* const before = values_.at(n);
  values_.place_parameter(n);
  if (before != nullptr && values_.at(n) != before) {
    values_.move_aliases(n, before);
  }
}

void Changes::begin_backward(NodeId root) {
  root_ = root;
  if (is_open_) {
    passed_.reserve(context_.graph.size());  // pass() comes when nothing may fail any more
  }
  if (!is_current()) {
    follow();
  }
}

void Changes::pass(std::span<const NodeId> found) {
  if (!is_open_ || shown_.empty()) {
    return;
  }
  if (has_other_loss(found)) {
    passed_.resize(std::max<std::size_t>(passed_.size(), context_.graph.size()));
    for (const NodeId n : found) {
      passed_[n] = true;
    }
    return;
  }
  for (Shown& shown : shown_) {
    shown.held = nullptr;
  }
  is_open_ = false;
  passed_below_ = context_.graph.size();
  passed_.clear();
}

/// Is there a number, computed or not, that no backward has gone over? All between two nodes of a
/// path are looked at, which most graphs have none of.
bool Changes::has_other_loss(std::span<const NodeId> found) const {
  NodeId above = context_.graph.size();
  for (const NodeId n : found) {
    for (NodeId m = std::max(n + 1, passed_below_); m < above; ++m) {
      if (m - context_.graph[m].output != n && is_loss(m)) {
        return true;
      }
    }
    above = n;
  }
  for (NodeId m = passed_below_; m < above; ++m) {
    if (is_loss(m)) {
      return true;
    }
  }
  return false;
}

bool Changes::is_loss(NodeId n) const {
  const graph::Node& node = context_.graph[n];
  const NodeId owner = n - node.output;
  return !node.record().is_leaf() && context_.graph.dim(n).elements() == 1 &&
         !(owner < passed_.size() && passed_[owner]);
}

void Changes::put_back(const SegmentView& segment, const Assembled& assembled) const {
  const NodeId first = segment.members[0];
  const std::uint32_t group =
      segment.part == schedule::Part::kRest ? values_.rest_of(first) : values_.group_of(first);
  for (const ext::Operand& operand : assembled.call.in) {
    for (std::int64_t b = 0; b < operand.block_count; ++b) {
      auto& block = const_cast<ext::Block&>(operand.blocks[b]);  // the arena's
      const auto past = std::find_if(past_.begin(), past_.end(), [&](const Past& p) {
        return group < p.groups && overlap(p, block, operand.size()) != nullptr;
      });
      if (past != past_.end()) {
        block.data = old_data(*past, block, operand.size(), first);
      }
    }
  }
}

/// Where the values of a storage begin that a block reads some of; else null.
const std::byte* Changes::overlap(const Past& past, const ext::Block& block,
                                  std::int64_t size) const {
  const State& s = *past.storage;
  const auto* const data = static_cast<const std::byte*>(block.data);
  const std::byte* const end = data + block.examples * size * s.number_bytes;
  for (const std::byte* const from : {static_cast<const std::byte*>(s.values.data()),
                                      static_cast<const std::byte*>(values_.at(past.node))}) {
    if (from != nullptr && std::less<>()(data, from + bytes_of(s)) && std::less<>()(from, end)) {
      return from;
    }
  }
  return nullptr;
}

void* Changes::old_data(const Past& past, const ext::Block& block, std::int64_t size,
                        NodeId user) const {
  const State& s = *past.storage;
  const std::int64_t offset =
      static_cast<const std::byte*>(block.data) - overlap(past, block, size);
  const std::int64_t bytes = block.examples * size * s.number_bytes;
  if (past.old == nullptr || offset < 0 || offset + bytes > bytes_of(s)) {
    fail(past, user, "backward");
  }
  return const_cast<std::byte*>(past.old + offset);
}

void Changes::fail(const Past& past, NodeId user, const char* call) const {
  const graph::Graph& graph = context_.graph;
  throw errors::GraphError(
      std::string(call) + ": " + past.storage->storage->name + " was changed (" + past.changed_by +
      ") since the graph computed with it, and the values of before are gone: a graph "
      "keeps them for backward while it has a loss that backward has not gone over. "
      "Want each " +
      call +
      " before the change, or a computation from scratch after it (forward(); Python: "
      "forward(recalculate=True)), or a new graph\n"
      "  from: " +
      graph.describe(root_) + "\n  computed with the old values: " + graph.describe(user) +
      "\n  the parameter: " + graph.describe(past.node));
}

/// Whatever shows the memory of a parameter is read as the parameter is.
void Changes::refuse_old(NodeId n, const char* call) const {
  const graph::Graph& graph = context_.graph;
  const std::uint32_t group = values_.group_of(n);
  if (group == Values::kNoGroup || graph[n].record().aliases) {
    return;
  }
  for (NodeId a : graph.args(n)) {
    while (graph[a].record().aliases) {
      a = graph.args(a)[0];
    }
    const auto past = std::find_if(past_.begin(), past_.end(), [&](const Past& p) {
      return group < p.groups && graph[a].record().reads_storage == ext::Storage::kWhole &&
             graph[a].payload->storage == p.storage->storage;
    });
    if (past != past_.end()) {
      fail(*past, n, call);
    }
  }
}

/// Where a mark is from before a change, its groups are.
void Changes::roll_back(const Mark& mark) {
  if (mark.shown <= shown_.size()) {
    shown_.resize(mark.shown);
    shown_below_ = mark.shown_below;
  }
  auto end = past_.begin();
  for (Past& past : past_) {
    past.groups = std::min(past.groups, history_.size());
    const bool is_empty = std::any_of(past_.begin(), end, [&](const Past& earlier) {
      return earlier.storage == past.storage && earlier.groups >= past.groups;
    });
    if (past.groups != 0 && !is_empty) {
      std::swap(*end++, past);
    }
  }
  past_.erase(end, past_.end());
  if (seen_ != mark.seen) {
    seen_ = kNever;  // `follow` may have made places again after the mark: they are gone
  }
}

void Changes::truncate(NodeId first_removed) {
  if (shown_below_ > first_removed) {
    std::erase_if(shown_, [=](const Shown& s) { return s.node >= first_removed; });
    shown_below_ = first_removed;
  }
  std::erase_if(past_, [&](Past& past) {
    if (past.node < first_removed) {
      return false;
    }
    const auto other = std::find_if(shown_.begin(), shown_.end(),
                                    [&](const Shown& s) { return s.storage == past.storage; });
    if (other == shown_.end()) {
      return true;
    }
    past.node = other->node;
    return false;
  });
  passed_below_ = std::min(passed_below_, first_removed);
  passed_.resize(std::min<std::size_t>(passed_.size(), first_removed));
}

void Changes::forget() {
  shown_.clear();
  shown_below_ = 0;
  past_.clear();
  passed_.clear();
  passed_below_ = 0;
  is_open_ = false;
}

}  // namespace dynet::execute
