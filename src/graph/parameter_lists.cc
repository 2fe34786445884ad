#include "graph/parameter_lists.h"

#include <bit>

#include "util/reserve.h"

namespace dynet::graph {
namespace {

/// Most lists to compare. If more begin with one parameter, most are never met again: for example,
/// a program adds a bias to a matrix of each sentence.
constexpr int kMostCompared = 8;

}  // namespace

ParameterLists::Id ParameterLists::find(const NodeId* args, std::uint64_t places) {
  const NodeId first = args[0];
  Id id = newest(first);
  const Id before = id;
  for (int compared = 0; id != kNone; id = lists_[id].next) {
    if (is(lists_[id], args, places)) {
      return id;
    }
    if (++compared == kMostCompared) {
      return kNone;
    }
  }
  const auto count = static_cast<std::size_t>(std::popcount(places));
  util::reserve_more(lists_, 1);
  util::reserve_more(nodes_, count);
  if (first >= newest_.size()) {
    util::reserve_more(newest_, first + 1 - newest_.size());
    newest_.resize(first + 1, kNone);
  }
  // Nothing throws below this line.
  id = size();
  const auto begin = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint64_t m = places; m != 0; m &= m - 1) {
    nodes_.push_back(args[std::countr_zero(m)]);
  }
  lists_.push_back({places, begin, static_cast<std::uint32_t>(nodes_.size()), before});
  newest_[first] = id;
  return id;
}

inline bool ParameterLists::is(const List& list, const NodeId* args, std::uint64_t places) const {
  if (list.places != places) {
    return false;
  }
  const NodeId* node = nodes_.data() + list.begin;
  for (std::uint64_t m = places; m != 0; m &= m - 1) {
    if (args[std::countr_zero(m)] != *node++) {
      return false;
    }
  }
  return true;
}

void ParameterLists::shrink(std::uint32_t size) {
  while (lists_.size() > size) {
    const List& last = lists_.back();
    newest_[nodes_[last.begin]] = last.next;
    nodes_.resize(last.begin);
    lists_.pop_back();
  }
}

}  // namespace dynet::graph
