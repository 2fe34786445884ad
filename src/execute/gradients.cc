#include "execute/gradients.h"

#include <algorithm>
#include <iterator>

#include "memory/layout.h"

namespace dynet::execute {

void Gradients::begin(bool keeps_memory) {
  if (!keeps_memory) {
    pools_.reset();
  }
  wastes_.clear();  // a pass that failed may have given its memory back
  zeros_.clear();
  additions_.clear();
  to_clear_.clear();
  sum_count_ = 0;
  constexpr std::uint32_t kManyStamps = std::uint32_t{1} << 31;
  if (current_ > ~std::uint32_t{0} - 2 * kPassStep || next_stamp_ > kManyStamps) {
    entries_.clear();  // counted to the end: starts again
    current_ = 0;
    next_stamp_ = call_ = 0;
  }
  current_ += kPassStep;
  entries_.resize(std::max<std::size_t>(entries_.size(), context_.graph.size()));
}

/// Memory that nodes share, of the size of the largest.
Gradients::RoomOfNode Gradients::shared_room(std::vector<Room>& rooms, NodeId n) {
  ext::Memory& memory = context_.memory(n);
  const std::int64_t bytes = context_.graph.bytes(n);
  auto room =
      std::find_if(rooms.begin(), rooms.end(), [&](const Room& r) { return r.memory == &memory; });
  if (room == rooms.end()) {
    rooms.push_back({&memory, nullptr, -1});
    room = rooms.end() - 1;
  }
  const bool is_new = bytes > room->bytes;
  if (is_new) {
    room->data = pools_.of(memory).allocate(bytes);
    room->bytes = bytes;
  }
  return {room->data, is_new};
}

void* Gradients::zeros_of(NodeId n) {
  if (context_.memory(n).is_host_visible()) {
    return ensure_true(n);
  }
  const RoomOfNode zeros = shared_room(zeros_, n);
  if (zeros.is_new) {
    context_.kernels(n).fill(zeros.data, 0.0, context_.graph.elements(n));
  }
  return zeros.data;
}

void* Gradients::make(NodeId n) {
  memory::Pool& pool = pools_.of(context_.memory(n));
  const std::uint32_t g = values_.group_of(n);
  if (g == Values::kNoGroup) {  // a parameter
    return entries_[n].data = pool.allocate(context_.graph.bytes(n));
  }
  const std::span<const NodeId> members = history_.members(g);
  const std::uint32_t output = context_.graph[n].output;
  auto* at = static_cast<std::byte*>(memory::place_output(context_.graph, members, output, pool));
  const std::int64_t stride = context_.graph.example_bytes(n);
  Entry* const entries = entries_.data();
  const graph::Node* const nodes = &context_.graph[0];
  const bool is_plain = nodes[n].signature->cut == 0;
  for (const NodeId m : members) {
    if (!is_noted(m + output)) {
      note(m + output, false, false);
    }
    entries[m + output].data = at;
    at += is_plain ? stride * nodes[m + output].examples : context_.graph.bytes(m + output);
  }
  return entries_[n].data;
}

void* Gradients::zero(NodeId n) {
  void* data = target(n).data;
  context_.kernels(n).fill(data, 0.0, context_.graph.elements(n));
  return data;
}

Gradients::Sum& Gradients::sum_of(NodeId n) {
  if (!has_pieces()) {  // most passes have none, and need no table
    sum_of_.begin(context_.graph.size());
  }
  if (const std::uint32_t place = sum_of_[n]; place != 0) {
    return sums_[place - 1];
  }
  if (sum_count_ == sums_.size()) {
    sums_.emplace_back();
  }
  Sum& sum = sums_[sum_count_];
  sum.node = n;
  sum.own = entries_[n].data;
  sum.complete.clear();
  sum.free.clear();
  sum.levels.fill({});
  sum_of_.set(n, static_cast<std::uint32_t>(++sum_count_));
  return sum;
}

/// Zeros, so that it does not matter which of several operands of a call writes to it first.
void* Gradients::room_for_piece(Sum& sum) {
  void* data = nullptr;
  if (sum.free.empty()) {
    data = pools_.of(context_.memory(sum.node)).allocate(context_.graph.bytes(sum.node));
  } else {
    data = sum.free.back();
    sum.free.pop_back();
  }
  clear_piece(sum.node, data);
  return data;
}

void Gradients::clear_piece(NodeId n, void* data) {
  if (context_.memory(n).is_host_visible()) {
    context_.kernels(n).fill(data, 0.0, context_.graph.elements(n));
    return;
  }
  if (listed_ != n) {
    finish_pieces();
    listed_ = n;
  }
  to_clear_.push_back({data, context_.graph.examples(n), true});
}

void Gradients::add_piece(NodeId n, const void* from, void* to, bool stores) {
  if (context_.memory(n).is_host_visible()) {
    context_.kernels(n).add_scaled(1.0, from, to, context_.graph.elements(n), stores);
    return;
  }
  if (listed_ != n || !to_clear_.empty()) {
    finish_pieces();
    listed_ = n;
  }
  additions_.push_back({from, to, stores});
}

void Gradients::run_additions() {
  if (!additions_.empty()) {
    context_.kernels(listed_).add_all(1.0, additions_, context_.graph.elements(listed_));
    additions_.clear();
  }
}

void Gradients::finish_pieces() {
  run_additions();
  if (to_clear_.empty()) {
    return;
  }
  // A zero that is repeated over all pieces.
  const ext::Kernels& kernels = context_.kernels(listed_);
  const ext::Block zero{const_cast<void*>(kernels.zero()), 1, false};
  ext::Move repeated = ext::whole_move(context_.graph.dim(listed_).example_elements());
  std::fill(std::begin(repeated.from_stride), std::end(repeated.from_stride), 0);
  ext::Operand pieces{context_.graph.dim(listed_).single_batch(), 0, to_clear_.data(),
                      static_cast<std::int64_t>(to_clear_.size())};
  for (const ext::Block& piece : to_clear_) {
    pieces.examples += piece.examples;
  }
  kernels.move(repeated, {Dim({1}), 1, &zero, 1}, pieces, ext::Write::kStore);
  to_clear_.clear();
}

Gradients::Target Gradients::begin_piece(NodeId n) {
  Sum& sum = sum_of(n);
  carry_written(sum);
  Entry& e = entries_[n];
  sum.complete.push_back({e.data, write_});
  e.data = room_for_piece(sum);
  e.mark = (e.mark & ~kUses) + kOneUse;
  return {e.data, false};
}

/// Adds a piece, and each sum that is full, to the level above. The first piece of a level is the
/// level's memory from then on.
void Gradients::carry(Sum& sum, void* piece) {
  for (std::size_t l = 0;; ++l) {
    Piece& level = sum.levels[l];
    if (level.data == nullptr) {
      level = {piece, 1};
      return;
    }
    add_piece(sum.node, piece, level.data, false);
    sum.free.push_back(piece);
    if (++level.number < kMostUses || l + 1 == Sum::kLevels) {
      return;
    }
    run_additions();  // before the level itself is added
    piece = level.data;
    level = {};
  }
}

/// Carries the pieces whose calls have run.
void Gradients::carry_written(Sum& sum) {
  const auto first_open =
      std::find_if(sum.complete.begin(), sum.complete.end(),
                   [this](const Piece& piece) { return piece.number == write_; });
  std::for_each(sum.complete.begin(), first_open,
                [&](const Piece& piece) { carry(sum, piece.data); });
  sum.complete.erase(sum.complete.begin(), first_open);
}

/// From the current piece to the highest level, so that small sums are added before large ones.
void Gradients::add_up(Sum& sum) {
  begin_write();
  carry_written(sum);
  run_additions();  // before the levels are added
  Entry& e = entries_[sum.node];
  const auto is_own = [&sum](const void* data) { return data == sum.own; };
  bool is_fresh = !is_own(e.data) && std::none_of(sum.levels.begin(), sum.levels.end(),
                                                  [&](const Piece& l) { return is_own(l.data); });
  if (is_fresh) {
    sum.free.erase(std::find_if(sum.free.begin(), sum.free.end(), is_own));
  }
  const auto add = [&](void* data) {
    if (data != nullptr && !is_own(data)) {
      add_piece(sum.node, data, sum.own, is_fresh);
      is_fresh = false;
      sum.free.push_back(data);
    }
  };
  add(e.data);
  for (Piece& level : sum.levels) {
    add(level.data);
    level = {};
  }
  finish_pieces();
  e.data = sum.own;
  e.mark &= ~kUses;
}

void Gradients::settle_all() {
  for (std::size_t i = 0; i < sum_count_; ++i) {
    add_up(sums_[i]);
  }
}

}  // namespace dynet::execute
