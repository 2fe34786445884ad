#include "schedule/pieces.h"

#include <algorithm>

#include "util/interrupt.h"

namespace dynet::schedule {

void Pieces::connect(const graph::Graph& graph, const Plan& plan) {
  piece_of_.begin(graph.size());
  first_part_.begin(graph.size());
  for (std::uint32_t p = 0; p < size(); ++p) {
    const bool is_first = plan.groups[pieces_[p].group].part == Part::kFirst;
    for (std::uint32_t i = pieces_[p].first; i < pieces_[p].first + pieces_[p].members; ++i) {
      (is_first ? first_part_ : piece_of_).set(plan.members[i], p + 1);
    }
  }
  find_needs(graph, plan);
  find_users();
}

void Pieces::find_needs(const graph::Graph& graph, const Plan& plan) {
  needs_.clear();
  stamp_.assign(pieces_.size(), 0);
  util::Interrupt interrupt;
  for (std::uint32_t p = 0; p < size(); ++p) {
    Piece& piece = pieces_[p];
    interrupt.pass(1 + (piece.members / 16));
    const Group& group = plan.groups[piece.group];
    piece.needs_begin = static_cast<std::uint32_t>(needs_.size());
    const auto need = [&](std::uint32_t other) {  // a piece + 1; 0: not of this plan
      if (other != 0 && stamp_[other - 1] != p + 1) {
        stamp_[other - 1] = p + 1;
        needs_.push_back(other - 1);
        ++pieces_[other - 1].users;
      }
    };
    for (std::uint32_t i = piece.first; i < piece.first + piece.members; ++i) {
      const NodeId n = plan.members[i];
      graph[n].visit_own_arguments([&](std::uint32_t a, NodeId arg) {
        if (group.reads(a)) {
          need(piece_of_[graph.owner(arg)]);
        }
      });
      if (group.part == Part::kRest) {
        need(first_part_[n]);
      }
    }
    piece.needs = static_cast<std::uint32_t>(needs_.size()) - piece.needs_begin;
  }
}

void Pieces::find_users() {
  std::uint32_t begin = 0;
  for (Piece& piece : pieces_) {
    piece.users_begin = begin;
    begin += piece.users;
    piece.users = 0;  // counts what is filled in
  }
  users_.resize(begin);
  for (std::uint32_t p = 0; p < size(); ++p) {
    for (const std::uint32_t needed : needs(p)) {
      users_[pieces_[needed].users_begin + pieces_[needed].users++] = p;
    }
  }
}

void Pieces::write(const Plan& plan, std::span<const std::uint32_t> order, Plan& to) const {
  to.clear();
  to.bound = plan.bound;
  for (const std::uint32_t p : order) {
    const Piece& piece = pieces_[p];
    const Group& from = plan.groups[piece.group];
    Group group = from;
    group.begin = static_cast<std::uint32_t>(to.segments.size());
    group.first = static_cast<std::uint32_t>(to.members.size());
    group.members = piece.members;
    const std::uint32_t end = piece.first + piece.members;
    for (std::uint32_t s = from.begin; s < from.begin + from.count; ++s) {
      Segment segment = plan.segments[s];
      const std::uint32_t first = std::max(segment.begin, piece.first);
      const std::uint32_t last = std::min(segment.begin + segment.count, end);
      if (first < last) {
        segment.begin = group.first + (first - piece.first);
        segment.count = last - first;
        to.segments.push_back(segment);
      }
    }
    group.count = static_cast<std::uint32_t>(to.segments.size()) - group.begin;
    to.groups.push_back(group);
    to.members.insert(to.members.end(), plan.members.begin() + piece.first,
                      plan.members.begin() + end);
  }
}

}  // namespace dynet::schedule
