#include "schedule/shorten.h"

#include <algorithm>

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
                    : signature.saved[k].example_elements() * graph.examples(n);
  }
  return elements;
}

bool reads(const Group& group, std::uint32_t arg) {
  return arg >= kMaxMaskedArgs || ((group.args >> arg) & 1) != 0;
}
bool is_shared(const Segment& segment, std::uint32_t arg) {
  return arg < kMaxMaskedArgs && ((segment.shared >> arg) & 1) != 0;
}

}  // namespace

void Shortener::shorten(const graph::Graph& graph, const Plan& plan, Plan& to) {
  cut(graph, plan);
  connect(graph, plan);
  order_late();
  run_in_order();
  write(plan, to);
}

/// Makes the pieces.
void Shortener::cut(const graph::Graph& graph, const Plan& plan) {
  pieces_.clear();
  piece_of_.begin(graph.size());
  first_part_.begin(graph.size());
  std::int64_t all = 0;
  for (const Group& group : plan.groups) {
    for (std::uint32_t i = group.first; i < group.first + group.members; ++i) {
      const NodeId n = plan.members[i];
      piece_of_.set(n, 1);  // for now: it is in the plan
      all += group.part == Part::kRest ? 0 : result_elements(graph, n) + saved_elements(graph, n);
    }
  }
  const std::int64_t limit = std::max(all / kShare, kSmallest);
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    const bool is_leaf = graph[plan.members[group.first]].arity == 0;
    const std::int64_t most = is_leaf ? limit / kLeafShare : limit;
    std::int64_t touched = 0;
    bool is_first = true;
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const Segment& segment = plan.segments[s];
      for (std::uint32_t i = segment.begin; i < segment.begin + segment.count; ++i) {
        const NodeId n = plan.members[i];
        std::int64_t mine = result_elements(graph, n) + saved_elements(graph, n);
        for (std::uint32_t a = 0; a < graph[n].arity; ++a) {
          const NodeId arg = graph.args(n)[a];
          if (reads(group, a) && !is_shared(segment, a) && piece_of_[graph.owner(arg)] != 0) {
            mine += graph.elements(arg);
          }
        }
        if (is_first || touched + mine > most) {
          pieces_.push_back({.group = g, .first = i, .members = 0});
          touched = 0;
          is_first = false;
        }
        touched += mine;
        Piece& piece = pieces_.back();
        ++piece.members;
        piece.elements += group.part == Part::kRest ? 0 : result_elements(graph, n);
      }
    }
  }
}

/// Finds what each piece needs and who uses it.
void Shortener::connect(const graph::Graph& graph, const Plan& plan) {
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    const bool is_first = plan.groups[pieces_[p].group].part == Part::kFirst;
    for (std::uint32_t i = pieces_[p].first; i < pieces_[p].first + pieces_[p].members; ++i) {
      (is_first ? first_part_ : piece_of_).set(plan.members[i], p + 1);
    }
  }
  needs_.clear();
  stamp_.assign(pieces_.size(), 0);
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    Piece& piece = pieces_[p];
    const Group& group = plan.groups[piece.group];
    piece.needs_begin = static_cast<std::uint32_t>(needs_.size());
    const auto need = [&](std::uint32_t other) {  // a piece + 1; 0: not of this plan
      if (other != 0 && stamp_[other - 1] != p + 1) {
        stamp_[other - 1] = p + 1;
        needs_.push_back(other - 1);
        ++pieces_[other - 1].users;
        piece.depth = std::max(piece.depth, pieces_[other - 1].depth + 1);
      }
    };
    for (std::uint32_t i = piece.first; i < piece.first + piece.members; ++i) {
      const NodeId n = plan.members[i];
      for (std::uint32_t a = 0; a < graph[n].arity; ++a) {
        if (reads(group, a)) {
          need(piece_of_[graph.owner(graph.args(n)[a])]);
        }
      }
      if (group.part == Part::kRest) {
        need(first_part_[n]);
      }
    }
    piece.needs_end = static_cast<std::uint32_t>(needs_.size());
    piece.needs_left = piece.needs_end - piece.needs_begin;
  }
  std::uint32_t begin = 0;
  for (Piece& piece : pieces_) {
    piece.users_begin = begin;
    begin += piece.users;
    piece.users_left = 0;  // counts what is filled in
  }
  users_.resize(begin);
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    for (std::uint32_t i = pieces_[p].needs_begin; i < pieces_[p].needs_end; ++i) {
      Piece& needed = pieces_[needs_[i]];
      users_[needed.users_begin + needed.users_left++] = p;
    }
  }
}

/// Fills `late_` from its end: what became free last, having no user left before it, goes next, and
/// among equals what lies lowest, so that the long chain to a piece runs before the short ones.
void Shortener::order_late() {
  late_.resize(pieces_.size());
  ready_.clear();
  for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
    if (pieces_[p].users_left == 0) {
      ready_.push_back(p);
    }
  }
  std::size_t at = late_.size();
  while (!ready_.empty()) {
    const std::uint32_t p = ready_.back();
    ready_.pop_back();
    late_[--at] = p;
    const std::size_t before = ready_.size();
    for (std::uint32_t i = pieces_[p].needs_begin; i < pieces_[p].needs_end; ++i) {
      if (--pieces_[needs_[i]].users_left == 0) {
        ready_.push_back(needs_[i]);
      }
    }
    std::sort(ready_.begin() + static_cast<std::ptrdiff_t>(before), ready_.end(),
              [&](std::uint32_t a, std::uint32_t b) {
                const std::uint32_t x = pieces_[a].depth;
                const std::uint32_t y = pieces_[b].depth;
                return x != y ? x > y : a < b;
              });
  }
}

/// Fills `order_`: late, but for pieces that make room.
void Shortener::run_in_order() {
  order_.clear();
  to_check_.clear();
  for (Piece& piece : pieces_) {
    piece.users_left = piece.users;
  }
  for (const std::uint32_t p : late_) {
    if (!pieces_[p].is_done) {
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
  Piece& piece = pieces_[p];
  piece.is_done = true;
  order_.push_back(p);
  for (std::uint32_t i = piece.users_begin; i < piece.users_begin + piece.users; ++i) {
    if (--pieces_[users_[i]].needs_left == 0) {
      to_check_.push_back(users_[i]);
    }
  }
  for (std::uint32_t i = piece.needs_begin; i < piece.needs_end; ++i) {
    if (--pieces_[needs_[i]].users_left == 1) {
      to_check_.push_back(only_user(needs_[i]));
    }
  }
}

/// The user that has not run, of a piece that has one such.
std::uint32_t Shortener::only_user(std::uint32_t p) const {
  for (std::uint32_t i = 0; i < pieces_[p].users; ++i) {
    const std::uint32_t user = users_[pieces_[p].users_begin + i];
    if (!pieces_[user].is_done) {
      return user;
    }
  }
  return kNobody;
}

/// Whether a piece that may run, or a short chain that begins with it, leaves less memory in use
/// than before; `chain_` is then what to run.
bool Shortener::list_reducing(std::uint32_t p) {
  chain_.clear();
  std::int64_t more = 0;
  for (int length = 0; length < kMaxChain; ++length) {
    const Piece& piece = pieces_[p];
    const std::uint32_t waits_for_chain = length == 0 ? 0 : 1;
    if (piece.is_done || piece.needs_left != waits_for_chain) {
      return false;
    }
    chain_.push_back(p);
    more += piece.elements;
    for (std::uint32_t i = piece.needs_begin; i < piece.needs_end; ++i) {
      more -= pieces_[needs_[i]].users_left == 1 ? pieces_[needs_[i]].elements : 0;
    }
    if (more <= 0 && piece.users != 0) {
      return true;
    }
    if (piece.users_left != 1) {
      return false;
    }
    p = only_user(p);
  }
  return false;
}

void Shortener::write(const Plan& plan, Plan& to) const {
  to.clear();
  to.bound = plan.bound;
  for (const std::uint32_t p : order_) {
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
